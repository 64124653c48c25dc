"""histogram, as processes, against numpy: counts and edges, numbers on the edges included."""
import random
import unittest

import oracle_libraries
from weir_process import Cluster, WeirTest, read_parts

SHAPES = (["--workers", "1"], ["--workers", "3", "--slots", "2"], ["--workers", "4", "--reducers", "3"],
          ["--workers", "2", "--mappers", "5", "--plan-method", "even"])


class Histogram(WeirTest):
    def settings(self, bins, low, high, *more):
        return [word for one in (f"bins={bins}", f"min={low!r}", f"max={high!r}", "show=0", *more)
                for word in ("--set", one)]

    def lines_of(self, *args):
        out = self.path("out")
        self.assert_ok(self.run_job("histogram", *args, "-o", out, "--overwrite"))
        self.assert_ok(self.weir("verify", out))
        return read_parts(out)

    def compare(self, lines, path, column, bins, low, high):
        counts, edges, below, above = oracle_libraries.ask(self, "histogram", path=path, column=column, bins=bins,
                                                           low=low, high=high)
        rows = sorted(((float(begin), float(end), int(count)) for begin, end, count in
                       (line.decode().split("\t") for line in lines)), key=lambda row: row[:2])
        self.assertEqual([row[2] for row in rows], [below, *counts, above])
        self.assertEqual([row[0] for row in rows[1:]], edges)
        self.assertEqual([row[1] for row in rows[:-1]], edges)

    def test_numbers_on_and_beside_the_edges(self):
        rng = random.Random(9)
        for bins, low, high in ((10, 0.0, 1.0), (7, -0.3, 0.7), (1000, -5.0, 1e6), (3, 1e-5, 2e-5)):
            width = (high - low) / bins
            numbers = [low + i * width for i in range(bins + 1)] + [low, high, low - width, high + width, 0.0, -0.0]
            numbers += [number * factor for number in numbers for factor in (1 + 2.0 ** -52, 1 - 2.0 ** -53)]
            numbers += [rng.uniform(low - width, high + width) for _ in range(20_000)]
            rng.shuffle(numbers)
            rows = [f"{i},{number!r}\n" for i, number in enumerate(numbers)] + ["none,\n"]
            path = self.write("numbers.csv", "".join(rows))
            for shape in SHAPES:
                with self.subTest(bins=bins, low=low, high=high, shape=shape):
                    lines = self.lines_of(path, *self.settings(bins, low, high, "column=2"), *shape)
                    self.compare(lines, path, 1, bins, low, high)

    def test_generated_rows_on_a_cluster(self):
        path = self.path("rows.csv")
        self.assert_ok(self.weir("data", "generate", "histogram", "--records", "200000", "-o", path))
        self.assert_ok(self.weir("data", "validate", "histogram", path, "--any-order"))
        cluster = Cluster(self, workers=3)
        out = self.path("out-cluster")
        self.assert_ok(cluster.submit("histogram", path, "-o", out, *self.settings(5000, 100.0, 900.0)))
        cluster.stop()
        self.compare(read_parts(out), path, 0, 5000, 100.0, 900.0)
        self.assert_nothing_left()

    def test_bad_input_and_wrong_parameters(self):
        path = self.write("rows.csv", "x,y\n1,0.5\n2,nan\n3\n4,inf\n5,\n6,7\n")
        out = self.path("none")
        named = ["--set", "header=x,y", "--set", "column=y"]
        self.assert_fails(self.run_job("histogram", path, "-o", out, *named), 1, "BAD_RECORD",
                          "column y is not a finite decimal number", "at byte 10")
        self.assertEqual(self.lines_of(path, *named, "--set", "bins=1", "--skip-bad", "3"),
                         [b"-inf\t0\t0", b"0\t1\t1", b"1\tinf\t1"])
        self.assertEqual(self.lines_of(self.write("empty.csv", ""), "--set", "bins=1"),
                         [b"-inf\t0\t0", b"0\t1\t0", b"1\tinf\t0"])
        for setting, words in (("min=1", "'max' must be greater"), ("max=nan", "'max' is 'nan'"), ("bins=0", "bins"),
                               ("bins=ten", "bins"), ("column=z", "'column' is 'z'"), ("edges=3", "edges")):
            with self.subTest(setting=setting):
                self.assert_fails(self.run_job("histogram", path, "-o", out, "--set", setting), 2, words)
                self.assert_nothing_left(out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
