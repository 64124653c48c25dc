"""Reductions along trees with real processes: plans by hand, run by run --plan-file and submit --plan-file."""
import glob
import json
import os
import signal
import unittest

from faults import ENDS_WITHIN_S, FailureTest
from tree_plan import TreePlan
from weir_process import Cluster, count_words, read_parts, task_pids, wait_for, write_words


def lines_of(output):
    """Sorted by word, whatever part they are from."""
    return sorted(read_parts(output), key=lambda line: line.split(b"\t")[0])


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def descends_from(pid, ancestor):
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = parent_of(pid)
        except OSError:
            return False
    return False


class Trees(FailureTest):
    def tree_plan(self, text, workers, *where, segments=2):
        result = self.weir("plan", "wordcount", text, "--mappers", str(workers), "--reducers", "1", "--method", "even",
                           "--no-sample", "--json", *where)
        self.assert_ok(result)
        tree = TreePlan(json.loads(result.out)["plan"], segments)
        return tree, self.write("tree.json", json.dumps(tree.plan))

    def assert_counts(self, out, text):
        parts = [name for name in os.listdir(out) if name.startswith("part-")]
        self.assertEqual(len(parts), 1, "one root, one file")
        with open(os.path.join(out, parts[0]), "rb") as file:
            lines = file.read().split(b"\n")[:-1]
        self.assertEqual(lines, sorted(lines, key=lambda line: line.split(b"\t")[0]))
        self.assertEqual({word: int(count) for word, count in (line.rsplit(b"\t", 1) for line in lines)},
                         dict(count_words([text])))

    def test_a_tree_of_three_gives_what_the_shuffle_gives(self):
        text = self.path("text.txt")
        write_words(text, 3)
        _, plan = self.tree_plan(text, 3, "--workers", "3")
        tree, shuffle = self.path("tree"), self.path("shuffle")
        self.assert_ok(self.run_job("wordcount", text, "-o", shuffle, "--workers", "3", "--reducers", "3"))
        self.assert_ok(self.run_job("wordcount", text, "-o", tree, "--workers", "3", "--plan-file", plan))
        self.assert_counts(tree, text)
        self.assertEqual(read_parts(tree), lines_of(shuffle))
        self.assert_ok(self.weir("verify", tree))
        self.assert_nothing_left()

    def test_a_tree_of_eight_with_five_segments(self):
        text = self.path("text.txt")
        write_words(text, 4, distinct=20000)
        made, plan = self.tree_plan(text, 8, "--workers", "8", segments=5)
        self.assertEqual(len(made.combine_steps()), 35)
        out = self.path("out")
        self.assert_ok(self.run_job("wordcount", text, "-o", out, "--workers", "8", "--plan-file", plan))
        self.assert_counts(out, text)
        self.assert_nothing_left()

    def test_more_workers_than_words(self):
        text = self.write("text.txt", "a b a\n" * 5)
        _, plan = self.tree_plan(text, 8, "--workers", "8", segments=3)
        out = self.path("out")
        self.assert_ok(self.run_job("wordcount", text, "-o", out, "--workers", "8", "--plan-file", plan))
        self.assertEqual(read_parts(out), [b"a\t10", b"b\t5"])

    def test_a_cluster_runs_a_tree(self):
        cluster = Cluster(self, workers=3)
        text = self.path("text.txt")
        write_words(text, 3)
        _, plan = self.tree_plan(text, 3, "--master", cluster.address)
        out = self.path("out")
        self.assert_ok(cluster.submit("wordcount", text, "-o", out, "--plan-file", plan))
        self.assert_counts(out, text)
        cluster.stop()
        self.assert_nothing_left()

    def test_a_job_that_cannot_combine_is_refused(self):
        text = self.write("text.txt", "".join(f"user{i % 9},{i},page\n" for i in range(900)))
        result = self.weir("plan", "sessions", text, "--workers", "3", "--mappers", "3", "--reducers", "1",
                           "--method", "even", "--json")
        self.assert_ok(result)
        plan = self.write("tree.json", json.dumps(TreePlan(json.loads(result.out)["plan"]).plan))
        refused = self.run_job("sessions", text, "-o", self.path("out"), "--workers", "3", "--plan-file", plan)
        self.assertNotEqual(refused.code, 0)
        self.assertIn("cannot combine", refused.err)

    def test_a_worker_killed_during_the_reduction_comes_back_or_ends_the_job_in_time(self):
        cluster = Cluster(self, workers=3, master_args=["--worker-grace", "8s"])
        for returns in (True, False):
            with self.subTest(returns=returns):
                self.lose_one_in_a_tree(cluster, returns)
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left()

    def lose_one_in_a_tree(self, cluster, returns):
        text = self.path("text.txt")
        write_words(text, 200)  # long enough that all tasks read it at once on a busy machine
        made, plan = self.tree_plan(text, 3, "--master", cluster.address)
        out = self.path(f"out-{returns}")
        client = self.start("submit", "wordcount", text, "-o", out, "--wait", "--plan-file", plan, "--master",
                            cluster.address)
        # The plan's worker 2 stands still while the others combine, so that the reduction cannot end.
        root, lost = (made.plan["worker_names"][index] for index in (0, 2))
        daemon = int(lost.removeprefix("worker"))
        tasks = wait_for(lambda: self.tasks_reading(text, 3), 30, "every task reads the input")
        stalled = [pid for pid in tasks if descends_from(pid, cluster.workers[daemon].pid)]
        self.assertEqual(len(stalled), 1, tasks)
        os.kill(stalled[0], signal.SIGSTOP)

        def combines():
            first = made.combine_steps()[0]
            return glob.glob(os.path.join(self.work, root, "**", f"{first}.1.spec.json"), recursive=True)
        wait_for(combines, 60, "the root combines")
        self.assertIsNone(client.poll(), "the job ended before the fault")
        cluster.workers[daemon].kill()
        if returns:
            self.restart_workers(cluster, daemon)
            self.goes_on(client, daemon)
            self.assert_counts(out, text)
            return
        self.assert_fails(self.end_in_time(client, ENDS_WITHIN_S + 8), 1, "WORKER_LOST", lost)
        self.assertFalse(os.path.exists(out))
        wait_for(lambda: not task_pids(self.dir), 15, "no task is left")
        self.restart_workers(cluster, daemon)


if __name__ == "__main__":
    unittest.main()
