"""Everything ends: killed, crashed, hung and full - a named error in time, nothing left, daemons unharmed."""
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from weir_process import (BINARY, ROOT, Cluster, WeirTest, count_words, free_port, has_open, read_parts, task_pids,
                          wait_for, write_words)

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

# runtime/base/limits.h: kWorkerLease, kTaskSilence, kTaskKillGrace; runtime/client/follow_job.h: kMasterPatience.
LEASE_S = 6
SILENCE_S = 8
KILL_GRACE_S = 2
MASTER_PATIENCE_S = 8
# What the end of a job takes at most once its cause was noticed: kReleaseBudget and kDiscardBudget of
# runtime/master/job/job_run_actions.cc, rounded up.
ENDING_S = 4
ENDS_WITHIN_S = LEASE_S + ENDING_S
# A machine that tests share with builds is late by so much; it is no part of any promise.
LATE_S = 5
# kDataStrangersMax.
STRANGERS_MAX = 256


class FailureTest(WeirTest):
    def tasks_reading(self, path, count):
        """The task processes, once `count` of them have the input open or mapped."""
        pids = [pid for pid in task_pids(self.dir) if has_open(pid, path)]
        return pids if len(pids) >= count else None

    def small_disk(self):
        """A file system of one megabyte, or the test is skipped with the reason."""
        full = self.path("full")
        os.mkdir(full)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", full], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs here: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", full], check=True)
        return full

    def jobs_by_id(self, cluster):
        def ask():
            listed = self.weir("list", "jobs", "--json", "--master", cluster.address)
            return listed if listed.code == 0 else None
        jobs = json.loads(wait_for(ask, 20, cluster.log_text).out)["jobs"]
        return {job["job_id"]: job for job in jobs}

    def start_stalled(self, cluster=None, workers=2, **options):
        """Starts a job and stops its task processes, so that a fault meets it in the middle of its work."""
        text = self.path("text.txt")
        write_words(text, 40)
        out = self.path("out")
        where = (["submit", "wordcount", text, "-o", out, "--wait", "--master", cluster.address] if cluster else
                 ["run", "wordcount", text, "-o", out, "--workers", str(workers), "--work-dir", self.work])
        # A fault that meets the sample does not end the job.
        client = self.start(*where, "--no-sample", **options)
        tasks = wait_for(lambda: self.tasks_reading(text, workers), 30, "every task reads the input")
        for pid in tasks:
            os.kill(pid, signal.SIGSTOP)
        self.assertIsNone(client.poll(), "the job ended before the fault")
        return client, tasks, out

    def end_in_time(self, client, limit=ENDS_WITHIN_S):
        """Fails when the client has not ended within the promised time and LATE_S."""
        return self.finish(client, timeout=limit + LATE_S)


class Embedded(FailureTest):
    def test_task_crashes(self):
        client, tasks, out = self.start_stalled()
        os.kill(tasks[0], signal.SIGSEGV)
        os.kill(tasks[0], signal.SIGCONT)
        result = self.end_in_time(client)
        self.assert_fails(result, 1, "TASK_CRASHED")
        self.assertRegex(result.err, "SIGSEGV|[Ss]egmentation")
        self.assert_nothing_left(out)

    def test_task_killed(self):
        client, tasks, out = self.start_stalled()
        os.kill(tasks[0], signal.SIGKILL)
        self.assert_fails(self.end_in_time(client), 1, "TASK_CRASHED", "SIGKILL")
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
        named = 0
        for kib in range(50_000, 80_000, 5_000):
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
        self.assert_fails(result, 1, "DISK_FULL", full)
        self.assertEqual([f for _, _, files in os.walk(full) for f in files], [])
        self.assert_nothing_left(out)

    def test_disk_full_at_the_output(self):
        full = self.small_disk()
        rng = random.Random(6)
        text = self.write("text", " ".join("%x" % rng.getrandbits(60) for _ in range(400000)))
        result = self.run_job("wordcount", text, "-o", os.path.join(full, "out"))
        self.assert_fails(result, 1, "DISK_FULL", full)
        self.assertEqual(os.listdir(full), [])
        self.assert_nothing_left()


