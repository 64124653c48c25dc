"""The Python process of a task by itself: what it is given and what it writes. Needs no program of Weir's."""
import io
import os
import sys
import unittest

from weir_process import ROOT

sys.path.insert(0, os.path.join(ROOT, "runtime/client/python/src"))
from weir import _codec, _runner  # noqa: E402


class RunnerTest(unittest.TestCase):
    def code_and_sink(self, mapper, text, combiner, reducer, form):
        given = [_codec.frame(b"H", [_codec.U32.pack(_runner.PROTOCOL), b"m"]),
                 _codec.frame(b"T", [_codec.U64.pack(0), _codec.U32.pack(0), text.encode()]), _codec.frame(b"E", [])]
        sink = io.BytesIO()
        code = _runner.Runner(lambda: ({"format": form}, mapper, combiner, reducer), io.BytesIO(b"".join(given)), sink).run()
        return code, sink

    def failed_mapper(self, mapper):
        """Returns the exit code, and all that was written, of a mapper that gets one line."""
        code, sink = self.code_and_sink(mapper, "line\n", None, _runner.by_key(sum), "typed")
        return code, sink.getvalue()

    def run_mapper(self, mapper, text, combiner=None, reducer=_runner.by_key(sum), form="typed"):
        code, sink = self.code_and_sink(mapper, text, combiner, reducer, form)
        self.assertEqual(code, 0, sink.getvalue()[-500:])
        sink.seek(0)
        frames = list(_codec.read_frames(sink))
        self.assertEqual(frames.pop(), (b"D", b""))
        return frames

    def test_pairs_that_are_large_from_the_first_on_go_alone(self):
        size = 1 << 20
        frames = self.run_mapper(lambda line: [(line, bytes(size))], "".join(f"{i}\n" for i in range(80)))
        self.assertEqual([kind for kind, _ in frames], [b"P"] * 80)
        self.assertLess(max(len(content) for _, content in frames), 2 * size)

    def test_a_combiner_holds_no_more_bytes_than_values(self):
        limit, _runner._COMBINE_BYTES = _runner._COMBINE_BYTES, 1 << 20
        self.addCleanup(setattr, _runner, "_COMBINE_BYTES", limit)
        held = []

        def combiner(key, values):
            values = list(values)
            held.append(len(values))
            yield key, values[0]
        values = {"bytes": lambda i: bytes(10_000), "text": lambda i: "x" * 10_000, "lists": lambda i: [float(i)] * 1000,
                  "dicts": lambda i: {"rows": [(i, "x" * 1000)] * 10}}
        for name, value in values.items():
            with self.subTest(name):
                held.clear()
                self.run_mapper(lambda line, value=value: [("key", value(int(line)))], "".join(f"{i}\n" for i in range(500)), combiner)
                self.assertEqual(sum(held), 500)
                self.assertLess(max(held), 400)

    def test_a_combiner_of_small_values_holds_many(self):
        held = []

        def combiner(key, values):
            held.append(len(list(values)))
            yield key, 1
        self.run_mapper(lambda line: [("key", 1)], "line\n" * 300_000, combiner)
        self.assertEqual(sum(held), 300_000)
        self.assertEqual(len(held), 2)

    def test_what_has_two_elements_and_is_no_pair_is_refused(self):
        self.addCleanup(setattr, sys, "stderr", sys.stderr)
        sys.stderr = io.StringIO()
        for given in [("ab", "cd"), {"ab": 1}, [b"ab"], [{"a", "b"}], [{"a": 1, "b": 2}], [("a", 1), "cd"]]:
            with self.subTest(given):
                code, told = self.failed_mapper(lambda line, given=given: given)
                self.assertEqual(code, 1)
                self.assertIn(b"which is no pair (key, value)", told)
        frames = self.run_mapper(lambda line: [["ab", line], ("cd", line)], "1\n")
        self.assertEqual([pair for _, content in frames for pair in zip(*_codec.decode_pairs(content))], [("ab", "1"), ("cd", "1")])

    def test_counters_begin_a_line_whatever_was_printed_last(self):
        self.addCleanup(_runner._counters.clear)
        self.addCleanup(setattr, sys, "stderr", sys.stderr)
        sys.stderr = said = io.StringIO()

        def mapper(line):
            _runner.count("lines")
            sys.stderr.write("no newline behind " + line)
            return [(line, 1)]
        self.run_mapper(mapper, "a\nb\n")
        self.assertIn("reporter:counter:python,lines,2", said.getvalue().split("\n"))

    def test_counters_follow_at_once_what_ended_its_line(self):
        self.addCleanup(_runner._counters.clear)
        self.addCleanup(setattr, sys, "stdout", sys.stdout)
        self.addCleanup(setattr, sys, "stderr", sys.stderr)
        for printed, between in (("whole line\n", ""), ("no newline", "\n")):
            said = io.StringIO()
            sys.stdout, sys.stderr = _runner._Lines(said), _runner._Lines(said)
            _runner._counters.clear()

            def mapper(line):
                _runner.count("lines")
                print(printed, end="")
                return [(line, 1)]
            self.run_mapper(mapper, "a\n")
            self.assertEqual(said.getvalue(), f"{printed}{between}reporter:counter:python,lines,1\n")

    def test_counters_stay_at_the_most_that_they_hold(self):
        self.addCleanup(_runner._counters.clear)
        self.addCleanup(setattr, sys, "stderr", sys.stderr)
        sys.stderr = said = io.StringIO()

        def mapper(line):
            _runner.count("up", 1 << 62)
            _runner.count("down", -(1 << 62))
            return [(line, 1)]
        self.run_mapper(mapper, "a\nb\nc\n")
        self.assertEqual(sorted(said.getvalue().split()),
                         ["reporter:counter:python,down,-9223372036854775808",
                          "reporter:counter:python,up,9223372036854775807"])

    def test_a_number_that_no_counter_takes_is_refused(self):
        self.addCleanup(_runner._counters.clear)
        self.addCleanup(setattr, sys, "stderr", sys.stderr)
        sys.stderr = said = io.StringIO()

        def mapper(line):
            _runner.count("lines", True)
            _runner.count("seconds", 1.5)
            return []
        code, told = self.failed_mapper(mapper)
        self.assertEqual(code, 1)
        self.assertIn(b"weir.count takes whole numbers; 'seconds' was given 1.5", told)
        self.assertIn("reporter:counter:python,lines,1", said.getvalue().split("\n"))

    def test_pairs_that_grow_are_parted(self):
        # A chunk is as long as those before it said; then values are larger by far.
        limit, _runner._FRAME_BYTES = _runner._FRAME_BYTES, 1 << 20
        self.addCleanup(setattr, _runner, "_FRAME_BYTES", limit)
        number = 40_000

        def mapper(line):
            return ((i, bytes(3000 if i >= number // 2 else 1)) for i in range(number))
        lines = _runner.text(lambda text: _runner.Columns(range(number), ["x" * 3000] * number))
        for form, takes in (("typed", mapper), ("text", lines), ("typed", lines)):
            for reducer in (None, _runner.by_key(len)):
                with self.subTest(form=form, reducer=reducer):
                    frames = self.run_mapper(takes, "line\n", reducer=reducer, form=form)
                    self.assertLess(max(len(content) for _, content in frames), 2 << 20)
                    self.assertGreater(len(frames), 40)
                    self.assertEqual(sum(_codec.U32.unpack_from(content)[0] for _, content in frames), number)
                    if reducer is None and form == "text":
                        text = b"".join(content[4:] for _, content in frames)
                        self.assertEqual(text.decode(), "".join(f"{i}\t{'x' * 3000}\n" for i in range(number)))
                    elif reducer is None:
                        inner = [list(_codec.read_frames(io.BytesIO(content[4:]))) for _, content in frames]
                        keys = [key for frame in inner for _, content in frame for key in _codec.decode_pairs(content)[0]]
                        self.assertEqual(keys, list(range(number)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
