"""Whole files or none: a reader finds the old file or the new one, never half."""

import contextlib
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:
    # Windows has no locks of this kind; there nothing is locked.
    fcntl = None

# How a file is called that has not yet been moved to its place. Nobody else names files so, and what a program that was
# killed left behind can be told by it.
UNFINISHED = ".part"


def is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


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


def write_by_name(path: Path, save: Callable[[Path], Any]) -> None:
    """As `write`, for libraries that open files themselves: `save` writes to the name it is given, elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / path.name
        save(made)
        with made.open("rb") as source:
            write(path, lambda file: shutil.copyfileobj(source, file))


def is_unfinished(name: str, of: tuple[str, ...]) -> bool:
    """Whether a file is what `write` left behind of one of these when it was cut short.

    >>> is_unfinished(".log.txt-k3_x9a2b.part", ("log.txt",)), is_unfinished(".log.txt-mine", ("log.txt",))
    (True, False)
    """
    return any(re.fullmatch(rf"\.{re.escape(file)}-\w{{8}}{re.escape(UNFINISHED)}", name) for file in of)


def make_folder(path: Path) -> None:
    """Makes a folder, and those above it; an error of the system's says what to do."""
    try:
        if path.exists() and not path.is_dir():
            raise ValueError(f"`{path}` is a file; expected a folder. Name another one.")
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise with_words(
            error,
            f"The folder `{path}` could not be made: {error.strerror or error}. Name one in a folder that exists and "
            "that you may write to.",
        ) from error


def lock(folder: Path) -> Callable[[], None]:
    """Keeps other programs that ask for it out of a folder until what it returns is called, or this program ends.

    The folder itself is locked, so that no file has to be made and none is left behind. Where a system or a file system
    has no such locks, nothing is locked.
    """
    if fcntl is None:
        return lambda: None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return lambda: None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno != errno.EWOULDBLOCK:
            return lambda: None
        words = f"Another process is training into `{folder}`. Wait until it has ended, or name another folder."
        raise with_words(error, words) from None
    return _Lock(handle).release


class _Lock:
    """A lock that is held; given back once, since the number of its file may soon be another's."""

    def __init__(self, handle: int):
        self.handle: int | None = handle

    def release(self) -> None:
        if self.handle is not None and fcntl is not None:
            # Not by closing it alone: a child of this process may hold it open too.
            fcntl.flock(self.handle, fcntl.LOCK_UN)
            os.close(self.handle)
        self.handle = None


def with_words(error: OSError, words: str) -> OSError:
    """An error of the same kind (`PermissionError` and so on) with a message that helps."""
    # OSError itself picks the kind by number. The class of `error` may be another library's, with other arguments.
    kind = type(OSError(error.errno, words))
    said = kind(words)
    said.errno = error.errno
    return said


def _write(path: Path, save: Callable[[BinaryIO], Any]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=UNFINISHED)
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
