"""What can happen to a file of arrays: damage of one kind each, from flipped bits to forged headers.

Each function takes the bytes of a good file and a generator of random numbers and gives other bytes.
"""

import copy
import json

import numpy as np

from edgewise.learn import storage

NOTES = {"settings": '{"width": 64}', "made": "Zürich\n"}
ARRAYS = {
    "weight": np.arange(6.0).reshape(2, 3),
    "twin": -np.arange(6.0).reshape(2, 3),
    "bias": np.array([1.5, np.nan, -np.inf], np.float32),
    "steps": np.array([2**62, -1]),
    "small": np.array([2**31 - 1, -1], np.int32),
    "key": np.array([2**32 - 1, 0], np.uint32),
    "mask": np.array([True, False, True]),
    "rate": np.array(0.125),
    "none": np.zeros((0, 3), np.float32),
}


def split(raw: bytes) -> tuple[dict, dict, bytes]:
    """The header, our entry in it, and the data."""
    length = int.from_bytes(raw[:8], "little")
    parsed = json.loads(raw[8 : 8 + length])
    return parsed, json.loads(parsed["__metadata__"]["edgewise"]), raw[8 + length :]


def join(parsed: dict, ours: dict, data: bytes) -> bytes:
    return with_header(json.dumps(parsed | {"__metadata__": {"edgewise": json.dumps(ours)}}).encode(), data)


def with_header(text: bytes, data: bytes = b"") -> bytes:
    return len(text).to_bytes(8, "little") + text + data


def flip_bits(raw, rng):
    changed = bytearray(raw)
    for _ in range(rng.integers(1, 9)):
        changed[rng.integers(len(raw))] ^= 1 << rng.integers(8)
    return bytes(changed)


def flip_header_bit(raw, rng):
    changed = bytearray(raw)
    changed[rng.integers(len(raw) - len(split(raw)[2]))] ^= 1 << rng.integers(8)
    return bytes(changed)


def cut(raw, rng):
    data = len(split(raw)[2])
    places = [0, 1, 7, 8, 9, 10, len(raw) - data - 1, len(raw) - data, len(raw) - data + 48, len(raw) - 1]
    return raw[: rng.choice([*places, *rng.integers(len(raw), size=10)])]


def cut_front(raw, rng):
    return raw[rng.integers(1, len(raw)) :]


def append(raw, rng):
    return raw + rng.bytes(rng.integers(1, 64))


def erase(raw, rng):
    start = rng.integers(len(raw))
    count = min(rng.integers(1, 600), len(raw) - start)
    return raw[:start] + bytes(count) + raw[start + count :]


def forge_length(raw, rng):
    length = int.from_bytes(raw[:8], "little")
    forged = rng.choice([0, 1, 2, length - 1, length + 1, len(raw), 2**20, 2**20 + 1, 2**31, 2**40, 2**63 - 1])
    return int(forged).to_bytes(8, "little") + raw[8:]


def noise(raw, rng):
    return rng.bytes(rng.integers(0, 200))


HUGE = [2**31, 2**40, 2**60, 2**62, 2**63, 2**64, 10**400]
FIELDS = {
    "dtype": ["F16", "BF16", "C64", "F64 ", "f64", "I32", "U32", "F32", "BOOL", "", None, 7, ["F64"], {"F64": 1}],
    "shape": [
        *([count] for count in HUGE),
        *([0, count] for count in HUGE),
        *([[2**32, 2**32], [2**33] * 40, [-2, -3], [-6], [2, -3], [6], [3, 2], [2, 3, 1], [], [0], [1] * 65, [0] * 65]),
        *([[2.0, 3], [True, 6], ["2", 3], [[2, 3]], [None], "23", None, 6, {"0": 2}, [1e400], [float("nan")]]),
    ],
    "data_offsets": [
        *([0, count] for count in HUGE),
        *([count, count + 48] for count in HUGE),
        *([[0, 47], [1, 49], [48, 0], [-48, 0], [0, 0], [0, 48], [48, 96], [8, 56], [96, 144], [0, 48, 96], [0], []]),
        *([[0.0, 48.0], [False, 48], "048", None, 48, {"begin": 0, "end": 48}]),
    ],
}


def forge_field(raw, rng):
    parsed, ours, data = split(raw)
    field = rng.choice(list(FIELDS))
    parsed[rng.choice(list(ARRAYS))][field] = FIELDS[field][rng.integers(len(FIELDS[field]))]
    return join(parsed, ours, data)


def forge_entry(raw, rng):
    parsed, ours, data = split(raw)
    name = str(rng.choice(list(ARRAYS)))
    entry = copy.deepcopy(parsed[name])
    forged = [None, [], 3, "F64", {}, entry | {"more": 1}, {"dtype": "F64"}, [entry]]
    parsed[name] = forged[rng.integers(len(forged))]
    return join(parsed, ours, data)


