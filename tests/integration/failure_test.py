"""Everything ends: killed, crashed, hung and full - a named error in time, nothing left. Embedded runs."""
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import beside_each_other
from faults import ENDING_S, KILL_GRACE_S, LEASE_S, SILENCE_S, STALLED_MEGABYTES, FailureTest
from weir_process import BINARY, count_words, read_parts, task_pids, wait_for, write_words

# Starts a command as a shell starts a job: in a group of its own, of which it says the number.
SHELL = """
import os, sys
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.execv(sys.argv[1], sys.argv[1:])
print(child, flush=True)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Embedded(FailureTest):
    def workers_of_plan(self, *words):
        result = self.weir("plan", *words, "--json")
        self.assert_ok(result)
        return len(json.loads(result.out)["workers"])

    def threads_of_its_task(self, text, *flags):
        """Of a job's only task, while it maps."""
        client = self.start("run", "wordcount", text, "-o", self.path("out"), "--no-sample", "--work-dir", self.work, *flags)
        task, = wait_for(lambda: self.tasks_reading(text, 1), 30, "its task reads the input")
        threads = len(os.listdir(f"/proc/{task}/task"))
        client.kill()
        client.communicate()
        wait_for(lambda: not task_pids(self.dir), 5, "the task is gone")
        return threads

    def test_one_worker_has_a_slot_a_core_unless_flags_or_scripts_say_otherwise(self):
        text = self.path("text.txt")
        write_words(text, STALLED_MEGABYTES)
        cores = self.workers_of_plan("stream", text, "--set", "mapper=cat")
        self.assertEqual(self.workers_of_plan("wordcount", text), 1)
        self.assertEqual(self.workers_of_plan("wordcount", text, "--slots", "3"), 1)
        self.assertEqual(self.workers_of_plan("wordcount", text, "--workers", "3"), 3)
        self.assertEqual(self.workers_of_plan("stream", text, "--set", "mapper=cat", "--workers", "3"), 3)
        one_slot = self.threads_of_its_task(text, "--workers", "1")
        self.assertEqual(self.threads_of_its_task(text) - one_slot, cores - 1)
        self.assertEqual(self.threads_of_its_task(text, "--slots", "3") - one_slot, 2)

    def test_task_crashes_and_nobody_else_is_there(self):
        client, tasks, out = self.start_stalled(workers=1)
        os.kill(tasks[0], signal.SIGSEGV)
        os.kill(tasks[0], signal.SIGCONT)
        second = wait_for(lambda: set(self.tasks_reading(self.path("text.txt"), 1) or ()) - set(tasks), 30, "it is tried again")
        os.kill(second.pop(), signal.SIGSEGV)
        result = self.end_in_time(client)
        self.assert_fails(result, 1, "TASK_CRASHED", "so did another one before, of the same input",
                          f"it was given {self.path('text.txt')} from byte 0 to ")
        self.assertRegex(result.err, "SIGSEGV|[Ss]egmentation")
        self.assert_nothing_left(out)

    def test_a_task_that_is_killed_is_tried_once_more_where_nobody_else_is(self):
        client, tasks, out = self.start_stalled(workers=1)
        os.kill(tasks[0], signal.SIGKILL)
        result = self.finish(client, 120)
        self.assert_ok(result)
        self.assertRegex(result.err, r"(?m)^worker local-0 failed: .*SIGKILL.*; the plan goes on \(0 steps done again\)$")
        self.assert_counted(out, self.path("text.txt"))
        self.assert_nothing_left()

    def test_a_task_that_is_killed_is_tried_on_another_worker(self):
        client, tasks, out = self.start_stalled()
        os.kill(tasks[0], signal.SIGKILL)
        self.resume()
        result = self.finish(client, 120)
        self.assert_ok(result)
        self.assertRegex(result.err, r"(?m)^worker local-[01] failed: .*SIGKILL.*; the plan goes on \(0 steps done again\)$")
        self.assert_counted(out, self.path("text.txt"))
        self.assert_nothing_left()

    def test_input_that_ends_tasks_on_two_workers_ends_the_job(self):
        client, tasks, out = self.start_stalled()
        # Each of them is tried on the other worker, by another process.
        for task in tasks:
            os.kill(task, signal.SIGKILL)
        second = wait_for(lambda: set(self.tasks_reading(self.path("text.txt"), 1) or ()) - set(tasks), 30, "it is tried again")
        os.kill(second.pop(), signal.SIGKILL)
        self.assert_fails(self.end_in_time(client), 1, "TASK_CRASHED", "SIGKILL", "so did that of worker local-",
                          "of the same input", self.path("text.txt"))
        self.assert_nothing_left(out)

    def test_task_hangs(self):
        client, _, out = self.start_stalled()
        self.assert_fails(self.end_in_time(client, limit=SILENCE_S + KILL_GRACE_S + ENDING_S), 1, "TASK_HUNG")
        self.assert_nothing_left(out)

    def test_control_c_cancels(self):
        client, tasks, out = self.start_stalled()
        client.send_signal(signal.SIGINT)
        result = self.end_in_time(client)
        self.assertEqual(result.code, 130, result.err)
        self.assert_nothing_left(out)

    def test_client_killed_leaves_no_process(self):
        client, tasks, out = self.start_stalled()
        client.kill()
        client.communicate()
        wait_for(lambda: not task_pids(self.dir), 5, "tasks gone after their daemon was killed")
        self.assertFalse(os.path.exists(out))
        # No later run is needed for it: one process has stayed to clear up, and goes.
        wait_for(lambda: not os.listdir(self.work), 10, lambda: f"work directory left: {os.listdir(self.work)}")
        self.assert_nothing_left(out)

    def test_client_killed_with_its_whole_group_leaves_no_file(self):
        client, tasks, out = self.start_stalled(start_new_session=True)
        self.assertTrue([name for name in os.listdir(self.dir) if "staging" in name], "nothing staged: nothing tested")
        os.killpg(client.pid, signal.SIGKILL)
        client.communicate()
        wait_for(lambda: not os.listdir(self.work), 10, lambda: f"work directory left: {os.listdir(self.work)}")
        self.assert_nothing_left(out)

    def test_directories_that_scripts_close_to_themselves_go_too(self):
        """With their job, and with what is left of one that is killed. Root they would not hold up."""
        script = self.write("close.sh", f"mkdir closed$$ && touch closed$$/file && chmod 555 closed$$ && pwd >{self.dir}/at.$$\n"
                                        f"until [ -e {self.dir}/open ]; do sleep 0.1; done\nexec cat\n")
        text = self.write("text", "x\n")
        for directory in (self.dir, self.work):
            os.chmod(directory, 0o777)
        drop = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}

        def run(output):
            return self.start("run", "stream", text, "-o", self.path(output), "--set", f"mapper=sh {script}", "--set", "reducer=cat",
                              "--no-sample", "--work-dir", self.work, start_new_session=True, **drop)
        client = run("killed")
        wait_for(lambda: [name for name in os.listdir(self.dir) if name.startswith("at.")], 30,
                 lambda: f"a directory is closed: {self.end_and_hear(client)}")
        os.killpg(client.pid, signal.SIGKILL)
        client.communicate()
        wait_for(lambda: not os.listdir(self.work), 10, lambda: f"work directory left: {os.listdir(self.work)}")
        self.assert_nothing_left(self.path("killed"))
        self.write("open", "")
        result = self.end_in_time(run("out"))
        self.assert_ok(result)
        self.assertNotIn("not removed", result.err)
        self.assertEqual(os.listdir(self.work), [])

    def state_of(self, pid):
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]

    def test_control_z_stops_tasks_and_fg_continues_them(self):
        text, one = self.path("text.txt"), self.path("one.txt")
        megabytes = 300
        write_words(text, megabytes)
        write_words(one, 1)
        out = self.path("out")
        # A session with the client as its leader has no parent that could stop it: a shell has one group a job.
        shell = subprocess.Popen([sys.executable, "-c", SHELL, BINARY, "run", "wordcount", text, "-o", out, "--workers",
                                  "2", "--no-sample", "--work-dir", self.work], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=dict(os.environ, WEIR_TEST_DIR=self.dir, TMPDIR=self.work,
                                                                  XDG_STATE_HOME=self.path("state")))
        group = int(shell.stdout.readline())
        tasks = wait_for(lambda: self.tasks_reading(text, 2), 30, "every task reads the input")
        os.killpg(group, signal.SIGTSTP)
        wait_for(lambda: {self.state_of(pid) for pid in [group, *tasks]} == {"T"}, 5, "all of it stands still")
        # Longer than a lease, and than a task may be silent: time in which nothing runs does not count.
        time.sleep(LEASE_S + 4)
        self.assertEqual({self.state_of(pid) for pid in [group, *tasks]}, {"T"})
        os.killpg(group, signal.SIGCONT)
        result = self.finish(shell)
        self.assert_ok(result)
        # The text is so many times the same.
        expected = sorted(b"%s\t%d" % (word, megabytes * n) for word, n in count_words([one]).items())
        self.assertEqual(sorted(read_parts(out)), expected)
        self.assert_nothing_left()

    def test_killed_while_it_stands_still(self):
        client, tasks, out = self.start_stalled()
        client.send_signal(signal.SIGTSTP)
        wait_for(lambda: self.state_of(client.pid) == "T", 5, "it stands still")
        client.kill()
        client.communicate()
        wait_for(lambda: not os.listdir(self.work), 10, lambda: f"work directory left: {os.listdir(self.work)}")
        self.assert_nothing_left(out)

    def test_too_little_memory_to_start_is_said(self):
        text = self.write("text", "x y x")

        def little(kib):
            return self.finish(self.start("run", "wordcount", text, "-o", self.path("out"), "--work-dir", self.work,
                                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kib << 10,) * 2)))
        # What the loader alone needs is the libraries' affair.
        least = next(kib for kib in range(50_000, 200_000, 5_000) if little(kib).code != 127)
        named = 0
        for kib in range(least, least + 25_000, 5_000):
            result = little(kib)
            self.assertGreaterEqual(result.code, 0, f"ended by signal {-result.code} at {kib} KiB: {result.err}")
            named += "not enough" in result.err and "ulimit" in result.err
            shutil.rmtree(self.path("out"), ignore_errors=True)
        self.assertGreater(named, 0, "memory was never too little: nothing tested")

    def test_disk_full_in_the_work_directory(self):
        full = self.small_disk()
        rng = random.Random(5)
        text = self.write("text", " ".join("%x" % rng.getrandbits(60) for _ in range(400000)))
        out = self.path("out")
        result = self.weir("run", "wordcount", text, "-o", out, "--work-dir", full, "--workers", "2")
        # Workers of one process share a disk: none of them has room.
        self.assert_fails(result, 1, "DISK_FULL", full)
        for worker in ("local-0", "local-1"):
            # In so short a run nobody may have asked the disk yet.
            self.assertRegex(result.err, f"worker {worker} (is full|has [0-9]+ bytes free)")
        self.assertEqual([f for _, _, files in os.walk(full) for f in files], [])
        self.assert_nothing_left(out)

    def test_disk_full_where_a_run_keeps_what_it_learned(self):
        full = self.small_disk()
        text = self.path("text.txt")
        write_words(text, 1)
        shapes = os.path.join(full, "weir", "shapes")
        kept = []
        for out in ("out0", "out1"):
            self.assert_ok(self.weir("run", "wordcount", text, "-o", self.path(out), "--work-dir", self.work,
                                     env={"XDG_STATE_HOME": full}))
            with open(shapes, "rb") as file:
                kept.append(file.read())
            with contextlib.suppress(OSError), open(os.path.join(full, "filler"), "wb", buffering=0) as filler:
                while True:
                    filler.write(bytes(4096))
        self.assertTrue(kept[0])
        self.assertEqual(kept[1], kept[0], "what was known before stays")
        self.assertEqual([name for name in os.listdir(os.path.dirname(shapes)) if name.startswith("shapes.")], [])

    def test_disk_full_at_the_output(self):
        full = self.small_disk()
        rng = random.Random(6)
        text = self.write("text", " ".join("%x" % rng.getrandbits(60) for _ in range(400000)))
        result = self.run_job("wordcount", text, "-o", os.path.join(full, "out"))
        self.assert_fails(result, 1, "DISK_FULL", full, "choose another output")
        self.assertNotIn("work directory", result.err, "which has room")
        self.assertEqual(os.listdir(full), [])
        self.assert_nothing_left()

    def test_a_limit_on_the_size_of_files_is_named(self):
        rng = random.Random(6)
        text = self.write("text", " ".join("%x" % rng.getrandbits(60) for _ in range(400000)))
        out = self.path("out")
        for size in (1 << 20, 8 << 10):
            with self.subTest(size):
                result = self.weir("run", "wordcount", text, "-o", out, "--work-dir", self.work, "--no-history",
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
                self.assert_fails(result, 4, "OUTPUT_UNUSABLE", "File too large", "ulimit -f")
                self.assert_nothing_left(out)


if __name__ == "__main__":
    beside_each_other.main()
