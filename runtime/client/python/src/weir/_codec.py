"""Typed records as bytes: items, columns of them, and frames (jobs/stream/frames). Nothing but the standard library.

Upstream: _runner.py in tasks, _results.py where a result is read. Speed comes from doing nothing for a single record that can be
done for a batch: a column of one type is encoded by one call.
"""
import operator
import pickle
import struct
from array import array

FRAME_BYTES_MAX = 1 << 30
TUPLE_DEPTH_MAX = 32

_HEAD = struct.Struct("<cI")
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")
_I64 = struct.Struct("<q")
_F64 = struct.Struct("<d")
_NONE, _FALSE, _TRUE, _BIG_NEGATIVE, _INT, _BIG_POSITIVE, _FLOAT, _TEXT, _BYTES, _TUPLE, _PICKLED = range(1, 12)
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1


class KeyRefused(TypeError):
    """A key that has no place in the order of keys: None, NaN, or of a type that is no key."""


# Items and columns (jobs/stream/frames/item.h, column.h).

def _refuse(key):
    if key is None:
        raise KeyRefused("a key is None; keys are str, bytes, int, float, bool and tuples of them")
    if isinstance(key, float):
        raise KeyRefused("a key is NaN, which has no place in an order")
    raise KeyRefused(f"a key is of type {type(key).__name__}; keys are str, bytes, int, float, bool and tuples of them: {key!r:.200}")


def _encode_content(tag, content, out):
    out.append(bytes((tag,)) + U32.pack(len(content)))
    out.append(content)


def _encode_item(item, out, key, depth=0):
    kind = type(item)
    if key and kind not in _ENCODERS:  # what behaves as a key is one: numbers of numpy, enumerations, named tuples
        for base in (str, bytes, int, float, tuple):
            if isinstance(item, base):
                kind = base
                break
        else:
            try:
                item, kind = operator.index(item), int
            except TypeError:
                _refuse(item)
    if item is None:
        if key:
            _refuse(item)
        out.append(b"\1")
    elif kind is bool:
        out.append(b"\3" if item else b"\2")
    elif kind is int:
        if _INT_MIN <= item <= _INT_MAX:
            out.append(b"\5" + _I64.pack(item))
        else:
            magnitude = abs(item)
            _encode_content(_BIG_POSITIVE if item > 0 else _BIG_NEGATIVE,
                            magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "big"), out)
    elif kind is float:
        if key and item != item:
            _refuse(item)
        out.append(b"\7" + _F64.pack(item))
    elif kind is str:
        _encode_content(_TEXT, item.encode("utf-8", "surrogateescape"), out)
    elif kind is bytes:
        _encode_content(_BYTES, bytes(item), out)
    elif kind is tuple:
        if depth >= TUPLE_DEPTH_MAX:
            raise ValueError(f"tuples lie in one another more than {TUPLE_DEPTH_MAX} deep")
        out.append(b"\n" + U32.pack(len(item)))
        for element in item:
            _encode_item(element, out, key, depth + 1)
    elif key:
        _refuse(item)
    else:
        _encode_content(_PICKLED, pickle.dumps(item, 4), out)


def _decode_item(data, at):
    tag = data[at]
    at += 1
    if tag == _INT:
        return _I64.unpack_from(data, at)[0], at + 8
    if tag == _FLOAT:
        return _F64.unpack_from(data, at)[0], at + 8
    if tag in (_NONE, _FALSE, _TRUE):
        return (None, False, True)[tag - 1], at
    size = U32.unpack_from(data, at)[0]
    at += 4
    if tag == _TUPLE:
        items = []
        for _ in range(size):
            item, at = _decode_item(data, at)
            items.append(item)
        return tuple(items), at
    content = data[at:at + size]
    at += size
    if tag == _TEXT:
        return content.decode("utf-8", "surrogateescape"), at
    if tag == _BYTES:
        return content, at
    if tag == _PICKLED:
        return pickle.loads(content), at
    if tag == _BIG_POSITIVE:
        return int.from_bytes(content, "big"), at
    if tag == _BIG_NEGATIVE:
        return -int.from_bytes(content, "big"), at
    raise ValueError(f"no item has the tag {tag}")


def _encode_lengths(kind, contents, out):
    out.append(kind + array("I", map(len, contents)).tobytes())
    out.extend(contents)


def _encode_texts(items, out, key):
    data = "\0".join(items).encode("utf-8", "surrogateescape")
    if data.count(0) == len(items) - 1:
        out.append(b"s" + U64.pack(len(data) + 1))
        out.append(data)
        out.append(b"\0")
    else:
        _encode_lengths(b"S", [item.encode("utf-8", "surrogateescape") for item in items], out)


