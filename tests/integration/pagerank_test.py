"""pagerank with real processes: against networkx, with input that is none, and with faults while it iterates."""
import json
import math
import os
import random
import re
import signal
import time
import unittest

import oracle_libraries
from faults import FailureTest
from weir_process import Cluster, read_parts, task_pids, task_to_kill, wait_for

SHAPES = (["--workers", "1"], ["--workers", "3", "--slots", "2"], ["--workers", "8"],
          ["--workers", "5", "--mappers", "4"])
STAR_LEAVES = 20_000
# Enough to meet one of them.
FEW_ITERATIONS = 200


def ranks_of(output):
    """(node, rank) by line."""
    return [(int(node), float(rank)) for node, rank in (line.decode().split("\t") for line in read_parts(output))]


class Pagerank(FailureTest):
    def settings(self, **parameters):
        return [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]

    def assert_ranks(self, out, wanted):
        found = ranks_of(out)
        self.assertEqual([node for node, _ in found], [node for node, _ in wanted])
        for (node, rank), (_, other) in zip(found, wanted, strict=True):
            self.assertAlmostEqual(rank, other, delta=1e-9, msg=f"node {node}")
        self.assertAlmostEqual(math.fsum(rank for _, rank in found), 1, delta=1e-12)

    def compare(self, path, nodes, damping=0.85, delimiter=None):
        wanted = oracle_libraries.ask(self, "pagerank", path=path, damping=damping, delimiter=delimiter)
        for shape in SHAPES:
            with self.subTest(path=path, damping=damping, shape=shape):
                out = self.path("out")
                self.assert_ok(self.run_job("pagerank", path, "-o", out, "--overwrite", *shape,
                                            *self.settings(nodes=nodes, damping=damping, tolerance=1e-12, iterations=250)))
                self.assert_ranks(out, wanted)
                self.assert_ok(self.weir("verify", out))

    def test_random_graphs_with_loops_and_parallel_edges_are_networkxs(self):
        rng = random.Random(3)
        for damping, nodes, count in ((0.85, 40, 120), (0.85, 3000, 9000), (0.5, 300, 200)):
            edges = [(rng.randrange(nodes), int(nodes * rng.random() ** 3)) for _ in range(count)]
            edges += edges[:10] + [(7, 7), (nodes - 1, nodes - 1)]
            lines = [f"{a}{rng.choice([' ', chr(9), '   '])}{b}{rng.choice(['', ' # seen'])}\n" for a, b in edges]
            lines.insert(3, "# FROM TO\n\n")
            self.compare(self.write(f"edges{nodes}", "".join(lines)), nodes, damping)
        self.assert_nothing_left()

    def test_a_generated_power_law_graph_is_networkxs(self):
        path = self.path("edges.csv")
        self.assert_ok(self.weir("data", "generate", "pagerank", "--records", "150000", "--skew", "0.6", "--seed", "5",
                                 "-o", path))
        self.assert_ok(self.weir("data", "validate", "pagerank", path, "--any-order"))
        self.compare(path, 100_000, delimiter=",")
        self.assert_nothing_left()

    def test_small_graphs(self):
        for name, text in (("one node", "0 0\n"), ("one edge", "4,2\n"), ("a cycle", "0 1\n1 2\n2 0\n"),
                           ("all dangle but one", "1 2\n1 3\n1 4\n"), ("no newline at the end", "0 1\n1 0")):
            with self.subTest(name):
                self.compare(self.write("edges", text), 10, delimiter="," if "," in text else None)

    def test_the_same_plan_gives_the_same_bytes(self):
        path = self.path("edges.csv")
        self.assert_ok(self.weir("data", "generate", "pagerank", "--records", "30000", "-o", path))
        outs = []
        for name in ("a", "b"):
            out = self.path(name)
            self.assert_ok(self.run_job("pagerank", path, "-o", out, "--workers", "6", "--slots", "2",
                                        *self.settings(nodes=100_000, iterations=5)))
            outs.append(read_parts(out))
        self.assertEqual(*outs)

    def test_what_is_no_edge_list_is_named(self):
        for name, text, said in (("one", "0 1\n3\n", "one node; expected two, 'FROM TO'"),
                                 ("three", "0 1 2.5\n", "more than two nodes"),
                                 ("negative", "0 1\n-1 2\n", "'-1' is no node: ids are integers from 0 to 9"),
                                 ("large", "0 10\n", "--set nodes=N allows more"),
                                 ("word", "home about\n", "'home' is no node"),
                                 ("binary", bytes(range(256)) * 20, "BAD_RECORD"),
                                 ("empty", "", "the input has no edge"),
                                 ("comments", "# 1 2\n\n", "the input has no edge")):
            with self.subTest(name):
                path = self.write(f"{name}.txt", text)
                out = self.path(f"out-{name}")
                refused = self.run_job("pagerank", path, "-o", out, "--workers", "2", *self.settings(nodes=10))
                self.assertEqual(refused.code, 1, refused.err)
                self.assertIn(said, refused.err)
                self.assertFalse(os.path.exists(out))
        path = self.write("mixed", "0 1\nx\n1 0\n")
        self.assert_ok(self.run_job("pagerank", path, "-o", self.path("out"), "--skip-bad", "1", "--workers", "2",
                                    *self.settings(nodes=10)))
        self.assertEqual(ranks_of(self.path("out")), [(0, 0.5), (1, 0.5)])
        for name, value in (("damping", 1.5), ("damping", "nan"), ("tolerance", -1), ("nodes", 0), ("nodes", 2 ** 27 + 1)):
            refused = self.run_job("pagerank", path, "-o", self.path("no"), "--workers", "2", *self.settings(**{name: value}))
            self.assertNotEqual(refused.code, 0)
            self.assertIn(f"parameter '{name}' is '{value}'", refused.err)
        self.assert_nothing_left()


