"""Several jobs at once on one cluster of real processes."""
import os
import signal
import unittest

from gates import GatedTest
from weir_process import Cluster, count_words, read_parts, wait_for, write_words


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class SeveralJobsTest(GatedTest):
    megabytes = 12

    def setUp(self):
        super().setUp()
        self.short = self.path("short.txt")
        write_words(self.short, 1, seed=11)

    def submit_words(self, cluster, text, output, *more):
        return self.submit(cluster, "wordcount", text, output, *more)

    def submit_gated(self, cluster, output, *more):
        return self.submit_sort(cluster, output, *more, mapper=self.gated("map"))

    def assert_counts(self, output, text):
        expected = sorted(b"%s\t%d" % (word, count) for word, count in count_words([text]).items())
        self.assertEqual(sorted(read_parts(self.path(output))), expected)

    def test_the_oracles_see_what_is_out_of_order_and_what_is_too_much(self):
        with open(self.lines, "rb") as file:
            lines = sorted(file.read().splitlines())
        self.write("swapped/part-00000", b"".join(line + b"\t\n" for line in [lines[1], lines[0], *lines[2:]]))
        with self.assertRaisesRegex(AssertionError, "part-00000 is not in order"):
            self.assert_sorted("swapped")
        counts = b"".join(b"%s\t%d\n" % count for count in count_words([self.short]).items())
        self.write("once/part-00000", counts)
        self.assert_counts("once", self.short)
        for more in (counts, b"of_which_nothing_ends_the_line"):
            self.write("once/part-00001", more)
            with self.assertRaises(AssertionError):
                self.assert_counts("once", self.short)

    def test_a_short_job_ends_while_a_long_one_runs_and_both_are_right(self):
        cluster = Cluster(self, workers=2)
        long = self.submit_gated(cluster, "long")
        self.running(cluster, long)
        self.succeed(cluster, self.submit_words(cluster, self.short, "short"))
        self.assertEqual(self.status(cluster, long)["state"], "running")
        self.open_gate("map")
        self.succeed(cluster, long)
        self.assert_counts("short", self.short)
        self.assert_sorted("long")

    def test_shuffles_at_once_over_the_same_ports_and_one_channel_are_right(self):
        cluster = Cluster(self, workers=3, master_args=["--bisection-channels", "1", "--channel-rate", "200Mbit/s"])
        long = self.submit_gated(cluster, "long", "--reducers", "3")
        self.running(cluster, long)
        jobs = {output: self.submit_sort(cluster, output, "--reducers", "3") for output in ("first", "second")}
        self.open_gate("map")
        for output, job in {"long": long, **jobs}.items():
            self.succeed(cluster, job)
            self.assert_sorted(output)

    def test_a_cancelled_job_leaves_the_other_alone(self):
        cluster = Cluster(self, workers=2)
        stays = self.submit_gated(cluster, "stays")
        goes = self.submit_gated(cluster, "goes")
        self.running(cluster, stays)
        self.running(cluster, goes)
        self.assert_ok(self.weir("cancel", goes, "--master", cluster.address))
        self.assertEqual(self.wait(cluster, goes)["state"], "cancelled")
        self.assertEqual(self.status(cluster, stays)["state"], "running")
        self.open_gate("map")
        self.succeed(cluster, stays)
        self.assert_sorted("stays")
        self.assertFalse(os.path.exists(self.path("goes")))

    def test_all_jobs_go_on_without_a_worker_that_is_lost(self):
        cluster = Cluster(self, workers=3)
        jobs = {output: self.submit_gated(cluster, output, "--reducers", "3") for output in ("first", "second")}
        for job in jobs.values():
            self.running(cluster, job)
        cluster.workers[1].send_signal(signal.SIGKILL)
        self.open_gate("map")
        for output, job in jobs.items():
            ended = self.succeed(cluster, job)
            self.assert_sorted(output)
            self.assertEqual({loss["worker"] for loss in ended["losses"]}, {"worker1"}, "each job says whom it lost")

    def test_twenty_small_jobs_at_once_are_right_and_leave_no_descriptor(self):
        cluster = Cluster(self, workers=2)
        self.succeed(cluster, self.submit_words(cluster, self.short, "before"))
        daemons = [cluster.master.pid, *(worker.pid for worker in cluster.workers)]
        before = {pid: descriptors(pid) for pid in daemons}
        jobs = [self.submit_words(cluster, self.short, f"small{number}") for number in range(20)]
        for number, job in enumerate(jobs):
            self.succeed(cluster, job)
            self.assert_counts(f"small{number}", self.short)
        # Idle connections may stay for a while.
        wait_for(lambda: all(descriptors(pid) <= before[pid] + 2 for pid in daemons), 100,
                 lambda: f"descriptors back: {before}, now {({pid: descriptors(pid) for pid in daemons})}")

    def test_the_queue_goes_by_priority_and_shows_places(self):
        cluster = Cluster(self, workers=2, master_args=["--max-running-jobs", "1"])
        first = self.submit_gated(cluster, "first")
        later = self.submit_words(cluster, self.short, "later")
        urgent = self.submit_words(cluster, self.short, "urgent", "--priority", "3")
        self.assertEqual(self.status(cluster, urgent)["place_in_queue"], 1)
        self.assertEqual(self.status(cluster, urgent)["spec"]["priority"], 3)
        self.assertEqual(self.status(cluster, later)["place_in_queue"], 2)
        listed = self.weir("list", "jobs", "--master", cluster.address)
        self.assertIn(b"queued, place 2", listed.out)
        self.open_gate("map")
        ended = [self.succeed(cluster, job)["ended_unix_ms"] for job in (first, urgent, later)]
        self.assertEqual(ended, sorted(ended))

    def test_memory_that_workers_limit_is_for_one_large_job_and_small_ones(self):
        cluster = Cluster(self, workers=2, worker_args=["--memory", "2GiB"])
        large_text = self.path("large.txt")
        write_words(large_text, 65)
        long = self.submit_gated(cluster, "long")
        self.running(cluster, long)
        second = self.submit_words(cluster, large_text, "second")
        self.succeed(cluster, self.submit_words(cluster, self.short, "short"))
        self.assertEqual(self.status(cluster, second)["state"], "queued", "the memory of its kind is taken")
        self.open_gate("map")
        self.succeed(cluster, long)
        self.succeed(cluster, second)


if __name__ == "__main__":
    unittest.main()