class WorkDirectories(FailureTest):
    def small_job(self, cluster, name):
        path = self.write("small", "x y x")
        return cluster.submit("wordcount", path, "-o", self.path(name))

    def remove_work(self, index):
        directory = os.path.join(self.work, f"worker{index}")
        for name in os.listdir(directory):
            shutil.rmtree(os.path.join(directory, name))

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
            self.assert_ok(self.small_job(cluster, f"out{number}"))
        self.assertIn("made a new one", self.text(self.path("worker0.log")))
        cluster.stop()
        self.assert_nothing_left()

    def test_removed_in_a_job(self):
        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        client, tasks, out = self.start_stalled(cluster)
        self.remove_work(1)
        for pid in tasks:
            os.kill(pid, signal.SIGCONT)
        # By the worker, or by a peer that wants a run of it first.
        result = self.end_in_time(client)
        self.assert_fails(result, 1, "worker1", "was removed while the job ran", "--work-dir")
        self.assertRegex(result.err, "WORK_DIRECTORY_LOST|TRANSFER_FAILED")
        self.assert_ok(self.small_job(cluster, "out2"))
        cluster.stop()
        self.assert_nothing_left(out)

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
        self.assert_ok(self.small_job(cluster, "out"))
        os.mkdir(directory)
        wait_for(lambda: state("worker1")[0] == "alive", 30, "it is back")
        self.assert_ok(self.small_job(cluster, "out2"))
        cluster.stop()
        self.assert_nothing_left()

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


