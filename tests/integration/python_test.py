"""The Python package: its codec against random values, jobs of Weir's own and Python functions here and on a cluster, what
goes wrong in user code, and the wheel.

Scripts of users run as they would: in processes of their own, by Debian's Python, which has cloudpickle and pandas.
"""
import collections
import glob
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
import unittest

from weir_process import BINARY, ROOT, Cluster, WeirTest, count_words, processes_mentioning, read_parts, wait_for, write_words

PACKAGE = os.path.join(ROOT, "runtime/client/python")
PYTHON = "/usr/bin/python3"
sys.path.insert(0, os.path.join(PACKAGE, "src"))
from weir import _codec  # noqa: E402

WORDCOUNT = """
import weir

def mapper(line):
    for word in line.split():
        yield word, 1

def reducer(key, values):
    yield key, sum(values)
"""


class CodecTest(unittest.TestCase):
    """Columns and frames, with nothing else."""

    def draw(self, rng, kinds, depth=0):
        kind = rng.choice(kinds)
        if kind is str:
            return "".join(rng.choice("ab\0\u00e9\u20ac\U0001f600\udc80") for _ in range(rng.randrange(6)))
        if kind is bytes:
            return bytes(rng.choice(b"\0\1\xff a") for _ in range(rng.randrange(6)))
        if kind is int:
            return rng.choice([rng.randrange(-5, 5), rng.randrange(-1 << 63, 1 << 63), rng.randrange(-1 << 200, 1 << 200), -1 << 63])
        if kind is float:
            return rng.choice([0.0, 1.5, -2.25, 1e300, -1e-300, math.inf, -math.inf, rng.random()])
        if kind is bool:
            return rng.random() < 0.5
        if kind is tuple and depth < 3:
            return tuple(self.draw(rng, kinds, depth + 1) for _ in range(rng.randrange(4)))
        if kind is list:
            return [1, {"a": (2, "x")}]
        return None if None in kinds else True

    def same(self, got, wanted):
        self.assertEqual(repr(list(got)), repr(list(wanted)))

    def test_pairs_are_themselves_again(self):
        rng = random.Random(1)
        key_kinds = [[str], [bytes], [int], [float], [bool], [tuple, int, str], [str, int, float, bool, bytes, tuple]]
        for kinds in key_kinds * 60:
            number = rng.randrange(1, 30)
            keys = [self.draw(rng, kinds) for _ in range(number)]
            values = [self.draw(rng, rng.choice([kinds, [list], [None], [str, list, None, float]])) for _ in range(number)]
            content = b"".join(_codec.encode_pairs(keys, values))
            got_keys, got_values = _codec.decode_pairs(content)
            self.same(got_keys, keys)
            self.same(got_values, values)

    def test_what_is_no_key(self):
        for keys, says in (([None], "None"), ([1, None], "None"), ([(1, None)], "None"), ([math.nan], "NaN"),
                           ([(1.0, math.nan)], "NaN"), ([[1]], "list"), ([(1, {})], "dict"), (["a", {1}], "set")):
            with self.assertRaisesRegex(_codec.KeyRefused, says):
                _codec.encode_pairs(keys, keys)

    def test_subclasses_are_keys(self):
        point = collections.namedtuple("Point", "x y")
        keys, values = _codec.decode_pairs(b"".join(_codec.encode_pairs([point(1, "a")], [1])))
        self.same(keys, [(1, "a")])

    def test_equal_keys_of_different_types_are_told_apart(self):
        signatures = [_codec.signature([key]) for key in (1, 1.0, True, (1, 2), (1.0, 2), (1, 2, 3))]
        self.assertEqual(len(set(signatures)), 6)
        self.assertIsNone(_codec.signature([1, 1.0]))
        self.assertIsNone(_codec.signature([(1, 2), (1, 2.0)]))


