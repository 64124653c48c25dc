"""How streaming jobs end: what goes wrong is named with worker, file, place and last words, and nothing is left running,
whoever ends them; what scripts say of themselves is seen. As `weir streaming` and as `weir run stream`."""
import json
import os
import signal
import sys

import beside_each_other
from weir_process import Cluster, WeirTest, processes_mentioning, read_parts, wait_for

PYTHON = sys.executable


class StreamingEnds(WeirTest):
    def script(self, name, text):
        path = self.write(name, f"#!{PYTHON}\n{text}")
        os.chmod(path, 0o755)
        return path

    def sleeper(self):
        """A mapper that starts a process of its own and never ends."""
        return f"bash -c 'read line; sleep 1000 & sleep 1000; echo {self.dir}'"

    def wait_for_sleepers(self, count=2):
        wait_for(lambda: len([c for _, c in processes_mentioning(self.dir) if c.startswith("sleep")]) >= count, 30,
                 "scripts run")

    def texts(self, count=4, lines=20000):
        for i in range(count):
            self.write(f"in/{i}", f"line of {i}\n" * lines)
        return self.path("in")

    # What goes wrong has a name, in both forms of the command.

    def assert_named(self, mapper, *says, options=(), properties="", text="some line\n" * 100000):
        source = self.write("in", text)
        out = self.path("out")
        ways = (["streaming", "-input", source, "-output", out, "-mapper", mapper, *options, "--workers", "1"],
                ["run", "stream", source, "-o", out, "--set", f"mapper={mapper}", "--set", f"properties={properties}",
                 "--workers", "1"])
        for words in ways:
            result = self.weir(*words, "--work-dir", self.work)
            with self.subTest(words[0]):
                self.assert_fails(result, 1, "mapper '", f"given {source} up to byte ", "(worker local-0, map 0", *says)
                self.assert_nothing_left(out)

    def test_an_exit_code(self):
        self.assert_named("bash -c 'head -c 70000 >/dev/null; echo why >&2; exit 3'", "USER_ERROR", "exited with code 3",
                          "  | why")

    def test_a_signal(self):
        self.assert_named("bash -c 'cat >/dev/null; echo why >&2; kill -SEGV $$'", "USER_ERROR", "SIGSEGV", "  | why",
                          "at byte 1000000)")

    def test_input_closed_early(self):
        self.assert_named("bash -c 'echo enough >&2; exec <&-; sleep 0.2'", "USER_ERROR", "closed its input", "  | enough")

    def test_silence(self):
        self.assert_named("bash -c 'echo waiting >&2; sleep 1000'", "TASK_HUNG", "neither read nor wrote", "  | waiting",
                          options=("-D", "mapreduce.task.timeout=2000"), properties="mapreduce.task.timeout=2000")

    def test_a_gigabyte_without_a_newline(self):
        self.assert_named("bash -c 'echo here it comes >&2; head -c 1000000000 /dev/zero'", "USER_ERROR",
                          "line of more than 67108864 bytes", "  | here it comes")

    def test_any_output_is_progress(self):
        source = self.write("in", "x\n")
        for channel, name in ((1, "stdout"), (2, "stderr")):
            out = self.path(name)
            self.assert_ok(self.weir(
                "streaming", "-input", source, "-output", out, "-mapper",
                f"bash -c 'for i in 1 2 3 4 5 6 7; do echo $i >&{channel}; sleep 0.5; done'", "-D",
                "mapreduce.task.timeout=2000", "--work-dir", self.work, "--workers", "1"))

    def test_the_failed_one_of_several_slots_is_named(self):
        source = self.texts()
        out = self.path("out")
        result = self.weir("streaming", "-input", source, "-output", out, "-mapper",
                           "bash -c 'case $map_input_file in */2) echo bad file >&2; exit 5;; esac; cat'", "--workers", "2",
                           "--slots", "2", "--work-dir", self.work)
        self.assert_fails(result, 1, "code 5", os.path.join(source, "2"), "  | bad file", "(worker local-")
        self.assert_nothing_left(out)

    def test_binary_values_pass_in_the_native_form(self):
        data = bytes(b for b in range(256) if b not in (9, 10))
        source = self.write("in", b"k\t" + data + b"\nk\t\xff\0\xfe\n")
        out = self.path("out")
        self.assert_ok(self.run_job("stream", source, "-o", out, "--set", "mapper=cat", "--set", "reducer=cat", "--workers",
                                    "2"))
        self.assertEqual(read_parts(out), [b"k\t" + data, b"k\t\xff\0\xfe"])

    # What scripts say of themselves.

    def test_status_and_counters_are_seen_while_the_job_runs_and_at_its_end(self):
        source = self.write("in", "x\n" * 10)
        gate = self.path("gate")
        mapper = self.script("map.py", f"""
import os, sys, time
sys.stderr.write("reporter:counter:Pages,read,7\\n")
sys.stderr.write("reporter:status:first\\nreporter:status:half\\tway \\xff\\n")
sys.stderr.flush()
while not os.path.exists({gate!r}):
    time.sleep(0.05)
""")
        reducer = self.script("reduce.py", f"""
import os, time
while not os.path.exists({gate!r} + "2"):
    time.sleep(0.05)
""")
        cluster = Cluster(self, workers=1, worker_args=["--slots", "1"])
        process = self.start("streaming", "-input", source, "-output", self.path("out"), "-mapper", mapper, "-reducer", reducer,
                             "--master", cluster.address, "--no-sample")

        def job():
            rows = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
            return json.loads(self.weir("status", rows[0]["job_id"], "--json", "--master", cluster.address).out) if rows else {}
        said = "map 0: half way \N{LATIN SMALL LETTER Y WITH DIAERESIS}"
        wait_for(lambda: job().get("progress", {}).get("status") == said, 20, lambda: f"status seen: {job()}")
        rows = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
        self.assertIn(said.encode(), self.weir("status", rows[0]["job_id"], "--master", cluster.address).out)
        self.write("gate", "")
        wait_for(lambda: job().get("counters") == {"Pages,read": 7}, 20, lambda: f"counter of a step that is done: {job()}")
        self.assertNotIn("status", job()["progress"])
        self.write("gate2", "")
        self.assert_ok(self.finish(process))
        native = self.run_job("stream", source, "-o", self.path("native"), "--set", f"mapper={mapper}", "--workers", "1", "--slots", "1")
        self.assert_ok(native)
        self.assertIn("counter Pages,read = 7\n", native.err)
        cluster.stop()

    # Whoever ends a job, nothing of it goes on.

    def test_cancel_and_lost_worker(self):
        source = self.texts()
        cluster = Cluster(self, workers=2)

        def start(out):
            return self.start("streaming", "-input", source, "-output", self.path(out), "-mapper", self.sleeper(), "--master",
                              cluster.address)
        process = start("cancelled")
        self.wait_for_sleepers(4)
        jobs = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
        self.assert_ok(self.weir("cancel", jobs[0]["job_id"], "--master", cluster.address))
        self.assertNotEqual(self.finish(process).code, 0)
        wait_for(lambda: not [c for _, c in processes_mentioning(self.dir) if c.startswith("sleep")], 10, "scripts ended")
        self.assertFalse(os.path.exists(self.path("cancelled")))

        process = start("lost")
        self.wait_for_sleepers(4)
        cluster.workers[1].kill()
        # The others start anew, and only they.
        wait_for(lambda: "A job lost a worker" in self.text(self.path("master.log")), 10, "the loss is noticed")
        self.wait_for_sleepers(2)

        # Its status says so once that is in the journal.
        def losing_job():
            jobs = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
            return next((job for job in jobs if job["state"] in ("planning", "running") and "losses" in job), None)
        lost = wait_for(losing_job, 10, "the job names its loss")
        self.assertEqual(lost["losses"][0]["worker"], "worker1")
        self.assert_ok(self.weir("cancel", lost["job_id"], "--master", cluster.address))
        self.assertNotEqual(self.finish(process).code, 0)
        wait_for(lambda: not [c for _, c in processes_mentioning(self.dir) if c.startswith("sleep")], 10, "scripts ended")
        self.assertFalse(os.path.exists(self.path("lost")))
        cluster.stop()

    def test_interrupt_of_the_native_form(self):
        source = self.write("in", "x\n" * 100)
        process = self.start("run", "stream", source, "-o", self.path("out"), "--set", f"mapper={self.sleeper()}", "--work-dir",
                             self.work)
        self.wait_for_sleepers()
        process.send_signal(signal.SIGINT)
        self.assertNotEqual(self.finish(process).code, 0)
        self.assert_nothing_left(self.path("out"))

    def test_two_at_once_on_a_cluster(self):
        source = self.texts(lines=2000)
        cluster = Cluster(self, workers=2, worker_args=("--slots", "2"))
        running = [self.start("streaming", "-input", source, "-output", self.path(f"out{i}"), "-mapper", "cat", "-reducer",
                              "uniq -c", "-numReduceTasks", "3", "--master", cluster.address) for i in range(2)]
        for i, process in enumerate(running):
            self.assert_ok(self.finish(process))
            self.assertEqual(sorted(read_parts(self.path(f"out{i}"))), [f"   2000 line of {f}\t".encode() for f in range(4)])
        cluster.stop()
        self.assert_nothing_left()


if __name__ == "__main__":
    beside_each_other.main()
