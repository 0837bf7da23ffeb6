"""What there is of networks on this machine."""

import pathlib
import subprocess

from roost.compute.network.bridge.segment import SegmentNames


def links():
    told = subprocess.run(["/usr/sbin/ip", "-o", "link"], capture_output=True, text=True)
    return told.stdout


def tables():
    told = subprocess.run(["/usr/sbin/nft", "list", "tables"], capture_output=True, text=True)
    return told.stdout.split()


def left_of(network, folder):
    """What there is of a network on this machine."""
    names = SegmentNames(network)
    found = [name for name in (names.bridge, names.outer) if name in links()]
    found += [names.namespace] if pathlib.Path("/run/netns", names.namespace).exists() else []
    found += [names.table] * tables().count(names.table)
    return found + [str(path) for path in folder.rglob("*") if path.is_file()]
