"""Loops with real processes: kmeans, embedded and on a cluster, beside Lloyd's algorithm by hand."""
import json
import os
import random
import unittest

import oracle_libraries
from faults import FailureTest
from kmeans_by_hand import PlannedKmeans
from weir_process import Cluster, read_parts


def write_points(path, seed, count, dimensions=2, centres=4):
    """Rows around a few centres; returns the points."""
    rng = random.Random(seed)
    points = []
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            centre = i % centres
            point = [10.0 * ((centre * 7 + 3 * d) % 5) + rng.gauss(0, 1) for d in range(dimensions)]
            points.append(point)
            file.write(",".join(repr(value) for value in point) + "\n")
    return points


def result_of(output):
    """(counts, centroids, inertia) of the only part."""
    counts, centroids, inertia = [], [], None
    for line in read_parts(output):
        fields = line.decode().split(",")
        if fields[0] == "inertia":
            inertia = float(fields[1])
            continue
        counts.append(int(fields[1]))
        centroids.append([float(value) for value in fields[2:]])
    return counts, centroids, inertia


def apart(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def lloyd(points, centroids):
    """One iteration: (counts, centroids, inertia)."""
    counts = [0] * len(centroids)
    sums = [[0.0] * len(points[0]) for _ in centroids]
    inertia = 0.0
    for point in points:
        distances = [apart(point, centroid) for centroid in centroids]
        nearest = distances.index(min(distances))
        inertia += distances[nearest]
        counts[nearest] += 1
        sums[nearest] = [a + b for a, b in zip(sums[nearest], point, strict=True)]
    moved = [[value / count for value in total] if count else list(old)
             for total, count, old in zip(sums, counts, centroids, strict=True)]
    return counts, moved, inertia


class Kmeans(FailureTest):
    def cluster_points(self, path, out, *options):
        result = self.run_job("kmeans", path, "-o", out, *options)
        self.assert_ok(result)
        return result

    def assert_near(self, a, b):
        self.assertEqual(a[0], b[0])
        for mine, other in zip(a[1], b[1], strict=True):
            for x, y in zip(mine, other, strict=True):
                self.assertAlmostEqual(x, y, delta=1e-9 * (1 + abs(x)))
        self.assertAlmostEqual(a[2], b[2], delta=1e-9 * (1 + abs(a[2])))

    def test_each_iteration_is_lloyds_and_any_number_of_workers_gives_the_same(self):
        path = self.path("points.csv")
        points = write_points(path, 5, 3000)
        steps = {}
        for iterations in (1, 2, 3):
            out = self.path(f"out{iterations}")
            self.cluster_points(path, out, "--workers", "3", "--set", "k=4", "--set", f"iterations={iterations}",
                                "--set", "tolerance=0")
            steps[iterations] = result_of(out)
        for iterations in (2, 3):
            self.assert_near(steps[iterations], lloyd(points, steps[iterations - 1][1]))
        for workers in (1, 2, 8):
            out = self.path(f"workers{workers}")
            self.cluster_points(path, out, "--workers", str(workers), "--set", "k=4", "--set", "iterations=3",
                                "--set", "tolerance=0")
            self.assert_near(steps[3], result_of(out))
        self.assert_nothing_left()

    def test_eight_workers_give_the_bits_of_the_plan_followed_by_hand_and_plans_differ_by_rounding(self):
        path = self.path("points.csv")
        write_points(path, 11, 4000, dimensions=3)
        with open(path, "rb") as file:
            text = file.read()
        what = ["kmeans", path, "--workers", "8", "--slots", "1", "--set", "k=5", "--set", "dimensions=3", "--set",
                "iterations=6", "--set", "tolerance=0"]
        shapes = [["--mappers", str(mappers)] for mappers in (8, 7, 4, 2, 1)]
        shapes += [["--combine", "auto"], ["--combine", "shuffle"]]
        found = {}
        for i, shape in enumerate(shapes):
            with self.subTest(shape=shape):
                out = self.path(f"out{i}")
                self.assert_ok(self.run_job(*what, "-o", out, *shape))
                plan = json.loads(self.text(os.path.join(out, "_weir/plan.json")))["plan"]
                found[i] = result_of(out)
                by_hand = PlannedKmeans(plan, text, 5)
                self.assertEqual(len(by_hand.mapped), int(shape[1]) if shape[0] == "--mappers" else 8)
                self.assertEqual(found[i], by_hand.run(6), "the same sums in the same order: the same bits")
        for i in found:
            self.assert_near(found[0], found[i])
        self.assert_nothing_left()

    def test_a_loop_that_converges_ends_early(self):
        path = self.path("points.csv")
        points = write_points(path, 6, 2000)
        out = self.path("out")
        self.cluster_points(path, out, "--workers", "4", "--set", "k=3", "--set", "iterations=60", "--set", "tolerance=0")
        found = result_of(out)
        # Nothing moves any more.
        self.assert_near(found, lloyd(points, found[1]))
        self.assert_ok(self.weir("verify", out))
        self.assert_nothing_left()

    def test_it_ends_where_scikit_learn_ends_from_the_same_centroids(self):
        path = self.path("points.csv")
        write_points(path, 11, 2000, dimensions=3)
        found = {}
        for iterations in (1, 300):
            out = self.path(f"out{iterations}")
            self.cluster_points(path, out, "--workers", "3", "--set", "k=4", "--set", "dimensions=3", "--set",
                                f"iterations={iterations}", "--set", "tolerance=0")
            found[iterations] = result_of(out)
        centroids, inertia = oracle_libraries.ask(self, "lloyd", path=path, centroids=found[1][1])
        for mine, theirs in zip(found[300][1], centroids, strict=True):
            for x, y in zip(mine, theirs, strict=True):
                self.assertAlmostEqual(x, y, delta=1e-9 * (1 + abs(y)))
        self.assertAlmostEqual(found[300][2], inertia, delta=1e-9 * inertia)

    def test_a_cluster_runs_a_loop_and_status_says_how_far_it_came(self):
        cluster = Cluster(self, workers=3)
        path = self.path("points.csv")
        points = write_points(path, 7, 2000)
        out = self.path("out")
        self.assert_ok(cluster.submit("kmeans", path, "-o", out, "--set", "k=4", "--set", "iterations=5", "--set",
                                      "tolerance=0"))
        found = result_of(out)
        self.assertEqual(sum(found[0]), len(points))
        jobs = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)
        status = self.weir("status", jobs["jobs"][0]["job_id"], "--json", "--master", cluster.address)
        self.assert_ok(status)
        progress = json.loads(status.out)["progress"]
        self.assertEqual(progress["iterations_max"], 5)
        self.assertAlmostEqual(progress["inertia"], found[2])
        cluster.stop()
        self.assert_nothing_left()

    def test_the_plan_says_what_an_iteration_takes(self):
        path = self.path("points.csv")
        write_points(path, 8, 500)
        result = self.weir("plan", "kmeans", path, "--workers", "4", "--set", "k=4")
        self.assert_ok(result)
        text = b" ".join(result.out.split())
        self.assertIn(b"Each iteration: map ", text)
        self.assertIn(b"all to one and one to all", text)

    def test_what_cannot_be_clustered_is_named(self):
        for name, text, said in (("ragged", "1,2\n3\n", "row of 1 field; expected 2 numbers"),
                                 ("nan", "1,2\nnan,3\n", "field 1 is not a finite number"),
                                 ("few", "1,2\n1,2\n3,4\n", "has only 2 distinct rows of 3"),
                                 ("empty", "", "the input has no row to cluster")):
            path = self.write(f"{name}.csv", text)
            out = self.path(f"out-{name}")
            refused = self.run_job("kmeans", path, "-o", out, "--workers", "2", "--set", "k=3")
            self.assertNotEqual(refused.code, 0, name)
            self.assertIn(said, refused.err)
            self.assertFalse(os.path.exists(out))
        self.assert_nothing_left()

    def test_wrong_parameters_are_wrong_use(self):
        path = self.write("points.csv", "1,2\n")
        for settings, said in ((["tolerance=-1"], "parameter 'tolerance' is '-1'"), (["tolerance=nan"], "parameter 'tolerance' is 'nan'"),
                               (["k=1000000", "dimensions=1000"], "k times (1 + dimensions)")):
            words = [word for setting in settings for word in ("--set", setting)]
            self.assert_fails(self.run_job("kmeans", path, "-o", self.path("out"), *words), 2, "INVALID_JOB", said)
            self.assert_fails(self.weir("plan", "kmeans", path, *words), 2, "INVALID_JOB", said)
        self.assert_nothing_left(self.path("out"))

    def test_a_loop_is_planned_in_one_way(self):
        path = self.path("points.csv")
        write_points(path, 9, 100)
        for options in (("--write", "one"), ("--reducers", "2"), ("--plan-method", "lanes-2"), ("--plan-method", "fetch-all")):
            with self.subTest(options):
                refused = self.run_job("kmeans", path, "-o", self.path("out"), "--workers", "2", *options)
                self.assert_fails(refused, 2, "INVALID_JOB", "is a loop")
                self.assert_fails(self.weir("plan", "kmeans", path, *options), 2, "INVALID_JOB", "is a loop")
        self.assert_nothing_left(self.path("out"))


if __name__ == "__main__":
    unittest.main()
