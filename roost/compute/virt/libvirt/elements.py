"""Helpers to build and read libvirt's XML."""

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator


def element(
    tag: str,
    *children: ET.Element | None,
    text: str | int | None = None,
    **attributes: str | int | os.PathLike[str],
) -> ET.Element:
    """Return a new element; children that are None are left out."""
    made = ET.Element(tag, {name: str(value) for name, value in attributes.items()})
    made.text = None if text is None else str(text)
    made.extend(child for child in children if child is not None)
    return made


def parse(text: str) -> ET.Element:
    """Parse XML from libvirt or from us: both are trusted."""
    return ET.fromstring(text)  # noqa: S314


def find(parent: ET.Element, path: str) -> ET.Element:
    """Return an element that libvirt always writes.

    :raises ValueError: when there is none
    """
    found = parent.find(path)
    if found is None:
        raise ValueError(f"<{parent.tag}> has no {path}")
    return found


def texts(parent: ET.Element, *paths: str) -> Iterator[tuple[str, str]]:
    """Yield each path whose element has text, with that text."""
    for path in paths:
        found = parent.findtext(path)
        if found:
            yield path, found
