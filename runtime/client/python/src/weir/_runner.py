"""What runs where the data is: reads frames of text or groups, calls the user's functions on whole batches, writes frames.

Upstream: a task of the job `framed` (jobs/stream/framed_program.h), and functions that _ship.py packed. Downstream: the same
task. Needs nothing but the standard library, and is shipped with each job.
"""
import io
import itertools
import json
import operator
import os
import pickle
import struct
import sys

from ._codec import U32, U64, decode_column, encode_column, encode_pairs, frame, read_frames, signature

PROTOCOL = 1
_HERE = os.path.dirname(__file__)
_CHUNK_BYTES = 512 << 10
_CHUNK_PAIRS_MAX = 16384
_FRAME_BYTES = 64 << 20  # more records than one are parted rather than written in a longer one
_COMBINE_VALUES = 1 << 18
_COMBINE_BYTES = 64 << 20
_COUNTER_MIN, _COUNTER_MAX = -(1 << 63), (1 << 63) - 1
_NO_PAIRS = (str, bytes, bytearray, dict, set, frozenset)  # with two elements they could be taken apart, to what nobody meant


# What users write on their functions.

class Columns:
    """Keys and values of many pairs at once: two sequences of one length. What a mapper over batches or texts may return."""

    def __init__(self, keys, values):
        self.keys = keys if isinstance(keys, (list, tuple)) else list(keys)
        self.values = values if isinstance(values, (list, tuple)) else list(values)
        if len(self.keys) != len(self.values):
            raise ValueError(f"weir.Columns has {len(self.keys)} keys and {len(self.values)} values")


class ByKey:
    """A reducer or combiner made of a function of the values alone."""

    def __init__(self, function):
        self.function = function

    def __call__(self, key, values):
        return ((key, self.function(values)),)


def batch(mapper):
    """Declares that a mapper takes a list of lines, not one line."""
    mapper.__weir_takes__ = "batch"
    return mapper


def text(mapper):
    """Declares that a mapper takes a text of many lines, each with its newline."""
    mapper.__weir_takes__ = "text"
    return mapper


def by_key(function):
    """Makes a reducer or combiner of a function of the values: by_key(sum)."""
    return ByKey(function)


_counters = {}


def count(name, number=1):
    """Adds a whole number to a counter of the job, called `python,NAME`. Raises TypeError for any other."""
    try:
        number = operator.index(number)  # one of numpy would wrap around, and a report of 1.5 is none
    except TypeError:
        raise TypeError(f"weir.count takes whole numbers; {name!r:.200} was given {number!r:.200}") from None
    _counters[name] = _counters.get(name, 0) + number


# The work of one process.

def _text_line(key, value):
    return f"{key}\t{value}\n"


def _json_line(key, value):
    return json.dumps([key, value], ensure_ascii=False) + "\n"


def _encode_text_lines(keys, values):
    return ["".join(map(_text_line, keys, values)).encode("utf-8", "surrogateescape")]


def _encode_json_lines(keys, values):
    return ["".join(map(_json_line, keys, values)).encode("utf-8", "surrogateescape")]


def _pairs_frame(_, parts):
    return frame(b"P", parts)


def _result_frame(number, parts):
    return frame(b"R", [U32.pack(number), *parts])


def _typed_result_frame(number, parts):
    return _result_frame(number, [frame(b"P", parts)])


def _bytes_of(item, depth=5):
    """About how many bytes an object takes. The first elements stand for all."""
    size = sys.getsizeof(item, 64)
    if depth == 0 or isinstance(item, (str, bytes, int, float)):
        return size
    elements = item
    if isinstance(item, dict):
        elements = item.items()
    elif not isinstance(item, (list, tuple, set, frozenset)):
        elements = [getattr(item, "__dict__", None)]
    few = [_bytes_of(element, depth - 1) for element in itertools.islice(elements, 4) if element is not None]
    return size + sum(few) * len(elements) // len(few) if few else size


