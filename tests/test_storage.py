"""Arrays in files: what comes back is what was saved, or an error in words, whatever happened to the file."""

import os
import tracemalloc

import numpy as np
import pytest
import safetensors.numpy
from damage import ARRAYS, DAMAGE, NOTES, join, split, with_header

from edgewise.learn import header, storage
from edgewise.learn.storage import load_arrays, save_arrays

CASES = 2000


def same(found, saved) -> bool:
    return list(found) == list(saved) and all(
        found[name].dtype == saved[name].dtype
        and found[name].shape == saved[name].shape
        and found[name].tobytes() == saved[name].tobytes()
        for name in saved
    )


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "arrays.safetensors"
    save_arrays(path, ARRAYS, NOTES)
    return path.read_bytes()


# One phrase of each check: all of them are to be reached.
CHECKS = [
    *("10 or more", "is said to have", "expected a brace", "cannot be read as JSON", "comes twice", "too deeply"),
    *("is described by", "has dtype", "has shape", "fewer than 2^63", "has offsets", "lies at", "begins at byte"),
    *("that follow the header", "expected checksums under", "all of them text", "it has checksums for"),
    *("its notes or its list", "does not have the checksum"),
]


def test_two_thousand_damaged_files_give_what_was_saved_or_a_message(good, tmp_path):
    rng = np.random.default_rng(2026)
    path = tmp_path / "arrays.safetensors"
    messages = []
    tracemalloc.start()
    try:
        for case in range(CASES):
            damage = DAMAGE[case % len(DAMAGE)]
            path.write_bytes(damage(good, rng))
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                arrays, notes = load_arrays(path)
            except ValueError as error:
                messages.append(str(error))
                assert str(path) in messages[-1] and "train again" in messages[-1] and len(messages[-1]) < 1000
            else:
                assert same(arrays, ARRAYS) and notes == NOTES, f"case {case}, {damage.__name__}"
            # The largest header here has 0.6 MB, nested; nothing that a header says may cost more than reading it.
            assert tracemalloc.get_traced_memory()[1] - before < 2**24, f"case {case}, {damage.__name__}"
    finally:
        tracemalloc.stop()
    assert len(messages) > 0.9 * CASES
    assert not [check for check in CHECKS if not any(check in message for message in messages)]


def test_every_single_bit_of_the_data_counts(tmp_path):
    path = tmp_path / "arrays.safetensors"
    save_arrays(path, {"mask": np.array([True, False]), "rate": np.array(0.125)})
    raw = path.read_bytes()
    for bit in range(8 * len(split(raw)[2])):
        changed = bytearray(raw)
        changed[-1 - bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="checksum"):
            load_arrays(path)


def test_a_full_header_of_nothing_costs_no_more_than_itself(tmp_path):
    path = tmp_path / "arrays.safetensors"
    for text in (b"[" * 2**20, b"{" + b" " * (2**20 - 2) + b"}", b'{"a":[' + b"[]," * 349_522 + b"0]}"):
        path.write_bytes(with_header(text[: 2**20]))
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match="train again"):
                load_arrays(path)
            assert tracemalloc.get_traced_memory()[1] < 2**26
        finally:
            tracemalloc.stop()


def test_more_axes_than_numpy_has(good, tmp_path):
    parsed, ours, data = split(good)
    parsed["rate"]["shape"] = [1] * 65
    path = tmp_path / "arrays.safetensors"
    path.write_bytes(join(parsed, ours, data))
    with pytest.raises(ValueError, match="at most 64"):
        load_arrays(path)


def test_a_bool_of_another_byte_is_refused_even_with_its_checksum(good, tmp_path):
    parsed, ours, data = split(good)
    begin, end = parsed["mask"]["data_offsets"]
    data = data[:begin] + b"\x01\x02\x00" + data[end:]
    ours["arrays"]["mask"] = storage._checksum("mask", np.frombuffer(b"\x01\x02\x00", bool))
    ours["seal"] = storage._seal(ours["arrays"], ours["notes"])
    path = tmp_path / "arrays.safetensors"
    path.write_bytes(join(parsed, ours, data))
    with pytest.raises(ValueError, match="holds a byte of 2"):
        load_arrays(path)
    save_arrays(path, {"mask": np.frombuffer(b"\x01\x02\x00", bool)})
    assert load_arrays(path)[0]["mask"].tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", header.DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (5, 4), (2, 3, 4)])
