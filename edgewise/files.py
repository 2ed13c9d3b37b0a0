"""Whole files or none: a reader finds the old file or the new one, never half."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO


def write(path: Path, save: Callable[[BinaryIO], Any]) -> None:
    """Writes next to `path` what `save` writes into the file it is given, then moves the result there.

    Both the bytes and the new name are on the disk when this returns, where the system can promise that. If anything
    fails, what was at `path` before is still there, and nothing else; an error of the system's says what to do.
    """
    try:
        _write(path, save)
    except OSError as error:
        raise with_words(
            error,
            f"`{path.name}` could not be written to the folder `{path.parent}`: {error.strerror or error}. "
            "Name a file in a folder that exists, that you may write to and whose disk has room.",
        ) from error


def write_text(path: Path, text: str) -> None:
    write(path, lambda file: file.write(text.encode()))


def with_words(error: OSError, words: str) -> OSError:
    """An error of the same kind (`PermissionError` and so on) with a message that helps."""
    # OSError itself picks the kind by number. The class of `error` may be another library's, with other arguments.
    kind = type(OSError(error.errno, words))
    said = kind(words)
    said.errno = error.errno
    return said


def _write(path: Path, save: Callable[[BinaryIO], Any]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            save(file)
            file.flush()
            os.fsync(file.fileno())
        # A temporary file is private; this one is to be as readable as any other.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Puts the new name on the disk. Not every system or file system can; the file is whole in either case."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
