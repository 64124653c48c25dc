"""Work directories that are missing, or removed while a worker lives."""
import errno
import json
import os
import random
import shutil
import signal
import unittest

from gates import GatedTest
from weir_process import Cluster, count_words, read_parts, wait_for


def unless_gone(_, path, error):
    """The daemon itself removes files of a job that has ended."""
    if not isinstance(error[1], FileNotFoundError):
        raise error[1]


def fill(place):
    with open(os.path.join(place, "ballast"), "wb") as file:
        size = 0
        while free := shutil.disk_usage(place).free:
            try:
                os.posix_fallocate(file.fileno(), size, free)
                size += free
            except OSError as error:
                if error.errno != errno.ENOSPC:  # the daemon took some of it meanwhile
                    raise


class WorkDirectories(GatedTest):
    def remove_work(self, index):
        directory = os.path.join(self.work, f"worker{index}")
        for name in os.listdir(directory):
            shutil.rmtree(os.path.join(directory, name), onerror=unless_gone)

    def test_one_that_is_not_there_is_named(self):
        text = self.write("text", "x y x")
        missing = self.path("nonexist")
        needles = (missing, "does not exist", "--work-dir")
        self.assert_fails(self.weir("run", "wordcount", text, "-o", self.path("o"), "--work-dir", missing), 4, *needles)
        self.assert_fails(self.weir("worker", "--master", "127.0.0.1:1", "--work-dir", missing), 4, *needles)
        self.assert_fails(self.weir("run", "wordcount", text, "-o", self.path("o"), "--work-dir", text), 4, text, "no directory")

    def test_removed_while_nothing_runs(self):
        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        for number in range(3):
            self.remove_work(0)
            self.remove_work(1)
            self.run_small_job(cluster, f"out{number}")
        # A job of three words needs one worker only; the other one looks at its next heartbeat.
        for name in ("worker0.log", "worker1.log"):
            wait_for(lambda: "made a new one" in self.text(self.path(name)), 10, f"{name} tells of a new directory")
        cluster.stop()
        self.assert_nothing_left()

    def test_removed_in_a_job(self):
        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        client, tasks, out = self.start_stalled(cluster)
        self.remove_work(1)
        for pid in tasks:
            os.kill(pid, signal.SIGCONT)
        # Said by the worker, or by a peer that wants a run of it first.
        self.assertRegex(self.goes_on(client, "[01]").err, "was removed while the job ran|did not reach worker")
        self.assert_counted(out, self.path("text.txt"))
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left()

    def test_gone_with_what_is_above_it(self):
        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        directory = os.path.join(self.work, "worker1")
        shutil.rmtree(directory)

        def state(name):
            listed = self.weir("list", "workers", "--json", "--master", cluster.address)
            rows = json.loads(listed.out)["workers"]
            return next((row["state"], row["left_because"]) for row in rows if row["name"] == name)
        wait_for(lambda: state("worker1")[0] == "left", 5, "it leaves")
        self.assertIn(f"{directory} does not exist", state("worker1")[1])
        self.run_small_job(cluster, "out")
        os.mkdir(directory)
        wait_for(lambda: state("worker1")[0] == "alive", 30, "it is back")
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left()

    def cluster_with_small_disks(self, large, small):
        """The first workers have room, the others stand on a megabyte each. Returns these places."""
        places = [self.small_disk(f"full{number}") for number in range(small)]
        cluster = Cluster(self, workers=large, worker_args=["--no-measure"])
        for number, place in enumerate(places, start=large):
            cluster.workers.append(cluster.start_worker(number, ["--no-measure"], place))
        cluster.wait_for_workers(large + small)
        return cluster, places

    def words_that_fill_a_disk(self):
        rng = random.Random(5)
        return self.write("text", " ".join("%x" % rng.getrandbits(60) for _ in range(400000)))

    def test_a_full_one_is_left_out(self):
        cluster, places = self.cluster_with_small_disks(2, 1)
        text = self.words_that_fill_a_disk()
        for number in range(2):
            # Left out of one job, it is there for the next.
            out = self.path(f"out{number}")
            result = cluster.submit("wordcount", text, "-o", out, "--no-sample", "--mappers", "3", "--reducers", "3",
                                    "--plan-method", "even")
            self.assert_ok(result)
            self.assertRegex(result.err, r"(?m)^worker worker2 failed: .*; the plan goes on \([0-9]+ steps? done again\)$")
            self.assertEqual(sorted(read_parts(out)),
                             sorted(b"%s\t%d" % (w, n) for w, n in count_words([text]).items()))
        listed = json.loads(self.weir("list", "workers", "--json", "--master", cluster.address).out)["workers"]
        self.assertEqual([row["state"] for row in listed], ["alive"] * 3)
        wait_for(lambda: not [f for _, _, files in os.walk(os.path.join(places[0])) for f in files if f.endswith(".run")], 10,
                 "its disk is cleared")
        cluster.stop()
        self.assert_nothing_left()

    def test_one_that_fills_up_while_runs_come_in_is_left_out(self):
        place = self.small_disk("filling", 32)
        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        cluster.workers.append(cluster.start_worker(2, ["--no-measure"], os.path.join(place, "worker2")))
        cluster.wait_for_workers(3)
        job = self.submit_sort(cluster, "out", "--mappers", "3", "--reducers", "3", "--plan-method", "even",
                               mapper=self.gated("map"))
        self.all_at_gate(cluster, "map")
        self.open_gate("map", 0, 2)
        wait_for(lambda: len(self.commits(job, "map")) == 2, 30, cluster.log_text)
        # What it has made lies there, and what worker1 makes has no room any more.
        fill(place)
        self.open_gate("map")
        losses = self.succeed(cluster, job)["losses"]
        self.assertEqual({loss["worker"] for loss in losses}, {"worker2"}, losses)
        self.assertIn("No space left on device", losses[0]["why"])
        self.assert_sorted("out")
        cluster.stop()
        self.assert_nothing_left()

    def test_where_all_are_full_a_job_ends_with_numbers(self):
        cluster, _ = self.cluster_with_small_disks(0, 2)
        out = self.path("out")
        result = cluster.submit("wordcount", self.words_that_fill_a_disk(), "-o", out, "--no-sample", "--mappers", "2",
                                "--reducers", "2", "--plan-method", "even", timeout=30)
        self.assert_fails(result, 1, "DISK_FULL")
        for number in range(2):
            self.assertRegex(result.err, rf"worker worker{number} has \d+ bytes free and needs about \d+ by the plan")
        cluster.stop()
        self.assert_nothing_left(out)

    def test_the_default_is_not_among_temporary_files(self):
        cluster = Cluster(self, workers=0)
        worker = self.start("worker", "--master", cluster.address, "--name", "w", "--no-measure")
        cluster.workers.append(worker)
        cluster.wait_for_workers(1)
        self.assertEqual(os.listdir(self.work), [])
        place = os.path.join(self.dir, "state", "weir", "work")
        self.assertEqual([name.rsplit("-", 1)[0] for name in os.listdir(place)], ["weir-worker-w"])
        cluster.stop()
        worker.communicate()
        self.assertEqual(os.listdir(place), [])

    def test_a_stopped_worker_has_left(self):
        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        cluster.workers[1].terminate()
        cluster.workers[1].wait(timeout=15)
        listed = self.weir("list", "workers", "--master", cluster.address).out.decode()
        row = next(line for line in listed.splitlines() if line.startswith("worker1"))
        self.assertIn(" left ", row)
        self.assertIn("it was stopped", row)
        cluster.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
