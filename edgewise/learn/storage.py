"""Arrays in a safetensors file with checksums: what is read is exactly what was saved, or an error says why not.

The format is 8 bytes with the length of the header, the header (JSON: of each array its dtype, shape and place), the
arrays' bytes. Any reader of safetensors can open these files; only `load_arrays` checks them.
"""

import contextlib
import hashlib
import io
import json
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from edgewise.base.files import with_words, write
from edgewise.base.words import is_text
from edgewise.learn.header import DTYPES, MAX_HEADER, METADATA, Place, parse, read_header, show

# One entry holds all of ours, as JSON: the library writes several entries in an order that changes from run to run.
OURS = "edgewise"

Checksums = dict[str, str]
Notes = dict[str, str]


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray], notes: Mapping[str, str] = {}) -> None:
    """Writes the arrays and the notes, whole or not at all.

    Saving the same arrays and notes again, in the same order, gives the same bytes.

    Arguments:
        arrays: Of float32, float64, int64, int32, uint32 or bool, in any memory layout or byte order. A complex one is
            two: its `.real` and its `.imag`.
        notes: Text beside them, such as settings as JSON. Names, notes and checksums together take at most 1 MiB.
    """
    path = Path(path)
    ready = {name: _prepare(name, array) for name, array in arrays.items()}
    for key, note in notes.items():
        if not all(isinstance(text, str) for text in (key, note)):
            raise TypeError(f"Notes are text, got {show(key)}: {show(note)}. Pass `str(...)` or `json.dumps(...)`.")
    checksums = {name: _checksum(name, array) for name, array in ready.items()}
    ours = {"arrays": checksums, "notes": dict(notes), "seal": _seal(checksums, dict(notes))}
    data = save(ready, {OURS: json.dumps(ours)})
    if (length := int.from_bytes(data[:8], "little")) > MAX_HEADER:
        raise ValueError(
            f"Names, notes and checksums for `{path}` take {length:,} bytes; at most {MAX_HEADER:,} are read back. "
            "Shorten the notes, or save to several files."
        )
    write(path, lambda file: file.write(data))


