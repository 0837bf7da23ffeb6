"""Folders of files that are only paths."""

from roost.guestdata.about import below, entries

FILES = {"a/b": b"1", "a/c/d": b"2", "a/c/e": b"3", "f": b"4"}


def test_a_folder_lists_files_and_folders_once():
    assert entries(FILES, "a") == ["b", "c/"]
    assert entries(FILES, "") == ["a/", "f"]


def test_what_is_not_there_lists_nothing():
    assert entries(FILES, "a/x") == entries(FILES, "a/b") == []


def test_files_can_be_put_below_a_folder():
    assert [*below("x", FILES)] == ["x/a/b", "x/a/c/d", "x/a/c/e", "x/f"]
