"""distinct and quantiles, as processes, against independent libraries: DataSketches, DDSketch of its authors, numpy."""
import json
import random
import unittest

import oracle_libraries
from weir_process import Cluster, WeirTest, read_parts

# Of 2^14 registers.
STANDARD_ERROR = 1.04 / 2 ** 7
SHAPES = (["--workers", "1"], ["--workers", "2", "--slots", "2"], ["--workers", "4", "--reducers", "3"],
          ["--workers", "3", "--mappers", "5", "--plan-method", "even"])


class SketchTest(WeirTest):
    def lines_of(self, *args):
        out = self.path("out")
        self.assert_ok(self.run_job(*args, "-o", out, "--overwrite", "--set", "show=0"))
        self.assert_ok(self.weir("verify", out))
        return sorted(read_parts(out))

    def same_lines_for_all_shapes(self, *args):
        lines = self.lines_of(*args, *SHAPES[0])
        for shape in SHAPES[1:]:
            with self.subTest(shape=shape):
                self.assertEqual(self.lines_of(*args, *shape), lines)
        return lines

    def generate(self, job, records, *args):
        path = self.path(job + ".csv")
        self.assert_ok(self.weir("data", "generate", job, "--records", str(records), "-o", path, *args))
        self.assert_ok(self.weir("data", "validate", job, path, "--any-order"))
        return path


class Distinct(SketchTest):
    def test_counts_of_one_to_a_million_values(self):
        rng = random.Random(11)
        rows = []
        for size in (1, 2, 10, 100, 1000, 1023, 1024, 1025, 2000, 5000, 20_000, 100_000, 1_000_000):
            values = [rng.getrandbits(60) for _ in range(size)]
            rows += [f"n{size},{value}\n" for value in values]
            rows += [f"n{size},{value}\n" for value in values[:5000]]  # again
        rng.shuffle(rows)
        path = self.write("values.csv", "".join(rows))
        lines = self.same_lines_for_all_shapes("distinct", path, "--set", "key=1", "--set", "column=2")
        counts = {key: int(count) for key, count in (line.decode().split("\t") for line in lines)}
        oracle = oracle_libraries.ask(self, "distinct", path=path)
        self.assertEqual(len(lines), len(oracle))
        self.assertEqual(sorted(counts), sorted(oracle))
        for key, (exact, estimate) in oracle.items():
            with self.subTest(key=key):
                if exact <= 1024:
                    self.assertEqual(counts[key], exact)
                self.assertLess(abs(counts[key] - exact), 3 * STANDARD_ERROR * exact)
                # Two sketches with hashes of their own.
                self.assertLess(abs(counts[key] - estimate), 3 * 2 ** 0.5 * STANDARD_ERROR * exact)

    def test_generated_rows_on_a_cluster(self):
        path = self.generate("distinct", 300_000, "--skew", "0.5")
        oracle = oracle_libraries.ask(self, "distinct", path=path)
        cluster = Cluster(self, workers=3)
        out = self.path("out-cluster")
        self.assert_ok(cluster.submit("distinct", path, "-o", out, "--set", "key=user", "--set", "column=item",
                                      "--set", "header=user,item"))
        lines = sorted(read_parts(out))
        cluster.stop()
        self.assertEqual(self.lines_of("distinct", path, "--set", "key=1", "--set", "column=2"), lines)
        self.assertEqual(len(lines), len(oracle))
        errors = []
        for line in lines:
            key, count = line.decode().split("\t")
            errors.append((int(count) - oracle[key][0]) / oracle[key][0])
        # A hundred at once: each within four standard errors, together without a bias.
        self.assertLess(max(abs(error) for error in errors), 4 * STANDARD_ERROR)
        self.assertLess(abs(sum(errors) / len(errors)), 3 * STANDARD_ERROR / len(errors) ** 0.5)
        self.assert_nothing_left()

    def test_bad_input_and_wrong_parameters(self):
        path = self.write("rows.csv", "a,b\n1,2\n1\n1,2,3\n3,2\n")
        out = self.path("out")
        self.assert_fails(self.run_job("distinct", path, "-o", out, "--set", "columns=2"), 1, "BAD_RECORD",
                          "expected 2 fields", "at byte 8")
        self.assertEqual(self.lines_of("distinct", path, "--set", "header=a,b", "--skip-bad", "2"), [b"a\t2", b"b\t1"])
        self.assertEqual(self.lines_of("distinct", self.write("empty.csv", ""), "--set", "columns=2"), [])
        out = self.path("none")
        for settings, words in ((["columns=two"], "columns"), (["colum=1"], "column"), (["key=1"], "needs 'column'"),
                                ([], "--set columns=N"), (["column=c", "header=a,b"], "a name of the header"),
                                (["column=3", "columns=2"], "from 1 to 2")):
            with self.subTest(settings=settings):
                args = [word for one in settings for word in ("--set", one)]
                self.assert_fails(self.run_job("distinct", path, "-o", out, *args), 2, words)
                self.assert_nothing_left(out)


