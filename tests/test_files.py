"""Whole files or none: writes that fail, and what they say."""

import os
import re
import stat

import pytest

from edgewise.base import files


@pytest.mark.parametrize("error", [OSError("disk full"), OSError(28, "No space left"), KeyboardInterrupt("stop")])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "table.md"
    path.write_text("old")

    def half(file):
        file.write(b"ne")
        raise error

    with pytest.raises(type(error), match=r"disk full|No space left|stop"):
        files.write(path, half)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    with pytest.raises(
        FileNotFoundError, match=re.escape(f"`a.md` could not be written to the folder `{tmp_path}/no`")
    ):
        files.write_text(tmp_path / "no" / "a.md", "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="Name a file in a folder that exists"):
        files.write_text(tmp_path / "folder", "text")

    def denied(**_):
        raise PermissionError(13, "Permission denied")

    # Who runs the tests may be allowed everything.
    monkeypatch.setattr(files.tempfile, "mkstemp", denied)
    with pytest.raises(PermissionError, match=r"Permission denied\. Name a file in a folder"):
        files.write_text(tmp_path / "a.md", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_what_is_written_is_flushed_then_named_then_its_folder_flushed(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace

    def flush(handle):
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def rename(*names):
        done.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "replace", rename)
    files.write_text(tmp_path / "a.md", "text")
    assert done == ["file", "name", "folder"]


def test_a_system_that_cannot_flush_folders_still_writes(tmp_path, monkeypatch):
    fsync = os.fsync

    def flush(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(22, "Invalid argument")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", flush)
    files.write_text(tmp_path / "a.md", "text")
    assert (tmp_path / "a.md").read_text() == "text" and len(list(tmp_path.iterdir())) == 1
