"""The header of a safetensors file, read without trust: bounded, complete, and in agreement with the file's size.

The library would check much of this too, but not names that come twice, and with errors that do not say what to do.
"""

import io
import json
import math
import reprlib
from typing import Any, NamedTuple

import numpy as np

# The names of numpy and of the format.
DTYPES = {"float32": "F32", "float64": "F64", "int64": "I64", "int32": "I32", "uint32": "U32", "bool": "BOOL"}
# Some thousand arrays, or notes of a million letters. What a reader allocates before it knows the file to be good.
MAX_HEADER = 2**20
MAX_AXES = 64  # numpy's own bound
METADATA = "__metadata__"

_short = reprlib.Repr()
_short.maxstring = _short.maxlong = _short.maxother = 80


def show(value: Any) -> str:
    """`repr` for a message: a file may hold names of a million letters."""
    return _short.repr(value)


class Place(NamedTuple):
    """Where an array lies in the file; the offsets count from the header's end."""

    begin: int
    end: int
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


def read_header(file: io.BufferedReader, size: int) -> tuple[list[Place], Any]:
    """The arrays' places in the order of the file, and whatever was under `__metadata__`; leaves the file at the data.

    Raises `ValueError` that says what was found and expected, without the file's name. `load_arrays` lists the checks.
    """
    if size < 10:
        raise ValueError(f"it has {size} bytes, expected 10 or more.")
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= min(MAX_HEADER, size - 8):
        bounds = f"2 to {min(MAX_HEADER, size - 8):,}"
        raise ValueError(f"its header is said to have {length:,} bytes, expected {bounds} in a file of {size:,}.")
    text = file.read(length)
    if len(text) < length or text[:1] != b"{":
        raise ValueError(f"its header starts with {text[:8]!r}, expected a brace and {length:,} bytes.")
    header = parse("its header", text)
    metadata = header.pop(METADATA, None)
    places = sorted(_parse_place(name, entry) for name, entry in header.items())
    end = 0
    for place in places:
        if place.begin != end:
            raise ValueError(
                f"array {show(place.name)} begins at byte {show(place.begin)} of the data, expected {end}."
            )
        end = place.end
    if end != size - 8 - length:
        raise ValueError(f"its arrays take {show(end)} bytes, expected the {size - 8 - length} that follow the header.")
    return places, metadata


def parse(what: str, text: bytes | str) -> dict[str, Any]:
    """The JSON object written there, in which no name comes twice."""
    try:
        value = json.loads(text.decode() if isinstance(text, bytes) else text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError(f"{what} nests brackets too deeply, expected three levels.") from None
    except ValueError as error:
        raise ValueError(f"{what} cannot be read as JSON ({error}).") from None
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {show(value)}, expected a JSON object.")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the name {show(key)} comes twice")
        result[key] = value
    return result


def _parse_place(name: str, entry: Any) -> Place:
    what = f"array {show(name)}"
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{what} is described by {show(entry)}, expected dtype, shape and data_offsets.")
    names = [known for known, code in DTYPES.items() if code == entry["dtype"]]
    if not names:
        raise ValueError(f"{what} has dtype {show(entry['dtype'])}, expected one of {', '.join(DTYPES.values())}.")
    dtype = np.dtype(names[0]).newbyteorder("<")
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not _are_counts(shape) or len(shape) > MAX_AXES:
        raise ValueError(f"{what} has shape {show(shape)}, expected at most {MAX_AXES} whole numbers, none negative.")
    # An array of no elements has no bytes however long its other axes; numpy bounds those all the same.
    if math.prod(max(count, 1) for count in shape) * dtype.itemsize >= 2**63:
        raise ValueError(f"{what} has shape {show(shape)}, expected one with fewer than 2^63 bytes.")
    if not _are_counts(offsets) or len(offsets) != 2:
        raise ValueError(f"{what} has offsets {show(offsets)}, expected two whole numbers, none negative.")
    begin, end = offsets
    if end - begin != math.prod(shape) * dtype.itemsize:
        need = math.prod(shape) * dtype.itemsize
        raise ValueError(f"{what} lies at {show(offsets)}, expected {need} bytes for {dtype.name} {show(shape)}.")
    return Place(begin, end, name, dtype, tuple(shape))


def _are_counts(value: Any) -> bool:
    # `type`, for True and False are ints.
    return isinstance(value, list) and all(type(count) is int and count >= 0 for count in value)
