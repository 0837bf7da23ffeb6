"""What hosts keep for themselves leaves room on their disks, though no operator says how much."""

import shutil
import types

import pytest

from roost import conf, exception
from roost.compute import image_cache
from roost.compute.image_cache import ImageFolder
from roost.compute.virt.libvirt import base_images
from roost.compute.virt.libvirt.images import Image
from roost.compute.virt.libvirt.settings import LibvirtSettings

TOTAL = 1000  # bytes


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Every file system is small."""
    usage = types.SimpleNamespace(total=TOTAL)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)


def test_what_an_operator_says_counts(tmp_path):
    assert [image_cache.folder_limit(tmp_path, said=said, parts=2) for said in (0, 7, None)] == [
        0,
        7,
        500,
    ]
    assert image_cache.folder_limit(tmp_path / "not" / "there", said=None, parts=4) == 250


def test_images_have_a_quarter_of_their_file_system(tmp_path):
    folder = ImageFolder(tmp_path / "images")
    path = folder.image("one")
    with folder.room(path, 250) as part:
        part.touch()
    with pytest.raises(exception.NoCapacity, match="250 at most"), folder.room(path, 251):
        pass


def test_bases_have_half_of_theirs(tmp_path, monkeypatch):
    monkeypatch.setattr(base_images, "convert", lambda _, target, **__: target.touch())
    kept = base_images.BaseImages(tmp_path, standing=set, lifetime=0.0)
    with kept.held(tmp_path / "one", Image("raw", 500)):
        pass
    with (
        pytest.raises(exception.BuildFailed, match="500 at most"),
        kept.held(tmp_path / "two", Image("raw", 501)),
    ):
        pass


def test_nothing_is_set_unless_an_operator_does():
    default = conf.of({})
    assert default.compute.image_cache_max_bytes is None
    assert LibvirtSettings.from_conf(default).base_bytes is None
