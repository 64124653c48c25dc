"""logreg with real processes beside numpy's gradient descent and scikit-learn's optimum; weights updated by ranges."""
import json
import os
import random
import unittest

import oracle_libraries
import trace_check
from faults import FailureTest
from weir_process import Cluster, read_parts


def write_rows(path, seed, count, features=3, names=None):
    """Rows label,x1,...: two clouds that overlap."""
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        if names:
            file.write(",".join(names) + "\n")
        for _ in range(count):
            label = rng.randrange(2)
            file.write(",".join([str(label), *(repr(rng.gauss((2 * label - 1) * (f + 1) / features, 1)) for f in range(features))]) + "\n")


def write_words(path, seed, count):
    """Rows word,label,word with words of two small vocabularies, some of them missing."""
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(count):
            label = rng.randrange(2)
            file.write(f"{rng.choice(['', 'red', 'green', 'blue'])},{label},w{rng.randrange(30) + 10 * label}\n")


def result_of(output):
    """{name: value} of all parts."""
    lines = read_parts(output)
    values = {name: float(value) for name, value in (line.decode().split(",") for line in lines)}
    assert len(values) == len(lines), f"names that are there twice: {lines[:20]}"
    return values


class Logreg(FailureTest):
    def fit(self, path, out, *options):
        result = self.run_job("logreg", path, "-o", out, *options)
        self.assert_ok(result)
        return result_of(out)

    def assert_near(self, found, loss, intercept, weights, within):
        self.assertEqual(len(found), 3 + len(weights))
        for value, expected in ((found["loss"], loss), (found["intercept"], intercept),
                                *((found[str(i)], weight) for i, weight in enumerate(weights))):
            if expected is not None:
                self.assertAlmostEqual(value, expected, delta=within * (1 + abs(expected)))

    def test_it_is_numpys_gradient_descent_on_any_number_of_workers(self):
        path = self.path("rows.csv")
        write_rows(path, 1, 2000)
        for l2 in (0, 0.1):
            expected = oracle_libraries.ask(self, "gradient_descent", path=path, label=0, rate=0.5, l2=l2, iterations=20)
            for workers in (1, 2, 5):
                found = self.fit(path, self.path(f"out{workers}-{l2}"), "--workers", str(workers), "--set", "columns=4", "--set",
                                 "rate=0.5", "--set", f"l2={l2}", "--set", "iterations=20", "--set", "tolerance=0")
                self.assertEqual(found["rows"], 2000)
                self.assert_near(found, *expected, within=1e-9)
        self.assert_nothing_left()

    def test_hashed_fields_are_numpys_as_well(self):
        path = self.path("words.csv")
        write_words(path, 2, 500)
        expected = oracle_libraries.ask(self, "gradient_descent", path=path, label=1, rate=1, l2=0.01, iterations=15, features=64)
        found = self.fit(path, self.path("out"), "--workers", "3", "--set", "label=2", "--set", "features=64", "--set", "rate=1",
                         "--set", "l2=0.01", "--set", "iterations=15", "--set", "tolerance=0")
        self.assert_near(found, *expected, within=1e-9)

    def test_it_converges_to_scikit_learns_optimum_and_ends_early(self):
        path = self.path("rows.csv")
        write_rows(path, 3, 1500)
        intercept, weights = oracle_libraries.ask(self, "logistic_regression", path=path, label=0, l2=0.05)
        out = self.path("out")
        result = self.run_job("logreg", path, "-o", out, "--workers", "4", "--set", "columns=4", "--set", "rate=1", "--set", "l2=0.05",
                              "--set", "iterations=1000", "--set", "tolerance=1e-14")
        self.assert_ok(result)
        self.assert_near(result_of(out), None, intercept, weights, within=1e-5)
        self.assert_ok(self.weir("verify", out))
        with open(os.path.join(out, "_weir", "plan.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertLess(self.last_update(report), 1000)
        self.assert_nothing_left()

    @staticmethod
    def last_update(report):
        return max(s["layer"] for s in report["steps"] if s["kind"] == "update" and s.get("actual"))

    def by_ranges(self, path, out, *options):
        """Weights of a run that was planned by ranges (many weights), and its report."""
        found = self.fit(path, out, "--workers", "4", "--set", "features=200000", *options)
        with open(os.path.join(out, "_weir", "plan.json"), encoding="utf-8") as file:
            return found, json.load(file)

    def test_weights_are_updated_by_ranges_with_the_same_bits_again_and_as_one_root_would(self):
        path = self.path("rows.csv")
        write_rows(path, 4, 300)
        four = ("--set", "iterations=4", "--set", "tolerance=0")
        found, report = self.by_ranges(path, self.path("out1"), *four)
        self.assertTrue(any("Combined by reduce-scatter and all-gather" in note for note in report["notes"]), report["notes"])
        self.assertEqual(sum(s["kind"] == "reduce" for s in report["steps"]), 4)
        again, _ = self.by_ranges(path, self.path("out2"), *four)
        self.assertEqual(found, again)
        root, rooted = self.by_ranges(path, self.path("out3"), "--combine", "tree", *four)
        self.assertEqual(sum(s["kind"] == "reduce" for s in rooted["steps"]), 1)
        for place, value in found.items():
            self.assertAlmostEqual(value, root[place], delta=1e-12)
        for trace in (report, rooted):
            self.assertGreater(len(trace_check.moved(trace)), 4 * 3, "each iteration moves something")
            self.assertEqual(trace_check.order_problems(trace) + trace_check.port_problems(trace, 1, 1)
                             + trace_check.strict_order_problems(trace), [])

    def test_a_loop_by_ranges_that_converges_ends_while_others_are_told(self):
        path = self.path("rows.csv")
        write_rows(path, 5, 300)
        found, report = self.by_ranges(path, self.path("out"), "--set", "iterations=30", "--set", "tolerance=0.05")
        self.assertTrue(any("Combined by reduce-scatter and all-gather" in note for note in report["notes"]), report["notes"])
        last = self.last_update(report)
        self.assertLess(last, 30)
        root = self.fit(path, self.path("root"), "--workers", "2", "--set", "features=200000", "--set", "tolerance=0", "--combine",
                        "tree", "--set", f"iterations={last}")
        for place, value in found.items():
            self.assertAlmostEqual(value, root[place], delta=1e-12)
        self.assert_nothing_left()

    def test_a_cluster_says_how_far_it_came(self):
        cluster = Cluster(self, workers=3)
        path = self.path("rows.csv")
        write_rows(path, 6, 1000)
        out = self.path("out")
        self.assert_ok(cluster.submit("logreg", path, "-o", out, "--set", "columns=4", "--set", "iterations=5", "--set", "tolerance=0"))
        found = result_of(out)
        jobs = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)
        status = self.weir("status", jobs["jobs"][0]["job_id"], "--json", "--master", cluster.address)
        self.assert_ok(status)
        progress = json.loads(status.out)["progress"]
        self.assertEqual(progress["iterations_max"], 5)
        self.assertAlmostEqual(progress["loss"], found["loss"])
        cluster.stop()
        self.assert_nothing_left()

    def test_what_cannot_be_fitted_is_named(self):
        for name, text, options, said in (
                ("ragged", "1,2\n1\n", ["columns=2"], "expected 2"),
                ("nan", "1,2\n1,nan\n", ["columns=2"], "column 2 is not a finite decimal number"),
                ("label", "1,2\n3,1\n", ["columns=2"], "the label, column 1, is neither 0 nor 1"),
                ("missing", "1,2\n", ["columns=2", "label=5"], "label"),
                ("unsaid", "1,2\n", [], "say how many columns a row has"),
                ("wild", "1,1e300\n0,-1e300\n1,-1e300\n", ["columns=2", "rate=1e10"], "is no finite number"),
                ("empty", "", ["columns=2"], "the input has no row to learn from")):
            path = self.write(f"{name}.csv", text)
            out = self.path(f"out-{name}")
            refused = self.run_job("logreg", path, "-o", out, "--workers", "2", *(w for o in options for w in ("--set", o)))
            self.assertNotEqual(refused.code, 0, name)
            self.assertIn(said, refused.err, name)
            self.assertFalse(os.path.exists(out))
        self.assert_nothing_left()

    def test_generated_rows_with_a_header_of_their_own(self):
        path = self.path("rows.csv")
        self.assert_ok(self.weir("data", "generate", "logreg", "--records", "2000", "-o", path))
        found = self.fit(path, self.path("out"), "--set", "columns=9", "--set", "rate=2", "--set", "iterations=200")
        self.assertEqual(found["rows"], 2000)
        self.assertLess(found["loss"], 0.5)
        named = self.path("named.csv")
        write_rows(named, 7, 100, names=["y", "a", "b", "c"])
        found = self.fit(named, self.path("out-named"), "--set", "header=y,a,b,c", "--set", "label=y")
        self.assertEqual(found["rows"], 100)


if __name__ == "__main__":
    unittest.main()
