"""Ctrl-C in the middle of a job: it says what it does, ends with 130, leaves nothing, and the output is absent or complete."""
import fcntl
import json
import os
import signal

import beside_each_other
from faults import ENDING_S, KILL_GRACE_S
from gates import GatedTest
from weir_process import Cluster, count_words, read_parts, task_pids, wait_for, write_words

GATES = ("map", "reduce")


class ControlC(GatedTest):
    def start_gated(self, *command, output):
        """A job whose scripts stand at one gate and then at the other."""
        return self.start(*command, "stream", self.lines, "-o", self.path(output), "--no-sample", "--mappers", "2",
                          "--reducers", "2", *self.sorting(*map(self.gated, GATES)), start_new_session=True)

    def interrupt(self, client):
        """As a terminal does: everybody who is in front is told."""
        self.assertIsNone(client.poll(), "the job ended before Ctrl-C")
        os.killpg(client.pid, signal.SIGINT)
        return self.end_in_time(client, KILL_GRACE_S + ENDING_S)

    def test_of_a_client_that_waits_cancels_the_job_on_the_cluster(self):
        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        for output, passed in (("in-map", ()), ("in-reduce", ("map",))):
            with self.subTest(output):
                for gate in passed:
                    self.open_gate(gate)
                client = self.start_gated("submit", "--wait", "--master", cluster.address, output=output)
                wait_for(lambda: len(self.at_gate(GATES[len(passed)])) >= 2, 30, cluster.log_text)
                job = self.jobs(cluster)[-1]["job_id"]
                self.assert_fails(self.interrupt(client), 130, f"weir: cancelling {job}; Ctrl-C again leaves at once",
                                  "CANCELLED", "interrupted by the user")
                self.assertEqual(self.status(cluster, job)["state"], "cancelled")
                wait_for(lambda: not task_pids(self.dir), 10, "tasks are gone")
                self.assertFalse(os.path.exists(self.path(output)))
        self.run_small_job(cluster, "after")
        cluster.stop()
        self.assert_nothing_left()

    def jobs(self, cluster):
        listed = self.weir("list", "jobs", "--json", "--master", cluster.address)
        return sorted(json.loads(listed.out)["jobs"], key=lambda job: job["submitted_unix_ms"])

    def test_of_an_embedded_run_leaves_nothing(self):
        for output, passed in (("in-map", ()), ("in-reduce", ("map",))):
            with self.subTest(output):
                for gate in passed:
                    self.open_gate(gate)
                client = self.start_gated("run", "--workers", "2", "--work-dir", self.work, output=output)
                wait_for(lambda: self.at_gate(GATES[len(passed)]), 30, lambda: f"it is in {output}: {self.end_and_hear(client)}")
                self.assert_fails(self.interrupt(client), 130, "weir: cancelling ", "CANCELLED", "interrupted by the user")
                self.assert_nothing_left(self.path(output))
                wait_for(lambda: not os.listdir(self.work), 10, lambda: f"left in the work directory: {os.listdir(self.work)}")

    def test_at_any_state_leaves_no_output_or_a_whole_one(self):
        text = self.path("text.txt")
        write_words(text, 2)
        expected = sorted(b"%s\t%d" % pair for pair in count_words([text]).items())
        for state in ("planning", "running", "committing"):
            with self.subTest(state):
                out = self.path(state)
                client = self.start("run", "wordcount", text, "-o", out, "--workers", "2", "--reducers", "40", "--progress-json",
                                    "--work-dir", self.work, start_new_session=True)
                for line in client.stderr:
                    if json.loads(line)["state"] == state:
                        break
                else:
                    self.fail(f"it was never {state}: {self.finish(client)}")
                # Whatever it has come to meanwhile.
                client.send_signal(signal.SIGINT)
                result = self.end_in_time(client, KILL_GRACE_S + ENDING_S)
                if os.path.exists(out):
                    self.assertIn(result.code, (0, 130), result.err)
                    self.assertEqual(sorted(read_parts(out)), expected)
                    self.assert_ok(self.weir("verify", out))
                else:
                    self.assertEqual(result.code, 130, result.err)
                self.assert_nothing_left()

    # Six million pairs: planned for longer than anybody waits.
    LARGE_PLAN = ("--workers", "2", "--mappers", "6000", "--reducers", "1000")

    def test_while_a_large_plan_is_made_does_not_wait_for_it(self):
        text = self.write("text", "a b\n")
        client = self.start("run", "wordcount", text, "-o", self.path("out"), *self.LARGE_PLAN, "--progress-json",
                            "--work-dir", self.work, start_new_session=True)
        for line in client.stderr:
            if json.loads(line)["state"] == "planning":
                break
        else:
            self.fail(f"it never planned: {self.finish(client)}")
        result = self.interrupt(client)
        self.assertEqual(result.code, 130, result.err)
        late = self.start("run", "wordcount", text, "-o", self.path("out"), *self.LARGE_PLAN, "--deadline", "1s",
                          "--work-dir", self.work)
        self.assert_fails(self.end_in_time(late, 1 + KILL_GRACE_S + ENDING_S), 6, "DEADLINE")
        asking = self.start("plan", "wordcount", text, *self.LARGE_PLAN, "--work-dir", self.work, start_new_session=True)
        wait_for(lambda: os.listdir(self.work), 30, lambda: f"it plans: {self.end_and_hear(asking)}")
        self.assert_fails(self.interrupt(asking), 130, "interrupted")
        self.assert_nothing_left(self.path("out"))
        wait_for(lambda: not os.listdir(self.work), 10, lambda: f"left in the work directory: {os.listdir(self.work)}")