def forge_names(raw, rng):
    """Arrays renamed, left out with or without their checksum, and added without one."""
    parsed, ours, data = split(raw)
    name = str(rng.choice(list(ARRAYS)))
    kind = rng.integers(5)
    if kind == 0:
        parsed["other"] = parsed.pop(name)
    elif kind == 1:
        del parsed[name]
    elif kind == 2:
        del parsed[name], ours["arrays"][name]
    elif kind == 3:
        parsed["\ud800" * rng.integers(1, 9)] = {"dtype": "F32", "shape": [0], "data_offsets": [len(data)] * 2}
    else:
        parsed["added"] = {"dtype": "BOOL", "shape": [4], "data_offsets": [len(data), len(data) + 4]}
        data += bytes(4)
    return join(parsed, ours, data)


def repeat_name(raw, rng):
    parsed, ours, data = split(raw)
    parsed["__metadata__"]["edgewise"] = json.dumps(ours)
    text = json.dumps(parsed)
    name = str(rng.choice([*ARRAYS, "__metadata__"]))
    if rng.integers(2):
        forged = text[:-1] + f", {json.dumps(name)}: {json.dumps(parsed[name])}}}"
    else:
        forged = text.replace('"shape"', '"shape": [2, 3], "shape"', 1)
    return with_header(forged.encode(), data)


def nest(raw, rng):
    parsed, _, data = split(raw)
    depth = int(rng.choice([50, 900, 5000, 100_000]))
    bomb = rng.choice(["[", '{"a":']) * depth
    where = rng.integers(4)
    if where == 0:
        return with_header(b"{" + f'"weight": {bomb}'.encode(), data)
    if where == 1:
        closed = "[" * depth + "]" * depth
        return with_header(json.dumps(parsed).replace("[2, 3]", closed, 1).encode(), data)
    if where == 2:
        return with_header(json.dumps(parsed | {"__metadata__": {"edgewise": bomb}}).encode(), data)
    return with_header(bomb.encode(), data)


def forge_json(raw, rng):
    data = split(raw)[2]
    texts = [
        b"{}",
        b"[]",
        b"null",
        b" {}",
        b"{",
        b'{"a"',
        b"\xff\xfe{}",
        b"{" + bytes(20),
        b'{"weight": NaN}',
        b'{"a": 1}x',
    ]
    texts += [b'{"weight": ' + b"9" * 5000 + b"}", '{"weight": {"é": 1}}'.encode("latin-1"), "{}".encode("utf-16")]
    return with_header(texts[rng.integers(len(texts))], data if rng.integers(2) else b"")


def swap_places(raw, rng):
    """Two arrays of one dtype and shape change places: in the header, in the data, or with their checksums."""
    parsed, ours, data = split(raw)
    a, b = parsed["weight"]["data_offsets"], parsed["twin"]["data_offsets"]
    kind = rng.integers(4)
    if kind in (0, 3):
        parsed["weight"]["data_offsets"], parsed["twin"]["data_offsets"] = b, a
    elif kind == 1:
        changed = bytearray(data)
        changed[slice(*a)], changed[slice(*b)] = data[slice(*b)], data[slice(*a)]
        data = bytes(changed)
    else:
        parsed["weight"]["data_offsets"] = b  # both at one place
    if kind == 3:
        # Only the name within the checksum tells.
        sums = ours["arrays"]
        sums["weight"], sums["twin"] = sums["twin"], sums["weight"]
        ours["seal"] = storage._seal(sums, ours["notes"])
    return join(parsed, ours, data)


def swap_checksums(raw, rng):
    parsed, ours, data = split(raw)
    a, b = rng.choice(list(ARRAYS), 2, replace=False)
    ours["arrays"][a], ours["arrays"][b] = ours["arrays"][b], ours["arrays"][a]
    if rng.integers(2):
        ours["seal"] = storage._seal(ours["arrays"], ours["notes"])
    return join(parsed, ours, data)


def forge_notes(raw, rng):
    parsed, ours, data = split(raw)
    forged = [
        ours | {"notes": ours["notes"] | {"made": "elsewhere"}},
        ours | {"notes": {}},
        ours | {"notes": {"made": 3}, "seal": storage._seal(ours["arrays"], {"made": 3})},
        ours | {"notes": None},
        ours | {"seal": None},
        ours | {"seal": ours["seal"].upper()},
        ours | {"arrays": list(ours["arrays"])},
        ours | {"arrays": dict.fromkeys(ours["arrays"], 1)},
        {"notes": ours["notes"]},
        {},
        [],
    ]
    kind = rng.integers(len(forged) + 3)
    if kind < len(forged):
        return join(parsed, forged[kind], data)
    metadata = [{"format": "pt"}, None, {"edgewise": ours}][kind - len(forged)]
    return with_header(json.dumps(parsed | {"__metadata__": metadata}).encode(), data)


DAMAGE = [
    *(flip_bits, flip_header_bit, cut, cut_front, append, erase, noise, forge_length, forge_field, forge_field),
    *(forge_entry, forge_names, repeat_name, nest, forge_json, swap_places, swap_checksums, forge_notes),
]