class InACluster(FailureTest):
    def run_small_job(self, cluster, name):
        path = self.write("small", "x y x")
        out = self.path(name)
        self.assert_ok(cluster.submit("wordcount", path, "-o", out))
        self.assertEqual(sorted(read_parts(out)),
                         sorted(b"%s\t%d" % (w, n) for w, n in count_words([path]).items()))

    def test_worker_killed(self):
        cluster = Cluster(self, workers=2)
        client, _, out = self.start_stalled(cluster)
        cluster.workers[1].kill()
        result = self.end_in_time(client)
        self.assert_fails(result, 1, "WORKER", "worker1")
        self.assertFalse(os.path.exists(out))
        cluster.workers[1].wait()
        cluster.workers[1] = cluster.start_worker(1)
        cluster.wait_for_workers(2)
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left(out)

    def worker_state(self, cluster, name):
        rows = json.loads(self.weir("list", "workers", "--json", "--master", cluster.address).out)["workers"]
        row = next(row for row in rows if row["name"] == name)
        return row["state"], row["seconds_since_heartbeat"]

    def assert_lost_before_its_lease_ends(self, cluster, name):
        def silence_if_lost():
            state, silence = self.worker_state(cluster, name)
            return silence if state == "lost" else None
        silence = wait_for(silence_if_lost, 2 * LEASE_S, f"{name} is listed as lost")
        self.assertLess(silence, LEASE_S / 2, "the lease cannot have been the cause")

    def test_a_killed_idle_worker_is_lost_long_before_its_lease_ends(self):
        cluster = Cluster(self, workers=2)
        cluster.workers[1].kill()
        cluster.workers[1].wait()
        self.assert_lost_before_its_lease_ends(cluster, "worker1")
        self.assertEqual(self.worker_state(cluster, "worker0")[0], "alive")
        self.assertIn("Worker lost", self.text(self.path("master.log")))
        cluster.workers[1] = cluster.start_worker(1)
        cluster.wait_for_workers(2)
        self.run_small_job(cluster, "out")
        cluster.stop()
        self.assert_nothing_left()

    def test_a_worker_killed_in_a_job_is_lost_long_before_its_lease_ends(self):
        cluster = Cluster(self, workers=2)
        # Nobody fetches from a mapper that stands still: only the master can notice.
        client, _, out = self.start_stalled(cluster)
        cluster.workers[1].kill()
        self.assert_lost_before_its_lease_ends(cluster, "worker1")
        self.assert_fails(self.end_in_time(client), 1, "WORKER_LOST", "worker1", "nobody listens at")
        self.assertFalse(os.path.exists(out))
        cluster.stop()

    def test_the_container_of_a_lost_worker_is_unhealthy(self):
        with open(os.path.join(ROOT, "docker-compose.yml"), encoding="utf-8") as file:
            checks = re.findall(r"test: \[CMD-SHELL, '(.*)'\]", file.read())
        self.assertEqual(len(checks), 1, "of workers")
        cluster = Cluster(self, workers=2)
        # What the container has: weir on its path, a name of its own, and the master's address.
        os.mkdir(self.path("bin"))
        os.symlink(BINARY, self.path("bin", "weir"))
        os.chmod(self.write("bin/hostname", "#!/bin/sh\necho worker1\n"), 0o755)
        env = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"], WEIR_MASTER=cluster.address,
                   XDG_STATE_HOME=self.path("state"))

        def healthy():
            check = checks[0].replace("$$", "$")
            return subprocess.run(["/bin/sh", "-c", check], env=env, capture_output=True, timeout=20).returncode == 0
        self.assertTrue(healthy())
        cluster.workers[1].kill()
        cluster.workers[1].wait()
        wait_for(lambda: self.worker_state(cluster, "worker1")[0] == "lost", 2 * LEASE_S, "it is lost, and listed")
        self.assertFalse(healthy())
        cluster.workers[1] = cluster.start_worker(1)
        cluster.wait_for_workers(2)
        self.assertTrue(healthy())
        cluster.stop()
        self.assert_nothing_left()

    def test_a_stopped_idle_worker_keeps_its_lease(self):
        cluster = Cluster(self, workers=1)
        cluster.workers[0].send_signal(signal.SIGSTOP)
        wait_for(lambda: self.worker_state(cluster, "worker0")[1] > LEASE_S / 2, LEASE_S, "it is silent")
        self.assertEqual(self.worker_state(cluster, "worker0")[0], "alive")
        wait_for(lambda: self.worker_state(cluster, "worker0")[0] == "lost", 2 * LEASE_S, "its lease ends")
        cluster.workers[0].send_signal(signal.SIGCONT)
        cluster.wait_for_workers(1)
        cluster.stop()
        self.assert_nothing_left()

    def test_worker_stopped_and_continued(self):
        cluster = Cluster(self, workers=2)
        client, _, out = self.start_stalled(cluster)
        cluster.workers[0].send_signal(signal.SIGSTOP)
        result = self.end_in_time(client)
        self.assert_fails(result, 1, "worker0")
        cluster.workers[0].send_signal(signal.SIGCONT)
        wait_for(lambda: not task_pids(self.dir), 15, "the continued worker drops its tasks")
        cluster.wait_for_workers(2)
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left(out)

    def test_master_killed_and_restarted(self):
        cluster = Cluster(self, workers=2)
        client, _, out = self.start_stalled(cluster)
        cluster.master.kill()
        cluster.master.wait()
        result = self.end_in_time(client, limit=MASTER_PATIENCE_S + ENDING_S)
        self.assert_fails(result, 3, cluster.address)
        wait_for(lambda: not task_pids(self.dir), 20, "workers drop the job of a silent master")
        cluster.master = cluster.start_master()
        cluster.wait_for_workers(2)
        listed = self.weir("list", "jobs", "--master", cluster.address)
        self.assertIn("FAILED", listed.out.decode().upper())
        detail = self.weir("status", listed.out.decode().split("j-")[1].split()[0].join(["j-", ""]),
                           "--master", cluster.address)
        self.assertIn("MASTER_RESTARTED", detail.out.decode() + detail.err)
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left(out)

    def test_queued_jobs_survive_a_killed_master_and_one_that_is_stopped(self):
        cluster = Cluster(self, workers=2)
        client, _, _ = self.start_stalled(cluster)
        queued = []
        for number in range(20):
            text = self.write(f"in{number}", f"job {number} of twenty\n" * (number + 1))
            submitted = self.weir("submit", "wordcount", text, "-o", self.path(f"queued{number}"), "--json",
                                  "--master", cluster.address)
            self.assert_ok(submitted)
            queued.append(json.loads(submitted.out)["job_id"])
        cluster.master.kill()
        cluster.master.wait()
        self.finish(client)
        cluster.master = cluster.start_master()
        self.jobs_by_id(cluster)
        # Stopped before a worker is back, so that no job has begun.
        cluster.master.terminate()
        cluster.master.wait(timeout=15)
        cluster.master = cluster.start_master()
        wait_for(lambda: self.jobs_by_id(cluster).get(queued[-1], {}).get("state") in ("succeeded", "failed"), 60,
                 cluster.log_text)
        jobs = self.jobs_by_id(cluster)
        self.assertEqual([jobs[job]["state"] for job in queued], ["succeeded"] * 20)
        for number in range(20):
            counts = dict(line.rsplit(b"\t", 1) for line in read_parts(self.path(f"queued{number}")))
            self.assertEqual(counts[b"twenty"], str(number + 1).encode())
        cluster.stop()
        self.assert_nothing_left()

    def test_a_second_worker_with_the_name_of_a_live_one_is_refused(self):
        cluster = Cluster(self, workers=2)
        text = self.path("text.txt")
        write_words(text, 20)
        os.mkdir(self.path("work", "newcomer"))
        newcomer = cluster._spawn("newcomer", "worker", "--master", cluster.address, "--name", "worker0",
                                  "--work-dir", self.path("work", "newcomer"))
        cluster.workers.append(newcomer)
        log = self.path("newcomer.log")
        wait_for(lambda: "is taken: worker0 is alive at 127.0.0.1:" in self.text(log), 10, cluster.log_text)
        for number in range(6):
            self.assert_ok(cluster.submit("wordcount", text, "-o", self.path(f"out{number}")))
        self.assertEqual(self.text(log).count("is taken"), 1, "said once")
        self.assertNotIn("Registered", self.text(log))
        cluster.workers[0].kill()
        cluster.workers[0].wait()
        wait_for(lambda: "Registered" in self.text(log), 10, cluster.log_text)
        self.run_small_job(cluster, "last")
        cluster.stop()

    def test_worker_names_are_one_line(self):
        result = self.weir("worker", "--master", "127.0.0.1:1", "--name", "w1\nlost: w2", "--work-dir", self.work,
                           timeout=15)
        self.assert_fails(result, 2, "w1\\nlost", "--name NAME")

    def test_cancel(self):
        cluster = Cluster(self, workers=2)
        client, _, out = self.start_stalled(cluster)
        listed = self.weir("list", "jobs", "--master", cluster.address).out.decode()
        job_id = "j-" + listed.split("j-")[1].split()[0]
        self.assert_ok(self.weir("cancel", job_id, "--master", cluster.address))
        self.assert_fails(self.end_in_time(client), 5)
        wait_for(lambda: not task_pids(self.dir), 5, "tasks gone after cancel")
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left(out)

    def test_deadline(self):
        cluster = Cluster(self, workers=1)
        text = self.path("text.txt")
        write_words(text, 30)
        client = self.start("submit", "wordcount", text, "-o", self.path("out"), "--wait", "--deadline", "2s",
                            "--master", cluster.address)
        for pid in wait_for(lambda: self.tasks_reading(text, 1), 30, "the task reads the input"):
            os.kill(pid, signal.SIGSTOP)
        self.assert_fails(self.end_in_time(client), 6, "DEADLINE")
        cluster.stop()
        self.assert_nothing_left(self.path("out"))

    def test_garbage_on_every_port(self):
        cluster = Cluster(self, workers=2)
        ports = set()
        for process in [cluster.master, *cluster.workers]:
            inodes = set()
            for fd in os.listdir(f"/proc/{process.pid}/fd"):
                try:
                    target = os.readlink(f"/proc/{process.pid}/fd/{fd}")
                except OSError:
                    continue
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
            for table in ("tcp", "tcp6"):
                with open(f"/proc/{process.pid}/net/{table}", encoding="ascii") as file:
                    for row in file.read().split("\n")[1:]:
                        columns = row.split()
                        if columns and columns[3] == "0A" and columns[9] in inodes:
                            ports.add(int(columns[1].split(":")[1], 16))
        self.assertGreaterEqual(len(ports), 5, "master, and control and data port of two workers")
        rng = random.Random(11)
        for port in ports:
            for size in (0, 1, 3, 100, 5000, 300000):
                with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
                    try:
                        s.sendall(rng.randbytes(size))
                        s.shutdown(socket.SHUT_WR)
                        s.settimeout(5)
                        while s.recv(65536):
                            pass
                    except OSError:
                        pass
        for process in [cluster.master, *cluster.workers]:
            self.assertIsNone(process.poll(), "a daemon died of garbage")
        self.run_small_job(cluster, "out")
        cluster.stop()
        self.assert_nothing_left()

    def resident_bytes(self, pid):
        line = next(row for row in self.text(f"/proc/{pid}/status").split("\n") if row.startswith("VmRSS:"))
        return int(line.split()[1]) << 10

    def test_silent_connections_cost_a_worker_little_and_no_job(self):
        connections = 2300
        # The daemons have as many descriptors as a service usually gets, this process has enough for the crowd.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        cluster = Cluster(self, workers=1)
        port = free_port()
        cluster.workers.append(cluster.start_worker(1, ["--data-listen", f"127.0.0.1:{port}"]))
        cluster.wait_for_workers(2)
        resource.setrlimit(resource.RLIMIT_NOFILE, (connections + 200, hard))
        before = self.resident_bytes(cluster.workers[1].pid)
        crowd = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(connections)]
        poll = select.poll()
        for member in crowd:
            self.addCleanup(member.close)
            poll.register(member, select.POLLIN)
        wait_for(lambda: len(poll.poll(0)) >= connections - STRANGERS_MAX, 20, "the worker lets the oldest go")
        grown = self.resident_bytes(cluster.workers[1].pid) - before
        self.assertLess(grown, 16 << 20, "a buffer of 128 KiB for each would be 287 MiB")
        # Sections of both workers go to both, past those who still wait.
        text = self.path("text.txt")
        write_words(text, 4)
        self.assert_ok(cluster.submit("wordcount", text, "-o", self.path("out"), "--plan-method", "even",
                                      "--mappers", "2", "--reducers", "2"))
        self.assertEqual(sorted(read_parts(self.path("out"))),
                         sorted(b"%s\t%d" % (w, n) for w, n in count_words([text]).items()))
        wait_for(lambda: len(poll.poll(0)) == connections, 20, "nobody stays without a request")
        cluster.stop()
        self.assert_nothing_left()

    def test_sigterm_ends_daemons_cleanly(self):
        cluster = Cluster(self, workers=2)
        time.sleep(0.2)
        cluster.stop()
        self.assertEqual([p.returncode for p in [*cluster.workers, cluster.master]], [0, 0, 0])
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