class Nohup(GatedTest):
    """A terminal that goes sends SIGHUP; under nohup that is ignored when a process starts, and stays so."""

    @staticmethod
    def ignore_hang_ups():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def test_an_embedded_run_goes_on(self):
        client = self.start("run", "stream", self.lines, "-o", self.path("out"), "--workers", "2", "--work-dir", self.work,
                            "--no-sample", *self.sorting(self.gated("map")), preexec_fn=self.ignore_hang_ups)
        wait_for(lambda: self.at_gate("map"), 30, lambda: f"it maps: {self.end_and_hear(client)}")
        client.send_signal(signal.SIGHUP)
        self.open_gate("map")
        self.assert_ok(self.finish(client))
        self.assert_sorted("out")
        self.assert_nothing_left()

    def test_a_client_and_daemons_go_on(self):
        cluster = Cluster(self, workers=1, worker_args=["--no-measure"], preexec_fn=self.ignore_hang_ups)
        client = self.start("submit", "stream", self.lines, "-o", self.path("out"), "--wait", "--master", cluster.address,
                            "--no-sample", *self.sorting(self.gated("map")), preexec_fn=self.ignore_hang_ups)
        wait_for(lambda: self.at_gate("map"), 30, cluster.log_text)
        for process in (cluster.master, *cluster.workers, client):
            process.send_signal(signal.SIGHUP)
        self.open_gate("map")
        self.assert_ok(self.finish(client))
        self.assert_sorted("out")
        cluster.stop()
        self.assert_nothing_left()


class NeverAnswers(GatedTest):
    """A lease holds whoever opens its file, as a file system that is gone does, until the kernel breaks it."""

    BREAK_TIME = "/proc/sys/fs/lease-break-time"

    def leased(self, name):
        """An empty file that cannot be opened for 45 s, and a list that is filled once somebody tries."""
        path = self.write(name, "")
        tries = []
        before = signal.signal(signal.SIGIO, lambda *_: tries.append(name))
        self.addCleanup(signal.signal, signal.SIGIO, before)
        held = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, held)
        try:
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as error:
            self.skipTest(f"no leases on this file system: {error}")
        if int(self.text(self.BREAK_TIME)) < 45:
            self.skipTest(f"{self.BREAK_TIME} is less than 45 s")
        return path, tries

    def test_a_master_ends_though_an_input_never_opens(self):
        path, tries = self.leased("input")
        cluster = Cluster(self, workers=0)
        client = self.start("submit", "wordcount", path, "-o", self.path("out"), "--master", cluster.address)
        self.addCleanup(self.end_and_hear, client)
        wait_for(lambda: tries, 20, cluster.log_text)
        cluster.master.terminate()
        self.assertEqual(cluster.master.wait(timeout=30), 0)
        self.assertIn("does not answer", self.text(self.path("master.log")))


if __name__ == "__main__":
    beside_each_other.main()