class FaultsWhileItIterates(FailureTest):
    """A star whose ranks swing for ever, so that faults meet it in one of its iterations."""

    def star(self):
        return self.write("star", "".join(f"0 {i}\n{i} 0\n" for i in range(1, STAR_LEAVES + 1)))

    def words(self, out, iterations=2000):
        return ["pagerank", self.star(), "-o", out, "--set", f"nodes={STAR_LEAVES + 1}", "--set", "damping=1", "--set",
                "tolerance=0", "--set", f"iterations={iterations}"]

    def progress_of(self, cluster, job):
        status = self.weir("status", job, "--json", "--master", cluster.address)
        return json.loads(status.out).get("progress", {}) if status.code == 0 else {}

    def start_iterating(self, cluster, out, after=3, iterations=2000):
        """Returns the client that waits, and the job, once it has ended so many iterations."""
        client = self.start("submit", *self.words(out, iterations), "--wait", "--master", cluster.address)

        def job():
            jobs = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
            return next((job["job_id"] for job in jobs if job["state"] == "running"), None)
        name = wait_for(job, 30, "the job runs")
        wait_for(lambda: self.progress_of(cluster, name).get("iteration", 0) >= after, 60, "it iterates")
        self.assertIsNone(client.poll(), "the job ended before the fault")
        return client, name

    def test_a_worker_killed_in_an_iteration_changes_no_rank(self):
        cluster = Cluster(self, workers=3)
        undisturbed = self.path("undisturbed")
        self.assert_ok(cluster.submit(*self.words(undisturbed, FEW_ITERATIONS)))
        for victim in (0, 2):
            out = self.path(f"out{victim}")
            client, _ = self.start_iterating(cluster, out, iterations=FEW_ITERATIONS)
            cluster.workers[victim].kill()
            self.goes_on(client, victim)
            self.restart_workers(cluster, victim)
            # Two workers add up in another order than three.
            for (node, rank), (other, wanted) in zip(ranks_of(out), ranks_of(undisturbed), strict=True):
                self.assertEqual(node, other)
                self.assertAlmostEqual(rank, wanted, delta=1e-12)
        self.run_small_job(cluster, "small-out")
        cluster.stop()
        self.assert_nothing_left()

    def test_a_task_killed_in_an_iteration_is_tried_once_more_elsewhere(self):
        cluster = Cluster(self, workers=2)
        client, _ = self.start_iterating(cluster, self.path("tried"), iterations=FEW_ITERATIONS)
        os.kill(task_to_kill(self.dir), signal.SIGKILL)
        self.assertIn("SIGKILL", self.goes_on(client, "[01]").err)
        out = self.path("out")
        client, _ = self.start_iterating(cluster, out)
        # The job goes on in a task of its own on the other worker, and, killed there in a step of another kind, once more there.
        kills = 0
        while client.poll() is None:
            self.assertLess(kills, 4, "three faults at most")
            tasks = set(task_pids(self.dir))
            os.kill(task_to_kill(self.dir), signal.SIGKILL)
            kills += 1
            wait_for(lambda: client.poll() is not None or (now := set(task_pids(self.dir))) and not now & tasks, 20,
                     "it begins anew, or ends")
        self.assertGreaterEqual(kills, 2)
        self.assert_fails(self.end_in_time(client, 10), 1, "TASK_CRASHED")
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left(out)

    def test_cancel_and_ctrl_c_end_an_iteration(self):
        cluster = Cluster(self, workers=2)
        out = self.path("out")
        client, job = self.start_iterating(cluster, out)
        self.assert_ok(self.weir("cancel", job, "--master", cluster.address))
        self.assertNotEqual(self.end_in_time(client, 10).code, 0)
        client, job = self.start_iterating(cluster, out)
        client.send_signal(signal.SIGINT)
        self.assertNotEqual(self.end_in_time(client, 10).code, 0)
        status = json.loads(self.weir("status", job, "--json", "--master", cluster.address).out)
        self.assertIn("CANCELLED", json.dumps(status).upper())
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left(out)

    def test_ctrl_c_ends_an_embedded_loop(self):
        out = self.path("out")
        client = self.start("run", *self.words(out), "--workers", "2", "--work-dir", self.work)
        # How many of the two workers the plan uses is its own matter: where both share busy cores it may be one.
        wait_for(lambda: task_pids(self.dir), 30, lambda: "tasks run; the client says: " + self.end_and_hear(client))
        time.sleep(2)  # it goes on for much longer
        self.assertIsNone(client.poll(), "the job ended before Ctrl-C")
        client.send_signal(signal.SIGINT)
        self.assertNotEqual(self.end_in_time(client, 10).code, 0)
        self.assert_nothing_left(out)

    def test_waiting_and_watching_say_the_iteration_and_how_much_ranks_change(self):
        cluster = Cluster(self, workers=2)
        out = self.path("out")
        client, job = self.start_iterating(cluster, out)
        progress = self.progress_of(cluster, job)
        self.assertEqual(progress["iterations_max"], 2000)
        # Nearly all the rank goes to the hub and back.
        self.assertGreater(progress["l1_change"], 1)
        watch = self.start("watch", job, "--master", cluster.address)
        time.sleep(3)
        self.assert_ok(self.weir("cancel", job, "--master", cluster.address))
        for shown in (self.end_in_time(client, 10), self.end_in_time(watch, 10)):
            self.assertRegex(shown.err + shown.out.decode(), re.compile(r"iteration \d+ of 2000, l1_change 1\.\d+"))
        cluster.stop()
        self.assert_nothing_left(out)


if __name__ == "__main__":
    unittest.main()