class PythonTest(WeirTest):
    def env(self, **more):
        return dict(os.environ, TMPDIR=self.work, WEIR_TEST_DIR=self.dir, XDG_STATE_HOME=self.path("state"), WEIR_PROGRAM=BINARY,
                    PYTHONPATH=os.path.join(PACKAGE, "src"), PYTHONDONTWRITEBYTECODE="1", **more)

    def start_python(self, script, *args, env=None, **options):
        path = self.write("user_script.py", textwrap.dedent(script))
        return subprocess.Popen([PYTHON, path, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.env(**(env or {})), cwd=self.dir, **options)

    def python(self, script, *args, code=0, timeout=120, env=None):
        """Runs a script of a user; returns what it printed, as JSON if it is such."""
        result = self.finish(self.start_python(script, *args, env=env), timeout)
        self.assertEqual(result.code, code, f"stdout: {result.out[-500:]}\nstderr: {result.err[-4000:]}")
        return json.loads(result.out) if result.out.strip() else result.err

    def words(self, megabytes=1):
        path = self.path("words")
        write_words(path, megabytes)
        return path, {word.decode(): number for word, number in count_words([path]).items()}

    # Weir's own jobs.

    def test_a_job_of_weirs_own_is_what_the_program_makes(self):
        path, _ = self.words()
        got = self.python("""
            import json, sys, weir
            job = weir.run("wordcount", sys.argv[1], top=3, workers=2)
            print(json.dumps([list(job), list(job.lines()), job.state, job.counters, job.progress, job._repr_html_(), job.svg()[:4]]))
            """, path)
        self.assert_ok(self.run_job("wordcount", path, "-o", self.path("out"), "--set", "top=3", "--workers", "2"))
        lines = [line.decode() for line in read_parts(self.path("out"))]
        self.assertEqual(got[1], lines)
        self.assertEqual(["\t".join(pair) for pair in got[0]], lines)
        self.assertEqual([got[2], got[4], got[6]], ["succeeded", 1.0, "<svg"])
        self.assertIn("<progress", got[5])
        self.assert_nothing_left()

    def test_a_plan_is_a_dict_and_a_picture(self):
        path, _ = self.words()
        got = self.python("""
            import json, sys, weir
            plan = weir.plan("wordcount", sys.argv[1], workers=2, overwrite=True, no_history=True)
            print(json.dumps([plan, plan._repr_svg_()]))
            """, path)
        self.assertIn("steps", json.dumps(got[0]))
        self.assertTrue(got[1].startswith("<svg"), got[1][:40])
        self.assert_nothing_left()

    def test_names_that_begin_as_flags_do(self):
        """As a directory may list them; no `--` can stand before them all, since flags follow."""
        self.write("-input.txt", "a b\nb\n")
        self.write("-stop.txt", "a\n")
        os.mkdir(self.path("-work"))
        got = self.python("""
            import json, pathlib, weir
            def mapper(line):
                with open("stop") as stop, open("-stop.txt") as same:
                    left_out = stop.read().split() + same.read().split()
                for word in line.split():
                    if word not in left_out:
                        yield word, 1
            if __name__ == "__main__":
                here = weir.run("wordcount", ["-input.txt", pathlib.Path("-input.txt"), "-*.txt"], "-out", workers=1, work_dir="-work")
                mapped = weir.run(weir.job(mapper), "-input.txt", files=["-stop.txt#stop", "-stop.txt"])
                plan = weir.plan("wordcount", "-input.txt", workers=1)
                print(json.dumps([dict(here), dict(mapped), "steps" in plan]))
            """)
        self.assertEqual(got, [{"a": "4", "b": "6"}, {"b": 1}, True])
        self.assertEqual(sorted(read_parts(self.path("-out"))), [b"a\t4", b"b\t6"])
        self.assert_nothing_left()

    def test_a_path_may_be_bytes_and_nothing_else_is_one(self):
        self.write("in.txt", "a b\nb\n")
        got = self.python("""
            import json, weir
            here = weir.run("wordcount", b"in.txt", b"out", workers=1)
            refused = []
            for inputs in (3, [3], None):
                try:
                    weir.run("wordcount", inputs)
                except TypeError as error:
                    refused.append(str(error))
            print(json.dumps([dict(here), len(refused), "int" in refused[1]]))
            """)
        self.assertEqual(got, [{"a": "1", "b": "2"}, 3, True])
        self.assertEqual(sorted(read_parts(self.path("out"))), [b"a\t1", b"b\t2"])
        self.assert_nothing_left()

    def test_the_program_tells_its_progress_as_lines_of_json(self):
        path, _ = self.words()
        result = self.run_job("wordcount", path, "-o", self.path("out"), "--json", "--progress-json")
        self.assert_ok(result)
        statuses = [json.loads(line) for line in result.err.splitlines()]
        self.assertGreater(len(statuses), 0)
        for status in statuses:
            self.assertEqual([status["schema"], status["spec"]["job"]], [1, "wordcount"])
        self.assertEqual(statuses[-1]["job_id"], json.loads(result.out)["job_id"])
        self.assertEqual(statuses[-1]["state"], "succeeded")

    # Functions.

    def test_functions_count_words(self):
        path, counts = self.words(2)
        got = self.python(WORDCOUNT + """
import json, sys

@weir.batch
def by_batch(lines):
    for line in lines:
        for word in line.split():
            yield word, 1

@weir.text
def by_text(text):
    words = text.split()
    return weir.Columns(words, [1] * len(words))

def returns_a_list(line):
    return [(word, 1) for word in line.split()] or None

if __name__ == "__main__":
    results = []
    for job in (weir.job(mapper, reducer), weir.job(mapper, reducer, combiner=reducer), weir.job(by_batch, weir.by_key(sum)),
                weir.job(by_text, weir.by_key(sum), weir.by_key(sum)), weir.job(returns_a_list, reducer)):
        results.append(dict(weir.run(job, sys.argv[1], workers=2, slots=2)))
    print(json.dumps(results))
""", path)
        for result in got:
            self.assertEqual(result, counts)
        self.assert_nothing_left()

    def test_pairs_that_the_memory_does_not_hold_go_to_disk(self):
        self.write("input.txt", "".join("%d\n" % (i * 7919 % 100_003) for i in range(300_000)))
        got = self.python("""
            import json, weir
            def mapper(line):
                return [(line + "x" * 30, 1)]
            if __name__ == "__main__":
                results = []
                for options in ({}, {"memory": "8MiB"}):
                    job = weir.run(weir.job(mapper, lambda key, values: [(key, sum(values))]), "input.txt", workers=1, reducers=2, **options)
                    results.append([sum(count for _, count in job), hash(tuple(sorted(job))), job.counters.get("spilled_bytes", 0)])
                print(json.dumps(results))
            """)
        self.assertEqual(got[0][:2], got[1][:2])
        self.assertEqual(got[0][0], 300_000)
        self.assertEqual(got[0][2], 0)
        self.assertGreater(got[1][2], 5_000_000)
        self.assert_nothing_left()

    def test_functions_from_anywhere(self):
        """Closures and lambdas by cloudpickle, with a module beside the script; without it functions of modules and of the script."""
        self.write("beside.py", "def cut(line):\n    return line.split()\n")
        self.write("input.txt", "a b\nb\n")
        script = """
            import json, sys, weir
            import beside
            def top(line):
                return [(word, 1) for word in beside.cut(line)]
            def make(n):
                def mapper(line):
                    for word in beside.cut(line):
                        yield word, n
                return mapper
            if __name__ == "__main__":
                job = weir.job(make(2), lambda key, values: [(key, sum(values))]) if sys.argv[1] == "pickled" else \\
                    weir.job(top, weir.by_key(sum), modules=["beside"])
                try:
                    print(json.dumps(sorted(weir.run(job, "input.txt"))))
                except weir.WeirError as error:
                    print(json.dumps([error.code, str(error)]))
            """
        self.assertEqual(self.python(script, "pickled"), [["a", 2], ["b", 4]])
        self.write("hidden/cloudpickle.py", "raise ImportError('hidden')\n")
        hidden = {"PYTHONPATH": self.path("hidden") + ":" + os.path.join(PACKAGE, "src")}
        env = self.env()
        env.update(hidden)

        def without(*args):
            path = self.write("user_script.py", textwrap.dedent(script))
            out = subprocess.run([PYTHON, path, *args], env=env, cwd=self.dir, stdout=subprocess.PIPE, check=True, timeout=60).stdout
            return json.loads(out)
        self.assertEqual(without("source"), [["a", 1], ["b", 2]])
        code, message = without("pickled")
        self.assertEqual(code, "FUNCTION_NOT_SHIPPABLE")
        self.assertIn("install cloudpickle", message)

    def test_keys_are_in_order_by_type_and_value(self):
        self.write("input.txt", "x\n")
        keys = [False, True, -(1 << 70), -5, 0, 3, 1 << 70, -math.inf, -0.5, 0.0, 2.5, "", "a", "a\0", "ab", "\u00e9", "\U0001f600",
                b"", b"a", (1,), (1, "a"), (1, "b"), (2,)]
        shuffled = keys[:]
        random.Random(3).shuffle(shuffled)
        got = self.python(f"""
            import json, math, weir
            inf = math.inf
            def mapper(line):
                for key in {shuffled!r}:
                    yield key, None
                    yield key, [1, {{"a": 2.5}}]
            def reducer(key, values):
                yield key, list(values)
            if __name__ == "__main__":
                print(json.dumps([repr(pair) for pair in weir.run(weir.job(mapper, reducer), "input.txt", reducers=1)]))
            """)
        self.assertEqual(got, [repr((key, [None, [1, {"a": 2.5}]])) for key in keys])

    def test_equal_keys_of_different_types_stay_apart_when_combined(self):
        self.write("input.txt", "x\n")
        got = self.python("""
            import json, weir
            def mapper(line):
                for key in (1, 1.0, True, (1, 1), (1.0, 1), 1, True):
                    yield key, 1
            if __name__ == "__main__":
                fold = weir.by_key(sum)
                print(json.dumps([repr(pair) for pair in weir.run(weir.job(mapper, fold, fold), "input.txt", reducers=1)]))
            """)
        self.assertEqual(got, ["(True, 2)", "(1, 2)", "(1.0, 1)", "((1, 1), 1)", "((1.0, 1), 1)"])

    def test_groups_longer_than_frames(self):
        """Values of one key in many frames, read whole, in part and not at all."""
        self.write("input.txt", "\n" * 5)
        got = self.python("""
            import itertools, json, weir
            def mapper(line):
                for i in range(60000):
                    yield "whole", i
                    yield "some", i
                    yield "none", i
            def reducer(key, values):
                if key == "whole":
                    yield key, sum(values)
                elif key == "some":
                    yield key, sum(itertools.islice(values, 100))
                else:
                    yield key, 0
            if __name__ == "__main__":
                print(json.dumps(dict(weir.run(weir.job(mapper, reducer), "input.txt", workers=1, reducers=1))))
            """)
        self.assertEqual(got, {"whole": 5 * sum(range(60000)), "some": sum(range(100)), "none": 0})

    def test_without_a_reducer_and_formats(self):
        self.write("input.txt", "b 2\na 1\n")
        got = self.python("""
            import json, sys, weir
            def mapper(line):
                key, value = line.split()
                yield key, (int(value), value)
            if __name__ == "__main__":
                print(json.dumps([list(weir.run(weir.job(mapper, format=form), "input.txt", sys.argv[1] + form, mappers=1))
                                  for form in ("typed", "json", "text")]))
            """, self.path("out-"))
        self.assertEqual(got, [[["b", [2, "2"]], ["a", [1, "1"]]]] * 2 + [[["b", "(2, '2')"], ["a", "(1, '1')"]]])
        self.assertEqual(read_parts(self.path("out-json")), [b'["b", [2, "2"]]', b'["a", [1, "1"]]'])
        self.assertEqual(read_parts(self.path("out-text")), [b"b\t(2, '2')", b"a\t(1, '1')"])
        self.assert_ok(self.weir("verify", self.path("out-typed")))

    def test_text_of_any_bytes(self):
        self.write("input.txt", "gr\u00fc\u00dfe \u65e5\u672c\n".encode() + b"caf\xe9 \xff\n" + "a\r\nb\x0bc\u2028d\n".encode())
        got = self.python(WORDCOUNT + """
import json
def lines(line):
    yield line.encode("utf-8", "surrogateescape").hex(), 1
if __name__ == "__main__":
    print(json.dumps([sorted(k.encode("utf-8", "surrogateescape").hex() for k, _ in weir.run(weir.job(mapper, reducer), "input.txt")),
                      sorted(k for k, _ in weir.run(weir.job(lines), "input.txt"))]))
""")
        words = ["gr\u00fc\u00dfe".encode(), "\u65e5\u672c".encode(), b"caf\xe9", b"\xff", b"a", b"b", b"c", b"d"]
        self.assertEqual(got[0], sorted(word.hex() for word in words))
        self.assertEqual(got[1], sorted([("gr\u00fc\u00dfe \u65e5\u672c").encode().hex(), b"caf\xe9 \xff".hex(), b"a\r".hex(),
                                         "b\x0bc\u2028d".encode().hex()]))

    def test_large_values(self):
        self.write("input.txt", "x\n")
        got = self.python("""
            import json, weir
            def mapper(line):
                yield "text", "\u00e9" * 50_000_000
                yield "bytes", bytes(100_000_000)
            def reducer(key, values):
                for value in values:
                    yield key, (len(value), value[:1] * 2)
            if __name__ == "__main__":
                print(json.dumps([repr(p) for p in weir.run(weir.job(mapper, reducer), "input.txt", workers=1, reducers=1, no_sample=True)]))
            """, timeout=240)
        self.assertEqual(got, ["('bytes', (100000000, b'\\x00\\x00'))", "('text', (50000000, '\u00e9\u00e9'))"])

    def test_files_go_with_the_job(self):
        self.write("input.txt", "a\nb\n")
        self.write("words.txt", "b\n")
        got = self.python("""
            import json, os, weir
            def mapper(line):
                with open("stop") as file:
                    if line not in file.read().split():
                        os.chdir("/")
                        import colorsys  # found whatever the working directory is
                        yield line, 1
                        os.chdir(os.environ["HERE_IT_RUNS"])
            if __name__ == "__main__":
                def mapper(line, before=mapper):
                    os.environ.setdefault("HERE_IT_RUNS", os.getcwd())
                    return list(before(line))
                print(json.dumps(list(weir.run(weir.job(mapper), "input.txt", files="words.txt#stop"))))
            """)
        self.assertEqual(got, [["a", 1]])

    def test_counters_and_print(self):
        self.write("input.txt", "a\nb\n")
        got = self.python("""
            import json, sys, weir
            def mapper(line):
                print("seen", line)
                weir.count("lines")
                print("no newline behind", line, end="", file=sys.stderr)
                yield line, 1
            if __name__ == "__main__":
                job = weir.run(weir.job(mapper, weir.by_key(sum)), "input.txt")
                print(json.dumps([sorted(job), job.counters["python,lines"]]))
            """)
        self.assertEqual(got, [[["a", 1], ["b", 1]], 2])

    def test_pandas(self):
        self.write("input.txt", "a b\nb\n")
        got = self.python(WORDCOUNT + """
import json, sys, types
if __name__ == "__main__":
    job = weir.run(weir.job(mapper, reducer), "input.txt", reducers=1)
    frame = job.to_pandas(("word", "count"))
    # pyarrow is not in Debian: what it would be given.
    sys.modules["pyarrow"] = types.SimpleNamespace(table=lambda columns: columns)
    print(json.dumps([frame.to_dict("list"), job.to_arrow()]))
""")
        self.assertEqual(got, [{"word": ["a", "b"], "count": [1, 2]}, {"key": ["a", "b"], "value": [1, 2]}])

    # On a cluster.

    def test_functions_on_three_workers(self):
        path, counts = self.words(3)
        cluster = Cluster(self, workers=3)
        got = self.python(WORDCOUNT + """
import json, sys
if __name__ == "__main__":
    master, source, out = sys.argv[1:]
    with_master = dict(master=master, no_sample=True)
    ran = weir.run(weir.job(mapper, reducer, reducer), source, out + "1", **with_master)
    job = weir.submit(weir.job(mapper, reducer), source, out + "2", **with_master)
    job._call.remove()  # the functions have gone with the job: no worker reads a file of the caller
    waited = dict(job)
    print(json.dumps([dict(ran), waited, job.state, job.id, job.done()]))
""", cluster.address, path, self.path("out"))
        self.assertEqual(got[0], counts)
        self.assertEqual(got[1], counts)
        self.assertEqual([got[2], got[3][:2], got[4]], ["succeeded", "j-", True])

    def test_a_job_of_a_cluster_is_cancelled(self):
        self.write("input.txt", "x\n")
        cluster = Cluster(self, workers=1)
        got = self.python("""
            import json, sys, time, weir
            def mapper(line):
                time.sleep(600)
            if __name__ == "__main__":
                job = weir.submit(weir.job(mapper), "input.txt", sys.argv[2], master=sys.argv[1])
                while job.state != "running":
                    time.sleep(0.05)
                job.cancel("no longer needed")
                try:
                    job.wait(30)
                except weir.errors.Cancelled as error:
                    print(json.dumps([job.state, str(error)]))
            """, cluster.address, self.path("out"))
        self.assertEqual(got[0], "cancelled")
        self.assertIn("no longer needed", got[1])
        self.assertFalse(os.path.exists(self.path("out")))

    def test_a_job_of_a_cluster_is_waited_for_while_its_master_is_away(self):
        self.write("input.txt", "a\nb\n")
        cluster = Cluster(self, workers=1)
        process = self.start_python("""
            import json, os, sys, time, weir
            from weir import _client
            master, here = sys.argv[1:]
            def until(name):
                while not os.path.exists(os.path.join(here, name)):
                    time.sleep(0.05)
            def mapper(line):
                until("back")
                yield line, 1
            if __name__ == "__main__":
                job = weir.submit(weir.job(mapper), "input.txt", os.path.join(here, "out"), master=master, no_sample=True)
                while job.state != "running":
                    time.sleep(0.05)
                open("running", "w").close()
                until("away")
                seen = []
                for _ in range(3):
                    time.sleep(0.2)
                    seen.append([job.state, job.progress < 1, job.done()])
                try:
                    job.wait(1)
                except TimeoutError:
                    seen.append("waits")
                grace, _client._MASTER_GRACE_SECONDS = _client._MASTER_GRACE_SECONDS, 1
                try:
                    job.wait(30)
                except weir.errors.MasterUnreachable:
                    seen.append("gave up")
                _client._MASTER_GRACE_SECONDS, _client._CANCEL_SECONDS = grace, 1
                try:
                    job.cancel()
                except weir.errors.MasterUnreachable as error:
                    seen.append("the job goes on" in str(error))
                open("looked", "w").close()
                print(json.dumps([seen, grace, sorted(job), job.state]))
            """, cluster.address, self.dir)

        def there(name):
            wait_for(lambda: os.path.exists(self.path(name)) or process.poll() is not None, 60, f"{name} and {cluster.log_text()}")
            if process.poll() is not None:
                self.fail(self.end_and_hear(process))
        there("running")
        cluster.master.kill()
        cluster.master.wait()
        self.write("away", "")
        there("looked")
        cluster.master = cluster.start_master()
        self.write("back", "")
        result = self.finish(process, 60)
        self.assertEqual(result.code, 0, result.err)
        seen, grace, pairs, state = json.loads(result.out)
        self.assertEqual(seen, [["running", True, False]] * 3 + ["waits", "gave up", True])
        self.assertEqual([grace, pairs, state], [600, [["a", 1], ["b", 1]], "succeeded"])

    # What goes wrong.

    def error(self, mapper, text="1\n2\nx\n", more=""):
        self.write("input.txt", text)
        return self.python(f"""
            import json, os, sys, time, weir
            {mapper}
            if __name__ == "__main__":
                try:
                    weir.run(weir.job(mapper, weir.by_key(sum)), "input.txt", no_sample=True{more})
                except weir.WeirError as error:
                    print(json.dumps([type(error).__name__, error.code, error.message, error.worker, error.file, error.offset,
                                      error.stderr, str(error)]))
            """)

    def test_an_exception_names_its_place(self):
        self.write("big.txt", "1\n" * 400000 + "x\n")
        self.write("input.txt", "")
        name, code, message, worker, file, offset, stderr, text = self.python("""
            import json, weir
            def mapper(line):
                yield int(line), 1
            if __name__ == "__main__":
                try:
                    weir.run(weir.job(mapper, weir.by_key(sum)), "big.txt", workers=1, no_sample=True)
                except weir.errors.UserError as error:
                    print(json.dumps([type(error).__name__, error.code, error.message, error.worker, error.file, error.offset,
                                      error.stderr, str(error)]))
            """)
        self.assertEqual([name, code], ["UserError", "USER_ERROR"])
        self.assertIn("mapper raised ValueError: invalid literal for int() with base 10: 'x'", message)
        self.assertEqual(file, self.path("big.txt"))
        # The batch that has the line: it begins before, and is no longer than a reader's block.
        self.assertLessEqual(offset, 800000)
        self.assertGreater(offset, 800000 - (600 << 10))
        self.assertTrue(worker)
        self.assertIn("in mapper", stderr)
        self.assertIn("yield int(line), 1", stderr)
        self.assertNotIn("_runner.py", stderr)
        self.assertNotIn("_codec.py", stderr)
        self.assertIn("big.txt at byte", text)
        self.assert_nothing_left()

    def test_user_code_that_goes_wrong(self):
        for mapper, says in (
                ("def mapper(line): yield None, 1", "a key is None"),
                ("def mapper(line): yield float('nan'), 1", "a key is NaN"),
                ("def mapper(line): yield (1, None), 1", "a key is None"),
                ("def mapper(line): yield [line], 1", "type list"),
                ("def mapper(line): yield line", "is no pair"),
                ("def mapper(line): return 7", "not iterable"),
                ("def mapper(line): sys.exit(0)", "raised SystemExit"),
                ("def mapper(line): os._exit(0)", "ended before it was done"),
                ("def mapper(line): os.abort()", "SIGABRT"),
                ("import nowhere_to_be_found", None)):
            with self.subTest(mapper):
                if says is None:
                    got = self.error("def mapper(line):\n                import nowhere_to_be_found\n                yield line, 1")
                    says = "No module named 'nowhere_to_be_found'"
                else:
                    got = self.error(mapper)
                self.assertEqual(got[:2], ["UserError", "USER_ERROR"])
                self.assertIn(says, got[2] + got[6])

    def test_an_exception_of_a_reducer_names_the_key(self):
        self.write("input.txt", "a\nb\n")
        got = self.python("""
            import json, weir
            def mapper(line):
                yield line, 1
            def reducer(key, values):
                yield key, 1 // (0 if key == "b" else 1)
            if __name__ == "__main__":
                try:
                    weir.run(weir.job(mapper, reducer), "input.txt")
                except weir.errors.UserError as error:
                    print(json.dumps(error.message))
            """)
        self.assertIn("the reducer raised ZeroDivisionError", got)
        self.assertIn("(key 'b')", got)

    def test_errors_have_weirs_names(self):
        got = self.python("""
            import json, weir
            names = []
            for job, path, more in (("wordcount", "nowhere", {}), ("nojob", ".", {}), ("wordcount", ".", {"top": "x"}),
                                    ("wordcount", ".", {"master": "127.0.0.1:1", "output": "o"})):
                try:
                    weir.run(job, path, **more)
                except weir.WeirError as error:
                    names.append([type(error).__name__, error.code])
            print(json.dumps(names))
            """)
        self.assertEqual(got[0], ["InputNotFound", "INPUT_NOT_FOUND"])
        self.assertEqual(got[3], ["MasterUnreachable", "MASTER_UNREACHABLE"])
        self.assertEqual({code for _, code in got[1:3]} - {"INVALID_ARGUMENT", "INVALID_JOB"}, set())
        from weir import _errors
        codes = []
        for header, least in (("runtime/base/job_errors.h", 20), ("jobs/api/step_error.h", 8)):
            with open(os.path.join(ROOT, header), encoding="utf-8") as file:
                found = re.findall(r'string_view k\w+ = "([A-Z_]+)"', file.read())
            self.assertGreater(len(found), least, header)
            codes += found
        self.assertEqual(set(codes) - set(_errors.CODES), set())

    def test_a_program_of_another_version_is_refused(self):
        fake = self.write("weir", '#!/bin/sh\necho \'{"schema": 1, "version": "9.1.0"}\'\n')
        os.chmod(fake, 0o755)
        script = """
            import json, weir
            try:
                weir.run("wordcount", ".")
            except weir.WeirError as error:
                print(json.dumps(error.code))
            """
        self.assertEqual(self.with_program(script, fake), "PROGRAM_VERSION")
        self.assertEqual(self.with_program(script, self.path("nowhere")), "PROGRAM_NOT_FOUND")

    def with_program(self, script, program):
        path = self.write("user_script.py", textwrap.dedent(script))
        out = subprocess.run([PYTHON, path], env=dict(self.env(), WEIR_PROGRAM=program), stdout=subprocess.PIPE, check=True,
                             timeout=60).stdout
        return json.loads(out)

    def test_a_script_without_guard_is_told_so(self):
        self.write("input.txt", "a\n")
        self.write("hidden/cloudpickle.py", "raise ImportError('hidden')\n")
        path = self.write("user_script.py", WORDCOUNT + 'weir.run(weir.job(mapper, reducer), "input.txt")\n')
        env = self.env()
        env["PYTHONPATH"] = self.path("hidden") + ":" + env["PYTHONPATH"]
        done = subprocess.run([PYTHON, path], env=env, cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'put the call behind `if __name__ == "__main__":`', done.stderr)

    def test_ctrl_c_cancels_the_job(self):
        self.write("input.txt", "x\n")
        process = self.start_python("""
            import time, weir
            def mapper(line):
                open("mapping", "w").close()
                time.sleep(600)
            if __name__ == "__main__":
                try:
                    weir.run(weir.job(mapper), "input.txt", "out")
                except KeyboardInterrupt:
                    print('"interrupted"')
            """, env={"HERE": self.dir})
        def mapping():
            return glob.glob(self.path("work", "**", "mapping"), recursive=True)
        wait_for(mapping, 30, lambda: f"mapper started: {process.poll()}")
        process.send_signal(signal.SIGINT)
        result = self.finish(process, 30)
        self.assertEqual(result.out.strip(), b'"interrupted"', result.err)
        self.assert_nothing_left(self.path("out"))

    def test_a_job_here_ends_with_its_process(self):
        self.write("input.txt", "x\n")
        got = self.python("""
            import json, time, weir
            def mapper(line):
                time.sleep(600)
            if __name__ == "__main__":
                job = weir.submit(weir.job(mapper), "input.txt", "out", no_sample=True)
                while job.state != "running":
                    time.sleep(0.05)
                print(json.dumps(job.done()))
            """)
        self.assertIs(got, False)
        self.assert_nothing_left(self.path("out"))

    def weirs(self):
        """Processes of jobs here, whoever else of the test lives."""
        return {pid: cmdline for pid, cmdline in processes_mentioning(self.dir) if cmdline.startswith(BINARY)}

    def kill_weirs(self):
        for pid in self.weirs():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # its parent's end was its own
                pass

    def test_a_job_here_ends_with_its_process_however_that_ends(self):
        self.write("input.txt", "x\n")
        # A fork without an exec has copies of all descriptors, and goes on.
        script = """
            import os, sys, time, weir
            def mapper(line):
                open("mapping", "w").close()
                time.sleep(600)
            if __name__ == "__main__":
                job = weir.submit(weir.job(mapper), "input.txt", *sys.argv[2:], no_sample=True)
                if sys.argv[1] == "forked" and os.fork() == 0:
                    end = time.monotonic() + 60
                    while not os.path.exists("forked-gone") and time.monotonic() < end:
                        time.sleep(0.05)
                    os._exit(0)
                job.wait()
            """
        self.addCleanup(self.kill_weirs)  # where they do not end
        for case, number, output in (("killed", signal.SIGKILL, []), ("ended", signal.SIGTERM, []), ("hung-up", signal.SIGHUP, ["out"]),
                                     ("forked", signal.SIGKILL, [])):
            with self.subTest(case):
                process = self.start_python(script, case, *output, start_new_session=True)
                wait_for(lambda: glob.glob(self.path("work", "**", "mapping"), recursive=True) or process.poll() is not None, 30,
                         "mapper started")
                self.assertTrue(self.weirs(), process.poll())
                process.send_signal(number)
                self.assertEqual(process.wait(30), -number)
                wait_for(lambda: not self.weirs(), 30, lambda: f"the job ended: {self.weirs()}")
                wait_for(lambda: not os.listdir(self.work), 10, lambda: f"removed: {os.listdir(self.work)}")
                self.write(f"{case}-gone", "")
                process.communicate(timeout=30)
                self.assert_nothing_left(self.path("out"))

    def test_a_result_goes_with_a_process_that_is_killed(self):
        self.write("input.txt", "x\n")
        process = self.start_python("""
            import os, sys, time, weir
            job = weir.run("wordcount", "input.txt")
            print(job.output, flush=True)
            time.sleep(600)
            """)
        output = process.stdout.readline().decode().strip()
        self.assertEqual(read_parts(output), [b"x\t1"])
        process.kill()
        process.communicate(timeout=30)
        wait_for(lambda: not os.listdir(self.work), 10, lambda: f"removed: {os.listdir(self.work)}")
        self.assert_nothing_left()

    def test_two_at_once_and_one_in_the_background(self):
        path, counts = self.words()
        got = self.python(WORDCOUNT + """
import json, sys
from concurrent.futures import ThreadPoolExecutor
if __name__ == "__main__":
    job = weir.submit(weir.job(mapper, reducer), sys.argv[1], workers=1)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: dict(weir.run(weir.job(mapper, reducer), sys.argv[1], workers=1)), range(2)))
    print(json.dumps([*both, dict(job.wait(60))]))
""", path)
        self.assertEqual(got, [counts] * 3)
        self.assert_nothing_left()

    def test_progress_in_a_notebook_and_on_a_terminal(self):
        self.write("input.txt", "x\n" * 3)
        got = self.python("""
            import io, json, sys, time, types, weir
            shown = []
            class Handle:
                def update(self, what):
                    shown.append(what)
            def display(what, display_id):
                shown.append(what)
                return Handle()
            ipython = types.ModuleType("IPython")
            ipython.get_ipython = lambda: types.SimpleNamespace(kernel=1)
            ipython.display = types.ModuleType("IPython.display")
            ipython.display.display, ipython.display.HTML = display, lambda text: text
            def mapper(line):
                time.sleep(0.3)
                yield line, 1
            if __name__ == "__main__":
                sys.modules.update({"IPython": ipython, "IPython.display": ipython.display})
                weir.run(weir.job(mapper), "input.txt", workers=1)
                del sys.modules["IPython"]
                sys.stderr = io.StringIO()
                sys.stderr.isatty = lambda: True
                weir.run(weir.job(mapper), "input.txt", workers=1)
                print(json.dumps([shown, sys.stderr.getvalue()]))
            """)
        self.assertIn("<progress", got[0][0])
        self.assertIn("succeeded", got[0][-1])
        self.assertIn("\rweir: ", got[1])
        self.assertTrue(got[1].endswith("\r\x1b[K"))

    # The package.

    def test_the_wheel(self):
        """Built without network, checked by twine, installed for a user who has nothing else."""
        source = self.path("source")
        subprocess.run(["cp", "-r", PACKAGE, source], check=True)
        build = subprocess.run([PYTHON, "-m", "build", "--wheel", "--no-isolation", "-o", self.path("dist"), source], env=self.env(),
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120)
        self.assertEqual(build.returncode, 0, build.stdout[-2000:])
        wheel = glob.glob(self.path("dist", "*.whl"))
        self.assertEqual(len(wheel), 1)
        self.assertLess(os.path.getsize(wheel[0]), 100 << 10)
        check = subprocess.run([PYTHON, "-m", "twine", "check", "--strict", *wheel], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, check=False, timeout=60)
        self.assertEqual(check.returncode, 0, check.stdout)
        subprocess.run([PYTHON, "-m", "zipfile", "-e", wheel[0], self.path("site")], check=True)
        self.write("input.txt", "a b\nb\n")
        path = self.write("user_script.py", WORDCOUNT + """
import json
if __name__ == "__main__":
    print(json.dumps([weir.__file__, weir.__version__, sorted(weir.run(weir.job(mapper, reducer), "input.txt"))]))
""")
        out = subprocess.run([PYTHON, path], env=dict(self.env(), PYTHONPATH=self.path("site")), cwd=self.dir, stdout=subprocess.PIPE,
                             check=True, timeout=60).stdout
        file, version, counts = json.loads(out)
        self.assertEqual(os.path.dirname(file), self.path("site", "weir"))
        self.assertEqual(counts, [["a", 1], ["b", 2]])
        self.assertEqual(version, json.loads(self.weir("version", "--json").out)["version"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
