"""Jobs that wait at gates: what tests share that must meet a job at one moment of its work, however fast the machine is."""
import collections
import functools
import glob
import json
import os
import random
import re

from faults import FailureTest
from weir_process import lines_of, wait_for

LINE_BYTES = 33


class GatedTest(FailureTest):
    """Sorts lines by scripts. One that is gated holds its step until its gate opens, and says meanwhile that it lives."""

    megabytes = 3

    @functools.cached_property
    def lines(self):
        """The input: lines that are all different, so that every reducer gets as much."""
        rng = random.Random(13)
        number = (self.megabytes << 20) // LINE_BYTES
        return self.write("lines.txt", b"".join(b"%032x\n" % rng.getrandbits(128) for _ in range(number)))

    def gated(self, gate):
        """The command of a mapper or reducer that waits at a gate."""
        script = self.path("gated.sh")
        if not os.path.exists(script):
            self.write("gated.sh", f"""
                worker=$(pwd | sed -n 's|.*/\\(worker[0-9]*\\)/.*|\\1|p')
                pwd > {self.dir}/at-$1.$$
                until [ -e {self.dir}/open-$1 ] || [ -e {self.dir}/open-$1-$worker ]; do
                    echo reporter:status:waits >&2
                    sleep 0.2
                done
                exec cat""")
        return f"sh {script} {gate}"

    def open_gate(self, gate, *workers):
        """For everybody, or for some workers of a cluster."""
        for name in [f"open-{gate}-worker{number}" for number in workers] or [f"open-{gate}"]:
            self.write(name, "")

    def at_gate(self, gate):
        """Work directories of scripts that have come to a gate, those that have passed it included."""
        return [self.text(path) for path in glob.glob(self.path(f"at-{gate}.*"))]

    def all_at_gate(self, cluster, gate):
        """Waits until each worker of a cluster has come there."""
        names = {f"worker{number}" for number in range(len(cluster.workers))}

        def come():
            return names <= {name for place in self.at_gate(gate) for name in re.findall(r"/(worker\d+)/", place)}
        wait_for(come, 60, lambda: f"all at {gate}: {self.at_gate(gate)}; {cluster.log_text()}")

    @staticmethod
    def sorting(mapper="cat", reducer="cat"):
        """Flags of the job `stream` that sorts lines."""
        return ["--set", f"mapper={mapper}", "--set", f"reducer={reducer}"]

    def submit(self, cluster, job, text, output, *more):
        """Returns the id of the job; nobody waits for it."""
        result = self.weir("submit", job, text, "-o", self.path(output), "--json", "--no-sample", "--master",
                           cluster.address, *more)
        self.assert_ok(result)
        return json.loads(result.out)["job_id"]

    def submit_sort(self, cluster, output, *more, mapper="cat", reducer="cat"):
        return self.submit(cluster, "stream", self.lines, output, *self.sorting(mapper, reducer), *more)

    def status(self, cluster, job):
        result = self.weir("status", job, "--json", "--master", cluster.address)
        self.assert_ok(result)
        return json.loads(result.out)

    def running(self, cluster, job):
        wait_for(lambda: self.status(cluster, job)["state"] == "running", 60, f"{job} runs")

    def wait(self, cluster, job, seconds=120):
        wait_for(lambda: self.status(cluster, job)["ended_unix_ms"] > 0, seconds, f"end of {job}")
        return self.status(cluster, job)

    def succeed(self, cluster, job):
        ended = self.wait(cluster, job)
        self.assertEqual(ended["state"], "succeeded", ended)
        return ended

    def assert_sorted(self, output):
        """The oracle: the lines, each as often as they were there, and in order in each part."""
        with open(self.lines, "rb") as file:
            expected = sorted(file.read().splitlines())
        found = []
        for path in sorted(glob.glob(self.path(output, "part-*"))):
            lines = [line.rstrip(b"\t") for line in lines_of(path)]
            self.assertTrue(lines == sorted(lines), f"{path} is not in order")
            found += lines
        self.assertEqual(sorted(found), expected)
        self.assert_ok(self.weir("verify", self.path(output)))

    def logged(self, daemon, sentence):
        """What a daemon has logged with this sentence, as dictionaries, in order."""
        found = []
        for line in self.text(self.path(f"{daemon}.log")).splitlines():
            try:
                entry = json.loads(line)
            except ValueError:  # not whole yet, or of a library
                continue
            if entry.get("msg") == sentence:
                found.append(entry)
        return found

    def commits(self, job, kind=""):
        """Steps of a job by how often the master has seen them done."""
        return collections.Counter(entry["step"] for entry in self.logged("master", "Step committed")
                                   if entry["job"] == job and entry["step"].startswith(kind))

    def assert_nothing_redone(self, job):
        again = {step: times for step, times in self.commits(job).items() if times > 1}
        self.assertEqual(again, {}, "done again")
