"""Runs that are damaged or gone on a worker's disk: fetched again, made again, or done without the worker - and right."""
import glob
import json
import os
import signal
import unittest

from gates import GatedTest
from weir_process import Cluster, has_open, task_pids, wait_for

SPOILT_BYTES = 64


def spoil(path, offset):
    """Turns bytes of a file in place, as a disk does."""
    mode = os.stat(path).st_mode
    os.chmod(path, mode | 0o200)
    with open(path, "r+b") as file:
        file.seek(offset)
        turned = bytes(byte ^ 0xFF for byte in file.read(SPOILT_BYTES))
        file.seek(offset)
        file.write(turned)
    os.chmod(path, mode)


class DamagedRuns(GatedTest):
    def start_gated(self):
        cluster = Cluster(self, workers=3, worker_args=["--no-measure"])
        job = self.submit_sort(cluster, "out", "--mappers", "3", "--reducers", "3", "--plan-method", "even",
                               mapper=self.gated("map"))
        self.all_at_gate(cluster, "map")
        return cluster, job

    def files_of(self, number, kind):
        """What lies on a worker: "runs" that it made, sections that it has "received"."""
        return glob.glob(os.path.join(self.work, f"worker{number}", "*", "jobs", "*", kind, "*"))

    def unread_run(self, cluster, number):
        """The run of a worker whose map has just ended, and which nobody can ask for it: its daemon stands still."""
        cluster.workers[number].send_signal(signal.SIGSTOP)
        self.open_gate("map")

        def written():
            runs = [path for path in self.files_of(number, "runs") if path.endswith(".run") and os.path.getsize(path) > 0]
            return [path for path in runs if not any(has_open(pid, path) for pid in task_pids(self.dir))]
        found = wait_for(written, 30, lambda: f"a run among {self.files_of(number, '*')}")
        self.assertEqual(len(found), 1)
        return found[0]

    def ends_right(self, cluster, job):
        """Returns (worker, why) of all that was lost on the way, as `weir status` tells it."""
        ended = self.succeed(cluster, job)
        self.assert_sorted("out")
        told = self.weir("status", job, "--master", cluster.address).out.decode()
        losses = [(loss["worker"], loss["why"]) for loss in ended.get("losses", [])]
        for worker, why in losses:
            self.assertIn(f"worker {worker} {why}", told)
        cluster.stop()
        self.assert_nothing_left()
        return losses

    def reducer_of(self, cluster, job, worker):
        """Which of the reducers is on a worker: sections lie in a run in this order."""
        plan = json.loads(self.weir("explain", job, "--json", "--master", cluster.address).out)
        return next(step["index"] for step in plan["steps"]
                    if step["kind"] == "reduce" and plan["workers"][step["worker"]]["name"] == worker)

    def test_a_run_that_is_damaged_where_it_was_made_is_fetched_again_and_then_made_again(self):
        cluster, job = self.start_gated()
        run = self.unread_run(cluster, 1)
        # The middle of one of three sections.
        section = self.reducer_of(cluster, job, "worker2")
        spoil(run, (2 * section + 1) * os.path.getsize(run) // 6)
        cluster.workers[1].send_signal(signal.SIGCONT)
        losses = self.ends_right(cluster, job)
        # Who had received it whole cannot know whose disk it was.
        self.assertEqual([worker for worker, _ in losses], ["worker2", "worker1"], losses)
        self.assertIn("gets what it had read once more: ", losses[0][1])
        self.assertIn("made a run that is made again: ", losses[1][1])
        self.assertGreater(sum(self.commits(job, "map").values()), 3)

    def test_a_section_that_is_damaged_where_it_was_received_is_fetched_again(self):
        cluster, job = self.start_gated()
        # One reducer has the section of worker1 and cannot begin before that of worker2 has come.
        self.open_gate("map", 0, 1)
        wait_for(lambda: len(self.commits(job, "map")) == 2, 30, cluster.log_text)
        received = wait_for(lambda: [path for path in self.files_of(0, "received") if os.path.getsize(path) > 2 * SPOILT_BYTES],
                            30, lambda: f"a section among {self.files_of(0, '*')}")
        spoil(received[0], SPOILT_BYTES)
        self.open_gate("map")
        losses = self.ends_right(cluster, job)
        self.assertEqual([worker for worker, _ in losses], ["worker0"], losses)
        self.assertIn("gets what it had read once more: ", losses[0][1])
        self.assertEqual(set(self.commits(job, "map").values()), {1}, "nothing is made again")

    def test_a_run_that_is_gone_is_made_again(self):
        cluster, job = self.start_gated()
        os.unlink(self.unread_run(cluster, 1))
        cluster.workers[1].send_signal(signal.SIGCONT)
        losses = self.ends_right(cluster, job)
        self.assertEqual({worker for worker, _ in losses}, {"worker1"}, losses)
        self.assertGreater(sum(self.commits(job, "map").values()), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