def _encode_bytes(items, out, key):
    _encode_lengths(b"Y", items, out)


def _encode_ints(items, out, key):
    try:
        out.append(b"i" + array("q", items).tobytes())
    except OverflowError:
        _encode_mixed(items, out, key)


def _encode_floats(items, out, key):
    if key and any(map(operator.ne, items, items)):
        _refuse(float("nan"))
    out.append(b"d" + array("d", items).tobytes())


def _encode_bools(items, out, key):
    out.append(b"b" + bytes(items))


def _encode_nones(items, out, key):
    if key:
        _refuse(None)
    out.append(b"n")


def _encode_tuples(items, out, key):
    arity = len(items[0])
    if not 1 <= arity <= 255 or set(map(len, items)) != {arity}:
        _encode_mixed(items, out, key)
        return
    out.append(b"t" + bytes((arity,)))
    for column in zip(*items):
        encode_column(column, out, key)


def _encode_mixed(items, out, key):
    contents = []
    for item in items:
        parts = []
        _encode_item(item, parts, key)
        contents.append(b"".join(parts))
    _encode_lengths(b"m", contents, out)


_ENCODERS = {str: _encode_texts, bytes: _encode_bytes, int: _encode_ints, float: _encode_floats, bool: _encode_bools,
             type(None): _encode_nones, tuple: _encode_tuples}


def encode_column(items, out, key=False):
    """Appends the bytes of a column to the list `out`. Raises KeyRefused."""
    kinds = set(map(type, items))
    if len(kinds) == 1:
        kind = kinds.pop()
        encode = _ENCODERS.get(kind)
        if encode is not None:
            encode(items, out, key)
            return
        if not key:
            _encode_lengths(b"p", [pickle.dumps(item, 4) for item in items], out)
            return
    _encode_mixed(items, out, key)


def decode_column(data, at, number):
    """Returns the items of a column and the place behind it."""
    kind = data[at:at + 1]
    at += 1
    if kind == b"s":
        size = U64.unpack_from(data, at)[0]
        at += 8
        return data[at:at + size - 1].decode("utf-8", "surrogateescape").split("\0"), at + size
    if kind == b"i":
        return struct.unpack_from(f"<{number}q", data, at), at + 8 * number
    if kind == b"d":
        return struct.unpack_from(f"<{number}d", data, at), at + 8 * number
    if kind == b"t":
        arity = data[at]
        at += 1
        columns = []
        for _ in range(arity):
            column, at = decode_column(data, at, number)
            columns.append(column)
        return list(zip(*columns)), at
    if kind == b"b":
        return list(map(bool, data[at:at + number])), at + number
    if kind == b"n":
        return [None] * number, at
    lengths = struct.unpack_from(f"<{number}I", data, at)
    at += 4 * number
    items = []
    for size in lengths:
        items.append(data[at:at + size])
        at += size
    if kind == b"Y":
        return items, at
    if kind == b"S":
        return [item.decode("utf-8", "surrogateescape") for item in items], at
    if kind == b"p":
        return list(map(pickle.loads, items)), at
    if kind == b"m":
        return [_decode_item(item, 0)[0] for item in items], at
    raise ValueError(f"no column is of kind {kind!r}")


def encode_pairs(keys, values):
    """Returns the content of a frame of pairs, as a list of bytes."""
    out = [U32.pack(len(keys))]
    encode_column(keys, out, True)
    encode_column(values, out)
    return out


def decode_pairs(content):
    """Returns keys and values of a frame of pairs."""
    number = U32.unpack_from(content, 0)[0]
    keys, at = decode_column(content, 4, number)
    values, _ = decode_column(content, at, number)
    return keys, values


def frame(kind, parts):
    """Returns a whole frame. Raises ValueError where it is too long."""
    size = sum(map(len, parts))
    if size > FRAME_BYTES_MAX:
        raise ValueError(f"records of {size} bytes were written at once; at most {FRAME_BYTES_MAX} are possible")
    return b"".join([_HEAD.pack(kind, size), *parts])


def read_frames(file):
    """Yields kind and content of each frame of a file. Raises EOFError where one breaks off."""
    while True:
        head = file.read(5)
        if not head:
            return
        kind, size = _HEAD.unpack(head) if len(head) == 5 else (b"", 1)
        content = file.read(size)
        if len(content) != size:
            raise EOFError("a frame breaks off")
        yield kind, content


def signature(items):
    """What all items are, so that equal ones of different types (1, 1.0, True) can be told apart; None where they differ."""
    kinds = set(map(type, items))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is not tuple:
        return kind
    if len(set(map(len, items))) != 1:
        return None
    elements = tuple(map(signature, zip(*items)))
    return None if None in elements else elements
