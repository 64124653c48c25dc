"""Inputs that change while a job runs: the result is of one version of them, or the job says that they changed."""
import os
import random
import threading
import time
import unittest

from weir_process import Cluster, WeirTest, count_words, read_parts

FILES = 6
REPLACEMENTS = 24


class Replacements(WeirTest):
    """Files whose lines name their version, replaced by files of the same size and the same time."""

    def write_version(self, path, version):
        text = f"{version} common words of every line\n" * 60000
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.utime(path, (1_700_000_000, 1_700_000_000))

    def set_up_inputs(self):
        self.inputs = [self.path(f"in{number}.txt") for number in range(FILES)]
        for path in self.inputs:
            self.write_version(path, "old")
            self.write_version(path + ".next", "new")

    def replace_after(self, delay):
        """Replaces every input at once, `delay` s from now; the newer ones are ready."""
        def replace():
            time.sleep(delay)
            for path in self.inputs:
                os.rename(path + ".next", path)
        thread = threading.Thread(target=replace)
        thread.start()
        return thread

    def check_one(self, result, output):
        """The job's counts are those of one version, or it failed by name. Returns what happened."""
        if result.code != 0:
            self.assert_fails(result, 1, "INPUT_CHANGED")
            self.assertFalse(os.path.exists(output))
            return "refused"
        counts = dict(line.rsplit(b"\t", 1) for line in read_parts(output))
        versions = [version for version in (b"old", b"new") if version in counts]
        self.assertEqual(len(versions), 1, f"mixed: {counts}")
        self.assertEqual(int(counts[versions[0]]), FILES * 60000)
        return versions[0].decode()

    def replace_during(self, run):
        """Runs a job again and again, its inputs replaced at random moments of it. Prints how often it ended how."""
        rng = random.Random(20261122)
        self.set_up_inputs()
        seconds = run(self.path("out-first")).seconds
        ends = {"old": 0, "new": 0, "refused": 0}
        for number in range(REPLACEMENTS):
            self.set_up_inputs()
            replacing = self.replace_after(rng.uniform(0, seconds))
            output = self.path(f"out{number}")
            result = run(output)
            replacing.join()
            ends[self.check_one(result, output)] += 1
        print(f"{REPLACEMENTS} replacements within {seconds:.2f} s: {ends}", flush=True)
        self.assertEqual(sum(ends.values()), REPLACEMENTS)
        # Were none of them noticed, none would have met a job at its work.
        self.assertGreater(ends["refused"], 0)

    def test_embedded(self):
        self.replace_during(lambda output: self.run_job("wordcount", *self.inputs, "-o", output, "--workers", "2"))
        self.assert_nothing_left()

    def test_cluster_with_two_slots_a_worker(self):
        cluster = Cluster(self, workers=2, worker_args=("--slots", "2"))
        self.replace_during(lambda output: cluster.submit("wordcount", *self.inputs, "-o", output))
        cluster.stop()
        self.assert_nothing_left()

    def test_inputs_that_stay_are_read_whatever_happens_beside_them(self):
        self.set_up_inputs()
        os.link(self.inputs[0], self.path("linked.txt"))
        output = self.path("out")
        self.assert_ok(self.run_job("wordcount", self.path("linked.txt"), *self.inputs[1:], "-o", output))
        self.assertEqual(sorted(read_parts(output)),
                         sorted(b"%s\t%d" % (word, count) for word, count in count_words(self.inputs).items()))


class CutShort(WeirTest):
    """A file that is cut short while tasks look at it where it lies."""

    ROWS = b"Ulm;12.3\nsome where;-4.5\n"
    CUTS = 24

    def test_at_random_moments(self):
        rng = random.Random(20261125)
        path, text = self.path("rows"), self.ROWS * 4_000_000
        ends = {"whole": 0, "INPUT_CHANGED": 0}
        seconds = 0.0
        for number in range(self.CUTS + 1):
            with open(path, "wb") as file:
                file.write(text)
            # Between rows, so that a job that begins after the cut has nothing to complain of.
            left = rng.randrange(1, len(text) // len(self.ROWS)) * len(self.ROWS)
            cut = threading.Timer(rng.uniform(0, seconds), os.truncate, (path, left))
            if number > 0:
                cut.start()
            out = self.path(f"out{number}")
            result = self.run_job("onebrc", path, "-o", out, "--workers", "2", "--slots", str(1 + number % 2))
            seconds = seconds or result.seconds
            if number > 0:
                cut.join()
            if result.code == 0:
                self.assertEqual(sorted(read_parts(out)), [b"Ulm=12.3/12.3/12.3", b"some where=-4.5/-4.5/-4.5"])
                ends["whole"] += 1
            else:
                self.assert_fails(result, 1, "INPUT_CHANGED", path)
                self.assert_nothing_left(out)
                ends["INPUT_CHANGED"] += 1
        print(f"{self.CUTS} cuts within {seconds:.2f} s: {ends}", flush=True)
        self.assertGreater(ends["INPUT_CHANGED"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
