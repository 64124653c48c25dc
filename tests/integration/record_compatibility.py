"""Makes tests/golden/before anew with the binary in WEIR_BINARY, that of the version whose files are to be kept.

Usage: WEIR_BINARY=.../weir python3 tests/integration/record_compatibility.py. For when a version is released, never to
make compatibility_test.py pass. Upstream: compatibility_cases.py.
"""
import json
import os
import shutil
import signal
import sqlite3
import unittest

import compatibility_cases as cases
from weir_process import Cluster, WeirTest, has_open, task_pids, wait_for

# A journal holds the paths of its jobs: not those of whoever records.
RECORDING = "/tmp/weir-golden"


def keep(name, text):
    path = os.path.join(cases.GOLDEN, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def keep_json(name, value):
    keep(name, json.dumps(value, indent=2) + "\n")


class Record(WeirTest):
    def setUp(self):
        self.assertTrue(os.environ.get("WEIR_BINARY"), "whose files are to be kept?")
        self.dir = RECORDING
        self.work = os.path.join(self.dir, "work")
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.work)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        cases.make_inputs(self)

    def test_plans(self):
        cases.make_holes(self)
        for case in cases.PLANS:
            text, out = cases.embedded_plan(self, case), self.path(case.name)
            cases.run_embedded(self, case, out, "--plan-file", self.write(f"{case.name}.json", text))
            keep(f"plans/{case.name}.json", text)
            keep_json(f"plans/{case.name}.parts.json", cases.manifest_of(out)["parts"])
        keep_json("plans/embedded.sha256.json", cases.embedded_checksums(self))
        for network in cases.NETWORKS:
            self.record_network(network)

    def record_network(self, network):
        case = network.case
        cluster = cases.start_network(self, network)
        text, out = cases.network_plan(self, case, cluster), self.path(case.name)
        plan = self.write(f"{case.name}.plan.json", text)
        self.assert_ok(cluster.submit(case.job, self.path(case.input), "-o", out, "--plan-file", plan))
        keep(f"plans/{case.name}.json", text)
        keep_json(f"plans/{case.name}.parts.json", cases.manifest_of(out)["parts"])
        keep_json(f"plans/{network.name}.sha256.json", cases.network_checksums(self, cluster))
        cluster.stop()

    def test_outputs(self):
        for case in cases.OUTPUTS:
            out, kept = self.path(case.name), os.path.join(cases.GOLDEN, "outputs", case.name)
            cases.run_embedded(self, case, out, *case.flags)
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(out, kept)

    def test_shapes(self):
        out = self.path("out")
        self.assert_ok(self.run_job("weather", self.path("readings.csv"), "-o", out, "--workers", "2"))
        shapes = os.path.join(cases.GOLDEN, "shapes/weir/shapes")
        os.makedirs(os.path.dirname(shapes), exist_ok=True)
        shutil.copy(self.path("state/weir/shapes"), shapes)
        keep("plans/learned-embedded.json", cases.plan_after_shapes(self, self.path("state")))

    def test_journal(self):
        cluster = Cluster(self, workers=2, worker_args=["--no-measure", "--slots", "1"])
        self.assert_ok(self.weir("calibrate", "--seconds", "5", "--master", cluster.address))
        words, readings = self.path("words.txt"), self.path("readings.csv")
        for out in ("counts", "counts-again"):
            self.assert_ok(cluster.submit("wordcount", words, "-o", self.path(out), "--set", "top=3", "--mappers", "2",
                                          "--reducers", "2"))
        bad = self.write("bad.csv", cases.readings_text().replace("S3,2020-02", "S3,bad", 2))
        self.assert_ok(cluster.submit("weather", bad, "-o", self.path("means"), "--reducers", "2,1", "--skip-bad", "5",
                                      "--write", "one", "--codec", "lz4"))
        plan = self.write("plan.json", cases.plan_text(self, "terasort", "records", "--reducers", "2", *cases.FIXED,
                                                       "--master", cluster.address))
        self.assert_ok(cluster.submit("terasort", self.path("records"), "-o", self.path("sorted"), "--plan-file", plan))
        self.assert_fails(cluster.submit("onebrc", readings, "-o", self.path("none")), 1, "BAD_RECORD")
        late = self.submit_stalled(cluster, "late", "--deadline", "2s")
        wait_for(lambda: self.state_of(cluster, late) == "failed", 20, "the deadline passed")
        cancelled = self.submit_stalled(cluster, "cancelled")
        self.assert_ok(self.weir("cancel", cancelled, "--reason", "wrong input", "--master", cluster.address))
        wait_for(lambda: self.state_of(cluster, cancelled) == "cancelled", 20, "it is cancelled")
        running = self.submit_stalled(cluster, "unfinished")
        queued = self.submit(cluster, words, "queued")
        self.assertEqual(self.state_of(cluster, running), "running")
        cluster.master.kill()
        cluster.master.wait()
        self.keep_journal(cluster)
        self.keep_answers([running, queued])

    def submit(self, cluster, source, out, *flags):
        submitted = self.weir("submit", "wordcount", source, "-o", self.path(out), "--json", *flags, "--master",
                              cluster.address)
        self.assert_ok(submitted)
        return json.loads(submitted.out)["job_id"]

    def submit_stalled(self, cluster, out, *flags):
        """A job whose task processes are stopped in the middle of their work."""
        source = self.write("long.txt", cases.words_text() * 200)
        job_id = self.submit(cluster, source, out, *cases.FIXED, *flags)

        def reading():
            pids = [pid for pid in task_pids(self.dir) if has_open(pid, source)]
            return pids if len(pids) == 2 else None
        for pid in wait_for(reading, 10, "both task processes read"):
            os.kill(pid, signal.SIGSTOP)
            # No job of ours prints anything, and logs are to be kept as well.
            with open(f"/proc/{pid}/fd/2", "w", encoding="utf-8") as stderr:
                stderr.write(f"half of {out} is counted\n")
        return job_id

    def state_of(self, cluster, job_id):
        return json.loads(self.weir("status", job_id, "--json", "--master", cluster.address).out)["state"]

    def keep_journal(self, cluster):
        # Folds the log of the killed process into the one file.
        database = sqlite3.connect(cluster.journal, isolation_level=None)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("VACUUM")
        database.close()
        cluster.stop()
        shutil.copy(cluster.journal, cases.JOURNAL)

    def keep_answers(self, unfinished):
        shutil.rmtree(os.path.join(cases.GOLDEN, "journal"), ignore_errors=True)
        cluster = cases.start_on_journal(self)
        keep_json("journal/unfinished.json", unfinished)
        for name, text in cases.answers_from(self, cluster, unfinished):
            keep(f"journal/{name}", text)
        keep("plans/learned-cluster.json", cases.plan_after_journal(self, cluster))
        cluster.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