class Quantiles(SketchTest):
    PERCENTILES = [0, 1, 10, 25, 50, 75, 90, 99, 99.9, 100]

    def compare(self, lines, path):
        oracle = oracle_libraries.ask(self, "quantiles", path=path, percentiles=self.PERCENTILES)
        self.assertEqual(sorted(line.decode().split("\t")[0] for line in lines), sorted(oracle))
        for line in lines:
            key, count, *found = line.decode().split("\t")
            exact_count, expected = oracle[key]
            self.assertEqual(int(count), exact_count)
            self.assertEqual(len(found), len(expected))
            for percentile, text, (exact, sketched) in zip(self.PERCENTILES, found, expected, strict=True):
                with self.subTest(key=key, percentile=percentile):
                    # Six digits are printed.
                    self.assertLessEqual(abs(float(text) - exact), (0.01 + 1e-6) * abs(exact))
                    # Two sketches with bins of their own.
                    self.assertLessEqual(abs(float(text) - sketched), 0.0202 * abs(exact))

    def settings(self):
        percentiles = ",".join(str(p) for p in self.PERCENTILES)
        return ["--set", "key=1", "--set", "column=2", "--set", f"percentiles={percentiles}"]

    def test_generated_numbers_of_all_signs(self):
        path = self.generate("quantiles", 200_000, "--skew", "0.7")
        lines = self.same_lines_for_all_shapes("quantiles", path, *self.settings())
        self.assertEqual(len(lines), 100)
        self.compare(lines, path)

    def test_distributions(self):
        rng = random.Random(5)
        draws = {"normal": lambda: rng.gauss(0, 1), "lognormal": lambda: rng.lognormvariate(0, 3),
                 "pareto": lambda: rng.paretovariate(1), "uniform": lambda: rng.uniform(-1e-3, 1e6),
                 "constant": lambda: -7.25, "negative": lambda: -rng.expovariate(1)}
        rows = [f"{name},{draw()!r}\n" for name, draw in draws.items() for _ in range(20_001)]
        rows += ["one,3.5\n", "zero,0\n", "zero,-0.0\n", "zero,0\n"]
        rng.shuffle(rows)
        path = self.write("numbers.csv", "".join(rows))
        self.compare(self.same_lines_for_all_shapes("quantiles", path, *self.settings()), path)

    def test_bad_input_and_wrong_parameters(self):
        path = self.write("rows.csv", "a,b\n1,2\n1,nan\n1\n3,inf\n,5\n")
        out = self.path("out")
        self.assert_fails(self.run_job("quantiles", path, "-o", out, "--set", "header=a,b"), 1, "BAD_RECORD",
                          "column b is not a finite decimal number", "at byte 8")
        result = self.run_job("quantiles", path, "-o", out, "--set", "header=a,b", "--skip-bad", "3", "--json",
                              "--set", "percentiles=0,100")
        self.assert_ok(result)
        self.assertEqual(sorted(read_parts(out)), [b"a\t1\t1\t1", b"b\t2\t2\t5"])
        counters = json.loads(result.out)["counters"]
        self.assertEqual((counters["numbers"], counters["missing_numbers"], counters["header_lines"],
                          counters["bad_records"]), (3, 1, 1, 3))
        self.assertEqual(self.lines_of("quantiles", self.write("empty.csv", ""), "--set", "columns=2"), [])
        out = self.path("none")
        for setting in ("percentiles=", "percentiles=50,101", "percentiles=p50", "percentiles=0.0000001"):
            with self.subTest(setting=setting):
                self.assert_fails(self.run_job("quantiles", path, "-o", out, "--set", "columns=2", "--set", setting),
                                  2, "percentiles")
                self.assert_nothing_left(out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