def _bytes_of_all(items):
    few = list(itertools.islice(items, 0, None, max(1, len(items) // 8)))
    try:
        return sum(map(_bytes_of, few)) * len(items) // max(1, len(few))
    except Exception:  # of users' classes; who cannot say how large it is ends no job
        return 64 * len(items)


class _Lines:
    """A stream that knows whether what was written last lacks its newline."""

    def __init__(self, stream):
        self._stream = stream
        self.line_open = False

    def write(self, text):
        written = self._stream.write(text)
        if text:
            self.line_open = not text.endswith("\n")
        return written

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self._stream, name)


class Runner:
    """One mapper or reducer process, from its first frame to its last."""

    def __init__(self, load, source, sink):
        self._load, self._source, self._sink = load, source, sink
        self._path, self._offset = "", 0
        self._role, self._key, self._has_key = "job", None, False
        self._chunk = 1  # nobody knows yet how large a pair is
        self._tables, self._held, self._held_bytes = {}, 0, 0

    def run(self):
        """Returns the exit code."""
        try:
            frames = read_frames(self._source)
            kind, hello = next(frames)
            if kind != b"H" or U32.unpack_from(hello)[0] != PROTOCOL:
                raise RuntimeError(f"weir speaks another protocol than this package, which has version {PROTOCOL}: "
                                   "install program and package of one version")
            self._options, self._mapper, self._combiner, self._reducer = self._load()
            if hello[4:5] == b"m":
                self._role = "mapper"
                self._map(frames)
            else:
                self._role = "reducer"
                self._reduce(frames)
        except BaseException as error:  # whatever the user's code raises is told
            self._tell(error)
            return 1
        finally:
            self._report_counters()
        self._write(frame(b"D", []))
        return 0

    def _write(self, data):
        left = memoryview(data)
        while left:
            left = left[self._sink.write(left):]

    def _tell(self, error):
        import traceback
        trace = error.__traceback__
        while trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == _HERE:
            trace = trace.tb_next  # the reader looks for his own lines
        lines = traceback.format_exception(type(error), error, trace)
        sys.stderr.write("".join(lines))
        sys.stderr.flush()
        last = traceback.format_exception_only(type(error), error)[-1].strip()
        sentence = f"the {self._role} raised {last}"
        if self._has_key:
            sentence += f" (key {self._key!r:.200})"
        path = self._path.encode("utf-8", "surrogateescape")
        self._write(frame(b"X", [U64.pack(self._offset), U32.pack(len(path)), path,
                                 sentence[:4000].encode("utf-8", "replace")]))

    def _report_counters(self):
        sys.stdout.flush()
        # A report begins a line. Of what is not ours nobody knows.
        if _counters and any(getattr(stream, "line_open", True) for stream in (sys.stdout, sys.stderr)):
            sys.stderr.write("\n")
        for name, number in _counters.items():
            number = max(_COUNTER_MIN, min(number, _COUNTER_MAX))  # what is beyond would be no counter
            name = str(name).replace(",", "_").replace("\n", " ")
            sys.stderr.write(f"reporter:counter:python,{name},{number}\n")
        sys.stderr.flush()

    # Mappers.

    def _texts(self, frames):
        for kind, content in frames:
            if kind == b"E":
                return
            self._offset = U64.unpack_from(content)[0]
            size = U32.unpack_from(content, 8)[0]
            self._path = content[12:12 + size].decode("utf-8", "surrogateescape")
            yield content[12 + size:].decode("utf-8", "surrogateescape")
        raise EOFError("the task ended before the input did")

    def _map(self, frames):
        mapper = self._mapper
        takes = getattr(mapper, "__weir_takes__", "line")
        put = self._put_result if self._reducer is None else self._write_pairs if self._combiner is None else self._combine
        for content in self._texts(frames):
            if takes == "text":
                pairs = mapper(content)
            else:
                lines = content.split("\n")
                lines.pop()
                if takes == "batch":
                    pairs = mapper(lines)
                else:
                    pairs = itertools.chain.from_iterable(filter(None, map(mapper, lines)))
            self._each_chunk(pairs, put)
        if self._combiner is not None:
            self._flush_combined()

    def _each_chunk(self, pairs, put):
        if pairs is None:
            return
        if isinstance(pairs, Columns):
            if pairs.keys:
                put(pairs.keys, pairs.values)
            return
        pairs = iter(pairs)
        while True:
            chunk = list(itertools.islice(pairs, self._chunk))
            if not chunk:
                return
            try:
                if set(map(type, chunk)) != {tuple} and any(isinstance(pair, _NO_PAIRS) for pair in chunk):
                    raise TypeError("no pairs")
                keys = [key for key, _ in chunk]
            except (TypeError, ValueError):
                for pair in chunk:
                    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                        raise TypeError(f"the {self._role} gave {pair!r:.200}, which is no pair (key, value)") from None
                raise
            put(keys, [value for _, value in chunk])

    def _adapt(self, number, size):
        fitting = int(_CHUNK_BYTES * number / max(size, 1))
        self._chunk = max(1, min(fitting, 4 * self._chunk, _CHUNK_PAIRS_MAX))

    def _write_frames(self, encode, wrap, keys, values):
        """Writes wrap(number of pairs, encode(keys, values)), or several of them where what encode returns, a list of bytes, is long."""
        parts = encode(keys, values)
        number, size = len(keys), sum(map(len, parts))
        if size > _FRAME_BYTES and number > 1:
            del parts
            step = max(1, number * _FRAME_BYTES // size)
            for at in range(0, number, step):
                self._write_frames(encode, wrap, keys[at:at + step], values[at:at + step])
            return
        self._adapt(number, size)
        self._write(wrap(number, parts))

    def _write_pairs(self, keys, values):
        self._write_frames(encode_pairs, _pairs_frame, keys, values)

    def _combine(self, keys, values):
        kind = signature(keys)
        try:
            if kind is not None:
                self._hold(kind, keys, values)
            else:
                for key, value in zip(keys, values):
                    self._hold(signature((key,)) or repr(key), (key,), (value,))
        except TypeError:
            encode_column(keys, [], True)  # says what is wrong with them
            raise
        size = _bytes_of_all(keys) + _bytes_of_all(values)
        self._adapt(len(keys), size)
        self._held_bytes += size
        if self._held >= _COMBINE_VALUES or self._held_bytes >= _COMBINE_BYTES:
            self._flush_combined()

    def _hold(self, kind, keys, values):
        table = self._tables.get(kind)
        if table is None:
            table = self._tables[kind] = {}
        get = table.get
        for key, value in zip(keys, values):
            held = get(key)
            if held is None:
                table[key] = [value]
            else:
                held.append(value)
        self._held += len(keys)

    def _flush_combined(self):
        tables, self._tables, self._held, self._held_bytes = self._tables, {}, 0, 0
        self._role = "combiner"
        for table in tables.values():
            self._each_chunk(self._call_by_key(self._combiner, ((key, iter(held)) for key, held in table.items())),
                             self._write_pairs)
        self._role, self._has_key = "mapper", False

    def _call_by_key(self, function, groups):
        groups = self._noted(groups)
        if isinstance(function, ByKey):
            fold = function.function
            return ((key, fold(values)) for key, values in groups)
        return itertools.chain.from_iterable(filter(None, itertools.starmap(function, groups)))

    def _noted(self, groups):
        self._has_key = True
        for group in groups:
            self._key = group[0]
            yield group

    # Reducers.

    def _group_frames(self, frames):
        for kind, content in frames:
            if kind == b"E":
                return
            goes_on = content[0] == 1
            num_groups, number = struct.unpack_from("<II", content, 1)
            keys, at = decode_column(content, 9, num_groups)
            counts = struct.unpack_from(f"<{num_groups}I", content, at)
            values, _ = decode_column(content, at + 4 * num_groups, number)
            yield goes_on, keys, counts, values
        raise EOFError("the task ended before the groups did")

    def _groups(self, frames):
        source = self._group_frames(frames)
        pending = [next(source, None)]

        def rest_of_group():
            while True:
                pending[0] = next(source, None)
                if pending[0] is None or not pending[0][0]:
                    return
                _, keys, counts, values = pending[0]
                yield from values[:counts[0]]
                if len(keys) > 1:
                    return

        while pending[0] is not None:
            goes_on, keys, counts, values = pending[0]
            first, start = (1, counts[0]) if goes_on else (0, 0)
            last = len(keys) - 1
            if first > last:  # all of it was of the group before, and nothing follows
                pending[0] = next(source, None)
                continue
            for i in range(first, last):
                end = start + counts[i]
                yield keys[i], iter(values[start:end])
                start = end
            rest = rest_of_group()
            yield keys[last], itertools.chain(values[start:], rest)
            for _ in rest:  # what the reducer left
                pass

    def _reduce(self, frames):
        self._each_chunk(self._call_by_key(self._reducer, self._groups(frames)), self._put_result)

    def _put_result(self, keys, values):
        form = self._options["format"]
        encode = encode_pairs if form == "typed" else _encode_text_lines if form == "text" else _encode_json_lines
        self._write_frames(encode, _typed_result_frame if form == "typed" else _result_frame, keys, values)


def _load_from(archive):
    """Functions and options that _ship.py packed."""
    import zipfile
    with zipfile.ZipFile(archive) as packed:
        options = json.loads(packed.read("weir_job.json"))
        here = list(sys.version_info[:2])
        if options["code"] == "cloudpickle" and options["python"] != here:
            raise RuntimeError(f"the functions were pickled by Python {'.'.join(map(str, options['python']))} and this worker has "
                               f"{'.'.join(map(str, here))}: use the same on both, or functions of a module without cloudpickle")
        if options["main"]:
            import types
            main = types.ModuleType("__weir_main__")
            main.__file__ = os.path.join(archive, "weir_main.py")
            # Functions name it by the first name, and it must not run what stands behind `if __name__ == "__main__"`.
            sys.modules["__main__"] = sys.modules["__weir_main__"] = main
            exec(compile(packed.read("weir_main.py"), main.__file__, "exec"), main.__dict__)
        mapper, combiner, reducer = pickle.loads(packed.read("weir_job.pickle"))
    return options, mapper, combiner, reducer


def main(archive):
    os.environ["WEIR_IN_TASK"] = "1"
    source = io.BufferedReader(io.FileIO(os.dup(0), "rb"), 1 << 20)
    sink = io.FileIO(os.dup(1), "wb")
    # What user code reads is nothing, what it prints goes to the log.
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout, sys.stderr = _Lines(sys.stdout), _Lines(sys.stderr)
    code = Runner(lambda: _load_from(archive), source, sink).run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of user code hold nothing up
