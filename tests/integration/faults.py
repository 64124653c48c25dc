"""What tests of failures share: a job that stands still in the middle of its work, and how long an end may take."""
import os
import signal
import subprocess

from weir_process import WeirTest, count_words, has_open, read_parts, task_pids, wait_for, write_words

# runtime/base/limits.h: kWorkerLease, kTaskSilence, kTaskKillGrace.
LEASE_S = 6
SILENCE_S = 8
KILL_GRACE_S = 2
# What the end of a job takes at most once its cause was noticed: kReleaseBudget and kDiscardBudget of
# runtime/master/job/job_run_actions.cc, rounded up.
ENDING_S = 4
ENDS_WITHIN_S = LEASE_S + ENDING_S
# A task that has read its share before another begins is not met.
STALLED_MEGABYTES = 200
# A machine that tests share with builds is late by so much; it is no part of any promise.
LATE_S = 5


class FailureTest(WeirTest):
    stalled = ()  # tasks that start_stalled stopped

    def tasks_reading(self, path, count):
        """The task processes, once `count` of them have the input open or mapped."""
        pids = [pid for pid in task_pids(self.dir) if has_open(pid, path)]
        return pids if len(pids) >= count else None

    def small_disk(self, name="full", megabytes=1):
        """A file system of so many megabytes, or the test is skipped with the reason."""
        full = self.path(name)
        os.mkdir(full)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", full], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs here: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", full], check=True)
        return full

    def start_stalled(self, cluster=None, workers=2, flags=(), **options):
        """Starts a job and stops its task processes, so that a fault meets it in the middle of its work."""
        text = self.path("text.txt")
        write_words(text, STALLED_MEGABYTES)
        out = self.path("out")
        where = (["submit", "wordcount", text, "-o", out, "--wait", "--master", cluster.address] if cluster else
                 ["run", "wordcount", text, "-o", out, "--workers", str(workers), "--work-dir", self.work])
        # A fault that meets the sample does not end the job.
        client = self.start(*where, "--no-sample", *flags, **options)
        tasks = wait_for(lambda: self.tasks_reading(text, workers), 30, "every task reads the input")
        for pid in tasks:
            os.kill(pid, signal.SIGSTOP)
        self.stalled = tasks
        self.assertIsNone(client.poll(), "the job ended before the fault")
        return client, tasks, out

    def end_in_time(self, client, limit=ENDS_WITHIN_S):
        """Fails when the client has not ended within the promised time and LATE_S."""
        return self.finish(client, timeout=limit + LATE_S)

    def restart_workers(self, cluster, *numbers):
        """Starts again those that were killed, and waits until all of the cluster are there."""
        for number in numbers:
            cluster.workers[number].wait()
            cluster.workers[number] = cluster.start_worker(number)
        cluster.wait_for_workers(len(cluster.workers))

    def wait_until_away(self, client):
        """Until the command says that it waits, which it does once; returns what it had said before."""
        said = []
        for line in client.stderr:
            said.append(line.decode())
            if "is away; trying again until" in said[-1]:
                return "".join(said)
        self.fail(f"it ended: {''.join(said)}")

    def resume(self):
        """Once one of the stopped tasks is gone, the others go on."""
        if not self.stalled:
            return
        wait_for(lambda: not set(self.stalled) <= set(task_pids(self.dir)), 15, "a task is gone")
        for pid in set(self.stalled) & set(task_pids(self.dir)):
            os.kill(pid, signal.SIGCONT)

    def goes_on(self, client, number, timeout=120):
        """The job succeeds, and says what was done without the worker. Returns its result."""
        self.resume()
        result = self.finish(client, timeout)
        self.assert_ok(result)
        self.assertRegex(result.err, rf"(?m)^worker worker{number} .*; (planned again \(epoch [2-9]\)|"
                         r"the plan goes on \([0-9]+ steps? done again\))$")
        wait_for(lambda: not task_pids(self.dir), 15, "no task is left")
        return result

    def assert_counted(self, out, text):
        """The output is the count of what start_stalled wrote: one block over and over, of which the oracle counts one."""
        with open(text, "rb") as file:
            block = file.read(os.path.getsize(text) // STALLED_MEGABYTES)
            self.assertEqual(file.read(len(block)), block)
        counts = count_words([self.write("block", block)])
        self.assertEqual(sorted(read_parts(out)), sorted(b"%s\t%d" % (w, n * STALLED_MEGABYTES) for w, n in counts.items()))
        self.assert_ok(self.weir("verify", out))

    def run_small_job(self, cluster, name):
        path = self.write("small", "x y x")
        out = self.path(name)
        self.assert_ok(cluster.submit("wordcount", path, "-o", out))
        self.assertEqual(sorted(read_parts(out)),
                         sorted(b"%s\t%d" % (w, n) for w, n in count_words([path]).items()))