def test_round_trip(tmp_path, dtype, shape):
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 2 if dtype == "bool" else 256, size=(*shape, np.dtype(dtype).itemsize), dtype=np.uint8)
    array = raw.view(dtype).reshape(shape)  # any bits at all: NaNs with payloads, subnormal numbers
    path = tmp_path / "arrays.safetensors"
    saved = {"z": array, "a": array.T, "reversed": array[..., ::-1] if shape else array, "ü": array}
    save_arrays(path, saved, NOTES)
    expected = {name: (np.dtype(dtype), value.shape) for name, value in saved.items()}
    arrays, notes = load_arrays(path, expected)
    assert same(arrays, saved) and list(notes.items()) == list(NOTES.items())
    first = path.read_bytes()
    save_arrays(path, saved, NOTES)
    assert path.read_bytes() == first
    assert same(dict(sorted(safetensors.numpy.load(first).items())), dict(sorted(saved.items())))


def test_round_trip_of_nothing_and_of_the_other_byte_order(tmp_path):
    path = tmp_path / "arrays.safetensors"
    save_arrays(path, {})
    assert load_arrays(path, {}) == ({}, {})
    save_arrays(path, {"a": np.arange(3, dtype=">i8")}, {"\ud800": ""})
    arrays, notes = load_arrays(path)
    assert arrays["a"].tolist() == [0, 1, 2] and arrays["a"].dtype == np.int64 and notes == {"\ud800": ""}


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("density", np.array([1j]), r"complex128.*`\.real` and `\.imag`"),
        ("half", np.zeros(2, np.float16), "float16.*float32"),
        ("text", np.array(["a"]), "<U1"),
        ("object", np.array([None]), "object"),
        ("__metadata__", np.zeros(2), "name"),
        ("\ud800", np.zeros(2), "name"),
        (3, np.zeros(2), "name"),
    ],
)
def test_what_cannot_be_saved_is_refused(tmp_path, name, array, words):
    with pytest.raises(ValueError, match=words):
        save_arrays(tmp_path / "arrays.safetensors", {name: array})
    assert not list(tmp_path.iterdir())


def test_notes_are_text_and_not_endless(tmp_path):
    with pytest.raises(TypeError, match=r"json\.dumps"):
        save_arrays(tmp_path / "arrays.safetensors", {}, {"width": 64})  # pyright: ignore
    with pytest.raises(ValueError, match="Shorten the notes"):
        save_arrays(tmp_path / "arrays.safetensors", {}, {"log": "a" * 2**20})
    assert not list(tmp_path.iterdir())


def test_expected_arrays_are_exactly_those(good, tmp_path):
    path = tmp_path / "arrays.safetensors"
    path.write_bytes(good)
    right = {name: (array.dtype, array.shape) for name, array in ARRAYS.items()}
    assert same(load_arrays(path, right)[0], ARRAYS)
    f8 = np.dtype("float64")
    for wrong, words in [
        ({"weight": (f8, (3, 2))}, r"'weight' is float64 \(2, 3\), expected float64 \(3, 2\)"),
        ({"weight": (np.dtype("float32"), (2, 3))}, r"expected float32 \(2, 3\)"),
        ({"more": (f8, ())}, r"'more' is none, expected float64 \(\)"),
    ]:
        with pytest.raises(ValueError, match=words):
            load_arrays(path, right | wrong)
    with pytest.raises(ValueError, match=r"'weight' is float64.*expected none.*train again"):
        load_arrays(path, {name: entry for name, entry in right.items() if name != "weight"})
    with pytest.raises(ValueError, match="and 6 more"):
        load_arrays(path, {})


def test_nothing_to_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file `.*absent`.*train again"):
        load_arrays(tmp_path / "absent")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load_arrays(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot be read"):
        load_arrays(tmp_path / "file" / "arrays")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="pipe"):
            load_arrays(tmp_path / "pipe")


def test_a_file_that_shrinks_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "arrays.safetensors"
    save_arrays(path, {"large": np.zeros(2**16)})  # more than a reader's buffer holds
    read = storage.read_header

    def then_cut(file, size):
        result = read(file, size)
        os.truncate(path, 2**17)
        return result

    monkeypatch.setattr(storage, "read_header", then_cut)
    with pytest.raises(ValueError, match="became shorter"):
        load_arrays(path)


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_arrays_that_cannot_be_written_leave_the_old_ones(tmp_path, monkeypatch, step):
    path = tmp_path / "arrays.safetensors"
    save_arrays(path, ARRAYS, NOTES)

    def fail(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(PermissionError, match="could not be written") as caught:
        save_arrays(path, {"weight": np.zeros(2)})
    assert caught.value.errno == 1
    monkeypatch.undo()
    assert same(load_arrays(path)[0], ARRAYS) and list(tmp_path.iterdir()) == [path]