def load_arrays(
    path: Path, expected: Mapping[str, tuple[np.dtype, tuple[int, ...]]] | None = None
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the notes that `save_arrays` wrote there, in the order they were given.

    The file is not trusted. Checked in this order, each before anything is built on it:

    1. `path` is a regular file; the header fits into it, into 1 MiB, and starts with a brace.
    2. The header is UTF-8 and JSON, without a name twice, and holds of each array the dtype, shape and offsets alone.
    3. The dtype is one of the six; the shape is a list of at most 64 whole numbers, none negative, for which numpy
       can make an array; the offsets span exactly its bytes.
    4. The arrays follow one another without gap or overlap from the header's end to the file's end.
    5. There is one checksum for each array, and the one of all checksums and notes is right.
    6. With `expected`, names, dtypes and shapes are exactly those.
    7. The SHA-256 of each array's name, dtype, shape and bytes; the bytes of a bool are 0 and 1.

    Until 7 no memory is taken but for the header; then as much as the arrays take, which is less than the file.
    Numbers that are infinite or NaN are the caller's to judge. Checksums find damage, not malice: who can write the
    file can write checksums that fit. `expected` bounds what such a file can hold; it never holds code.

    Raises `ValueError` for a file that is damaged, foreign or not the one expected, and `FileNotFoundError`,
    `IsADirectoryError` or `PermissionError` where there is nothing to read.
    """
    path = Path(path)
    with _open(path) as (file, size):
        with _damage(path):
            places, metadata = read_header(file, size)
            checksums, notes = _parse_ours(metadata, {place.name for place in places})
        if expected is not None:
            _compare(path, places, expected)
        with _damage(path):
            arrays = {place.name: _read_array(file, place, checksums[place.name]) for place in places}
    return {name: arrays[name] for name in checksums}, notes


def _prepare(name: str, array: np.ndarray) -> np.ndarray:
    if not isinstance(name, str) or name == METADATA or not _is_unicode(name):
        raise ValueError(f"An array cannot be saved as {show(name)}. Give it a name in letters other than {METADATA}.")
    array = np.asarray(array)
    if array.dtype.name not in DTYPES:
        advice = "`.real` and `.imag` as two arrays" if array.dtype.kind == "c" else "it as one of these, by `.astype`"
        raise ValueError(f"Array {show(name)} is {array.dtype}; expected one of {', '.join(DTYPES)}. Save {advice}.")
    # `ascontiguousarray` would give an array of no axes one; the library would store a transposed one wrongly.
    array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    # A bool made by `view` may hold any byte; `load_arrays` accepts 0 and 1.
    return np.asarray(array.view(np.uint8) != 0) if array.dtype == bool else array


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _checksum(name: str, array: np.ndarray) -> str:
    # JSON in ASCII has no line break of its own: where the bytes begin is unambiguous.
    digest = hashlib.sha256(json.dumps([name, array.dtype.name, array.shape]).encode() + b"\n")
    digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _seal(checksums: Checksums, notes: Notes) -> str:
    return hashlib.sha256(json.dumps([checksums, notes]).encode()).hexdigest()


@contextlib.contextmanager
def _open(path: Path) -> Iterator[tuple[io.BufferedReader, int]]:
    try:
        # Before it is opened: opening a pipe would wait for its writer.
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"`{path}` is a folder; expected a file of arrays. Name the file in it.")
        if not stat.S_ISREG(mode):
            raise ValueError(f"`{path}` is a device or a pipe; expected a file of arrays. Name a file.")
        file = path.open("rb")
    except IsADirectoryError:
        raise
    except FileNotFoundError as error:
        words = f"There is no file `{path}`; expected the arrays of a training. Check the path, or train again."
        raise with_words(error, words) from error
    except OSError as error:
        words = f"`{path}` cannot be read: {error.strerror or error}. Check the path and who may read it."
        raise with_words(error, words) from error
    with file:
        yield file, file.seek(0, 2)


@contextlib.contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Adds the file's name and what to do to whatever was found."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"`{path}` is damaged, or no file of arrays written by edgewise: {error} Copy the file again from where it "
            "was made, or train again."
        ) from error


def _parse_ours(metadata: Any, names: set[str]) -> tuple[Checksums, Notes]:
    if not is_text(metadata) or metadata.keys() != {OURS}:
        raise ValueError(f"its {METADATA} is {show(metadata)}, expected checksums under {OURS!r}.")
    ours = parse("its entry of checksums", metadata[OURS])
    if ours.keys() != {"arrays", "notes", "seal"} or not is_text(ours["arrays"]) or not is_text(ours["notes"]):
        raise ValueError(f"its entry of checksums is {show(ours)}, expected arrays, notes and seal, all of them text.")
    checksums, notes = ours["arrays"], ours["notes"]
    if checksums.keys() != names:
        raise ValueError(f"it has checksums for {show(list(checksums))}, expected them for {show(sorted(names))}.")
    if ours["seal"] != _seal(checksums, notes):
        raise ValueError("its notes or its list of checksums changed since they were written; expected those of then.")
    return checksums, notes


def _compare(path: Path, places: list[Place], expected: Mapping[str, tuple[np.dtype, tuple[int, ...]]]) -> None:
    found = {place.name: (place.dtype.name, place.shape) for place in places}
    wanted = {name: (np.dtype(dtype).name, tuple(shape)) for name, (dtype, shape) in expected.items()}
    differences = [
        f"{show(name)} is {_describe(found.get(name))}, expected {_describe(wanted.get(name))}"
        for name in sorted(found.keys() | wanted.keys())
        if found.get(name) != wanted.get(name)
    ]
    if differences:
        more = f"; and {len(differences) - 3} more" if len(differences) > 3 else ""
        raise ValueError(
            f"`{path}` holds other arrays than expected: {'; '.join(differences[:3])}{more}. Load it with the settings "
            "it was saved with, name another file, or train again."
        )


def _describe(array: tuple[str, tuple[int, ...]] | None) -> str:
    return "none" if array is None else f"{array[0]} {show(array[1])}"


def _read_array(file: io.BufferedReader, place: Place, checksum: str) -> np.ndarray:
    """The places are read in the order of the file, so that each begins where the last one ended."""
    array = np.empty(place.shape, place.dtype)
    raw = array.reshape(-1).view(np.uint8)
    if file.readinto(raw.data) != raw.size:
        raise ValueError(f"it ended within array {show(place.name)}; it became shorter while it was read.")
    if _checksum(place.name, array) != checksum:
        raise ValueError(f"array {show(place.name)} does not have the checksum it was saved with.")
    if place.dtype == bool and raw.max(initial=0) > 1:
        raise ValueError(f"the bool array {show(place.name)} holds a byte of {raw.max()}, expected 0 and 1.")
    return array
