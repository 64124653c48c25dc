"""Workers that are asked to leave (SIGTERM) in the middle of a job: what they made is read first, and nothing is made twice."""
import json
import os
import signal
import subprocess
import unittest

from faults import LATE_S
from gates import GatedTest
from trace_check import order_problems
from weir_process import Cluster, wait_for

# kDrainPatience of runtime/app/worker_daemon_process.cc.
DRAIN_S = 30
# Three workers take 4 s and more to move so much so slowly: each sends two sections of 1.4 MB. Smaller ones go in one burst, paced or not.
SHUFFLED_MEGABYTES = 12
SLOW_CHANNEL = "4Mbit/s"


class Drains(GatedTest):
    def start_cluster(self, *master_args):
        return Cluster(self, workers=3, master_args=master_args, worker_args=["--no-measure"])

    def worker(self, cluster, name):
        listed = json.loads(self.weir("list", "workers", "--json", "--master", cluster.address).out)["workers"]
        return next(row for row in listed if row["name"] == name)

    def ask_to_leave(self, cluster, number):
        """Returns once the master knows."""
        cluster.workers[number].send_signal(signal.SIGTERM)
        wait_for(lambda: self.worker(cluster, f"worker{number}")["state"] in ("draining", "left"), 20, cluster.log_text)

    def assert_leaves(self, cluster, number):
        """It ends by itself, with status 0 and in time, and both sides say so."""
        name = f"worker{number}"
        self.assertEqual(cluster.workers[number].wait(timeout=DRAIN_S + LATE_S), 0, self.text(self.path(f"{name}.log")))
        for sentence in ("Worker drains", "Worker stopped"):
            self.assertEqual(len(self.logged(name, sentence)), 1, sentence)
        left = self.worker(cluster, name)
        self.assertEqual((left["state"], left["left_because"]), ("left", "it was stopped"))
        self.assertEqual(os.listdir(os.path.join(self.work, name)), [], "files left")

    def explained(self, cluster, job):
        return json.loads(self.weir("explain", job, "--json", "--master", cluster.address).out)

    def assert_succeeds_without_a_loss(self, cluster, job, output):
        """The result is right, nobody was lost for it, and nothing was done twice. Returns its plan."""
        ended = self.succeed(cluster, job)
        self.assertEqual(ended.get("losses", []), [])
        self.assert_nothing_redone(job)
        self.assert_sorted(output)
        plan = self.explained(cluster, job)
        self.assertEqual(order_problems(plan), [])
        return plan

    def test_in_map(self):
        cluster = self.start_cluster()
        job = self.submit_sort(cluster, "out", "--mappers", "9", "--reducers", "3", mapper=self.gated("map"),
                               reducer=self.gated("reduce"))
        self.all_at_gate(cluster, "map")
        self.ask_to_leave(cluster, 1)
        wait_for(lambda: self.logged("master", "A plan was edited"), 20, cluster.log_text)
        self.assertIsNone(cluster.workers[1].poll(), "it has a map under way")
        self.open_gate("map")
        # While the others wait to reduce: what it made has been read, and it is not kept to the end of the job.
        self.assert_leaves(cluster, 1)
        self.assertEqual(self.status(cluster, job)["state"], "running")
        self.assertEqual([entry["worker"] for entry in
                          self.logged("master", "A worker that is about to leave is needed no more")], ["worker1"])
        self.open_gate("reduce")
        plan = self.assert_succeeds_without_a_loss(cluster, job, "out")
        self.assertIn("worker worker1 is about to leave", "\n".join(plan["notes"]))
        did = [step["kind"] for step in plan["steps"] if plan["workers"][step["worker"]]["name"] == "worker1"]
        self.assertEqual(did, ["map"], "what it had in hand, and no more")
        cluster.stop()
        self.assert_nothing_left()

    def test_in_shuffle(self):
        self.megabytes = SHUFFLED_MEGABYTES
        cluster = self.start_cluster("--channel-rate", SLOW_CHANNEL)
        job = self.submit_sort(cluster, "out", "--mappers", "3", "--reducers", "3", "--plan-method", "even")
        wait_for(lambda: len(self.commits(job, "map")) == 3, 60, cluster.log_text)
        self.ask_to_leave(cluster, 1)
        progress = self.status(cluster, job)["progress"]
        self.assertLess(progress["shuffle_bytes_done"], progress["shuffle_bytes_total"], "too late: nothing tested")
        self.assertEqual(len(self.commits(job, "reduce")), 0)
        self.assert_leaves(cluster, 1)
        plan = self.assert_succeeds_without_a_loss(cluster, job, "out")
        sent = [transfer for transfer in plan["transfers"]
                if plan["workers"][transfer["sender"]]["name"] == "worker1" and transfer["actual"]]
        self.assertGreaterEqual(len({transfer["consumer"] for transfer in sent}), 2, "all others read its run")
        cluster.stop()
        self.assert_nothing_left()

    def test_in_reduce(self):
        cluster = self.start_cluster()
        job = self.submit_sort(cluster, "out", "--mappers", "3", "--reducers", "3", "--plan-method", "even",
                               reducer=self.gated("reduce"))
        self.all_at_gate(cluster, "reduce")
        self.ask_to_leave(cluster, 1)
        self.assertEqual(self.worker(cluster, "worker1")["state"], "draining", "its reduce step is under way")
        self.open_gate("reduce", 1)
        self.assert_leaves(cluster, 1)
        self.assertEqual(self.status(cluster, job)["state"], "running")
        self.open_gate("reduce")
        plan = self.assert_succeeds_without_a_loss(cluster, job, "out")
        did = [step["kind"] for step in plan["steps"] if plan["workers"][step["worker"]]["name"] == "worker1"]
        self.assertEqual(sorted(did), ["map", "reduce"], "what it had in hand it did to its end")
        cluster.stop()
        self.assert_nothing_left()

    def test_a_second_signal_ends_it_at_once_and_others_do_its_work(self):
        cluster = self.start_cluster()
        job = self.submit_sort(cluster, "out", "--mappers", "3", "--reducers", "3", "--plan-method", "even",
                               mapper=self.gated("map"))
        self.all_at_gate(cluster, "map")
        self.ask_to_leave(cluster, 1)
        self.assertIsNone(cluster.workers[1].poll())
        cluster.workers[1].send_signal(signal.SIGTERM)
        # Its gate stays closed: it does not wait for what it has under way.
        self.assert_leaves(cluster, 1)
        self.open_gate("map")
        ended = self.succeed(cluster, job)
        self.assertEqual([(loss["worker"], loss["steps_redone"]) for loss in ended["losses"]], [("worker1", 1)])
        self.assert_sorted("out")
        cluster.stop()
        self.assert_nothing_left()

    def children(self, parent):
        """Process numbers and their states."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    state, above = file.read().rsplit(b")", 1)[1].split()[:2]
            except OSError:
                continue
            if int(above) == parent:
                found[int(pid)] = state
        return found

    def test_as_the_first_process_of_a_container(self):
        """With no init in front of it: it collects what others leave, and leaves by itself when it is asked to."""
        before = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL"]
        tried = subprocess.run([*before, "true"], capture_output=True, text=True)
        if tried.returncode != 0:
            self.skipTest(f"no PID namespace here: {tried.stderr.strip()}")
        cluster = Cluster(self, workers=0)
        cluster.workers.append(cluster.start_worker(0, ["--no-measure"], before=before))
        cluster.wait_for_workers(1)
        first, = self.children(cluster.workers[0].pid)
        for number in range(3):
            self.run_small_job(cluster, f"out{number}")
        # The guardian of each task ends after it.
        wait_for(lambda: b"Z" not in self.children(first).values(), 10, lambda: f"ended and not collected: {self.children(first)}")
        os.kill(first, signal.SIGTERM)
        self.assert_leaves(cluster, 0)
        cluster.stop()
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
