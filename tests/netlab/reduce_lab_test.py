"""What the comparison with MPI takes for a failure, with ranks that say what a test has them say: no namespaces, no root."""
import contextlib
import io
import types
import unittest
from unittest import mock

import reduce_lab

HOSTS = 3


class FakeSession:
    """A laboratory in which `answers`, by contender, is what its ranks print, or what is raised."""

    answers = {}

    def __init__(self, *_, **__):
        self.lab = types.SimpleNamespace(port_bytes_per_s=lambda: 1e6)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, contender, calls, _timeout):
        answer = self.answers[contender]
        if isinstance(answer, Exception):
            raise answer
        return answer(calls)


def all_lines(calls, right=True):
    """What ranks print when all is well: a line a call, repeat and rank."""
    return [{"call": index, "repeat": repeat, "right": right, "begin_s": 0.0, "end_s": 1.0}
            for index, call in enumerate(calls) for repeat in range(int(call.rsplit(":", 1)[1])) for _ in range(HOSTS)]


class Measure(unittest.TestCase):
    def measure(self, **answers):
        args = types.SimpleNamespace(rate=1, latency=0, spins=False, repeats=1, contenders=list(answers), forced_repeats=1,
                                     large_repeats=1, timeout=1)
        rows = []
        with mock.patch.object(reduce_lab, "Session", FakeSession), mock.patch.object(FakeSession, "answers", answers), \
                contextlib.redirect_stderr(io.StringIO()):
            failed = reduce_lab.measure(HOSTS, args, ["reduce"], [65536], ["sum"], rows)
        return failed, [row["contender"] for row in rows]

    def test_what_is_right_is_a_row_each(self):
        self.assertEqual(self.measure(weir=all_lines, openmpi=all_lines), ([], ["weir", "openmpi"]))

    def test_a_library_that_fails_is_left_out_and_weir_may_not(self):
        broken = RuntimeError("it broke")
        self.assertEqual(self.measure(weir=all_lines, openmpi=broken), ([], ["weir"]))
        self.assertEqual(self.measure(weir=broken, openmpi=all_lines), (["p=3 turn 0: it broke"], ["openmpi"]))

    def test_what_no_rank_tells_of_is_missed_of_weir(self):
        for some in (lambda calls: [], lambda calls: all_lines(calls)[:-1], lambda calls: all_lines(calls)[:-HOSTS]):
            failed, _ = self.measure(weir=some)
            self.assertIn("not all ranks told of all repeats of reduce:65536:sum", failed[-1])

    def test_a_wrong_result_ends_it(self):
        with self.assertRaisesRegex(RuntimeError, "a wrong result"):
            self.measure(weir=lambda calls: all_lines(calls, right=False))


if __name__ == "__main__":
    unittest.main(verbosity=2)
