"""Faults in a cluster: killed, stopped, cut off, flooded - jobs go on, or end by name and in time, daemons unharmed."""
import collections
import json
import os
import random
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import time

import beside_each_other
from faults import ENDS_WITHIN_S, LEASE_S, FailureTest
from weir_process import BINARY, ROOT, Cluster, count_words, free_port, read_parts, task_pids, wait_for, write_words

# kDataStrangersMax.
STRANGERS_MAX = 256


class InACluster(FailureTest):
    def test_worker_killed(self):
        cluster = Cluster(self, workers=3)
        client, _, out = self.start_stalled(cluster, workers=3)
        cluster.workers[1].kill()
        self.goes_on(client, 1)
        self.assert_counted(out, self.path("text.txt"))
        self.restart_workers(cluster, 1)
        # What became of it is told for as long as the job is remembered.
        job = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"][0]
        self.assertEqual([(loss["worker"], loss["plan_epoch"]) for loss in job["losses"]], [("worker1", 1)])
        # What the others had begun goes on; of the one that is gone one step had.
        self.assertEqual(job["losses"][0]["steps_redone"], 1)
        for command in ("status", "explain"):
            told = self.weir(command, job["job_id"], "--master", cluster.address)
            self.assertIn("worker1 was lost: ", told.out.decode())
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left()

    def test_a_worker_is_killed_while_others_combine(self):
        """Its map and what it was to combine are done again by the others, and nothing that these have done."""
        cluster = Cluster(self, workers=4)
        client, tasks, out = self.start_stalled(cluster, 4, flags=["--combine", "tree"])
        of_killed = [pid for pid in tasks if "/worker3/" in os.readlink(f"/proc/{pid}/cwd")]
        self.assertEqual(len(of_killed), 1, tasks)
        for pid in set(tasks) - set(of_killed):
            os.kill(pid, signal.SIGCONT)

        def committed(kind):
            pattern = rf'"Step committed".*"step":"({kind} [^"]*)","worker":"(worker[0-9])"'
            return re.findall(pattern, self.text(self.path("master.log")))
        maps = wait_for(lambda: len(committed("map")) == 3 and committed("map"), 60, cluster.log_text)
        cluster.workers[3].kill()
        self.goes_on(client, 3)
        self.assert_counted(out, self.path("text.txt"))
        self.assertGreater(len(committed("combine")), 0, "it was no tree")
        self.assertEqual([times for times in collections.Counter(committed("map")).values() if times > 1], [])
        again = {step for step, _ in committed("map")[3:]} & {step for step, _ in maps}
        self.assertEqual(again, set(), "maps that were done are done again")
        self.restart_workers(cluster, 3)
        cluster.stop()
        self.assert_nothing_left()

    def test_a_worker_is_lost_in_a_job_without_reducers(self):
        """All lines of a mapper go to one part: some wait for them, and the others need nothing of its run."""
        lines = collections.Counter(b"line %06d" % number for number in range(30000))
        text = self.write("lines.txt", "".join(line.decode() + "\n" for line in lines))
        gate = self.path("gate")
        # The second of the three mappers ends at once, the others once a gate is open. Its part is made where it ran.
        gated = self.write("gated.sh", f"""
            while [ "$mapreduce_task_partition" != 1 ] && [ ! -e {gate} ]; do echo reporter:status:waits >&2; sleep 0.2; done
            exec cat""")
        # Runs move, as between machines.
        cluster = Cluster(self, workers=0)
        cluster.workers = [cluster.start_worker(i, ["--handover-domain", f"machine{i}"]) for i in range(3)]
        cluster.wait_for_workers(3)
        out = self.path("out")
        client = self.start("submit", "stream", text, "-o", out, "--wait", "--no-sample", "--mappers", "3", "--reducers", "3",
                            "--set", f"mapper=sh {gated}", "--set", "reducer=NONE", "--master", cluster.address)
        committed = r'"Step committed".*"step":"map 1","worker":"worker([0-9])"'
        lost = int(wait_for(lambda: re.findall(committed, self.text(self.path("master.log"))), 60, cluster.log_text)[0])
        cluster.workers[lost].kill()
        wait_for(lambda: "A plan was edited" in self.text(self.path("master.log")), 60, cluster.log_text)
        self.write("gate", "")
        self.assert_ok(self.finish(client, timeout=120))
        got = collections.Counter(line.rstrip(b"\t") for line in read_parts(out))
        self.assertEqual([len(lines - got), len(got - lines)], [0, 0], "lines that are missing, and that are there too often")
        self.restart_workers(cluster, lost)
        cluster.stop()
        self.assert_nothing_left()

    def test_worker_killed_and_back_at_once(self):
        cluster = Cluster(self, workers=2)
        client, _, out = self.start_stalled(cluster)
        cluster.workers[1].kill()
        cluster.workers[1].wait()
        cluster.workers[1] = cluster.start_worker(1)
        self.goes_on(client, 1)
        self.assert_counted(out, self.path("text.txt"))
        cluster.stop()
        self.assert_nothing_left()

    def test_a_worker_that_joins_works_for_the_job_that_runs(self):
        # Said to be slow: what is to come is worth another worker.
        slow = ["--compute-rate", "0.2"]
        cluster = Cluster(self, workers=2, worker_args=slow)
        text = self.path("lines.txt")
        write_words(text, 40)
        # Mappers last until a gate opens, and say meanwhile that they live.
        gate, out = self.path("gate"), self.path("out")
        gated = self.write("gated.sh", f"while [ ! -e {gate} ]; do echo reporter:status:waits >&2; sleep 0.2; done; exec cat")
        client = self.start("submit", "stream", text, "-o", out, "--wait", "--no-sample", "--mappers", "12", "--reducers", "4",
                            "--set", f"mapper=sh {gated}", "--set", "reducer=uniq -c", "--master", cluster.address)
        wait_for(lambda: '"state":"RUNNING"' in self.text(self.path("master.log")), 30, "the job runs")
        cluster.workers.append(cluster.start_worker(2, slow))
        wait_for(lambda: "A plan was edited" in self.text(self.path("master.log")), 30, cluster.log_text)
        self.write("gate", "")
        self.assert_ok(self.finish(client, timeout=120))
        self.assertRegex(self.text(self.path("master.log")), r'"Step committed",.*"step":"map [^"]*","worker":"worker2"')
        job = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"][0]
        self.assertNotIn("losses", job)
        explained = " ".join(self.weir("explain", job["job_id"], "--master", cluster.address).out.decode().split())
        self.assertIn("worker2 joined", explained)
        self.assertIn("Joined worker 2 (new): ", explained)
        with open(text, "rb") as file:
            counts = collections.Counter(file.read().splitlines())
        self.assertEqual(sorted(line.strip() for line in read_parts(out)), sorted(b"%d %s" % (n, line) for line, n in counts.items()))
        cluster.stop()
        self.assert_nothing_left()

    def test_a_worker_that_cannot_be_reached_where_it_says_gets_no_work(self):
        cluster = Cluster(self, workers=2)
        # Nobody listens there.
        astray = cluster.start_worker(2, ["--advertise", "127.0.0.9"])
        cluster.workers.append(astray)
        wait_for(lambda: "Not registered; keeps trying" in self.text(self.path("worker2.log")), 30, cluster.log_text)
        told = self.text(self.path("worker2.log"))
        self.assertRegex(told, r"cannot reach worker worker2 at 127\.0\.0\.9:\d+: .*check --advertise")
        self.assertEqual(self.text(self.path("master.log")).count('"Worker refused"'), 1, "once for each reason")
        self.run_small_job(cluster, "out")
        self.assertEqual(len(json.loads(self.weir("list", "workers", "--json", "--master", cluster.address).out)["workers"]), 2)
        cluster.stop()
        self.assert_nothing_left()

    def test_all_workers_killed(self):
        cluster = Cluster(self, workers=2, master_args=["--worker-grace", "4s"])
        client, _, out = self.start_stalled(cluster)
        for worker in cluster.workers:
            worker.kill()
        self.assert_fails(self.end_in_time(client, ENDS_WITHIN_S + 4), 1, "NO_WORKERS", "worker0", "worker1", "4s")
        self.assertFalse(os.path.exists(out))
        wait_for(lambda: not task_pids(self.dir), 15, "no task is left")
        self.restart_workers(cluster, 0, 1)
        client, _, out = self.start_stalled(cluster)
        for worker in cluster.workers:
            worker.kill()
        self.restart_workers(cluster, 0, 1)
        self.assert_ok(self.finish(client, 120))
        self.assert_counted(out, self.path("text.txt"))
        cluster.stop()
        self.assert_nothing_left()

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

    def test_a_worker_that_takes_the_place_of_a_killed_one_does_not_measure_again(self):
        cluster = Cluster(self, workers=1)
        kept = "measured it that did not end by itself"
        profiles = [name for name in os.listdir(self.path("state", "weir")) if name.startswith("weir-machine")]
        self.assertEqual(len(profiles), 1, profiles)
        self.assertNotIn(kept, self.text(self.path("worker0.log")))
        profile = lambda: json.loads(self.weir("list", "workers", "--json", "--master", cluster.address).out)["workers"][0]  # noqa: E731
        measured = profile()
        cluster.workers[0].kill()
        cluster.workers[0].wait()
        cluster.workers[0] = cluster.start_worker(0)
        wait_for(lambda: kept in self.text(self.path("worker0.log")), 20, "it tells that it does not measure")
        cluster.wait_for_workers(1)
        for rate in ("compute_rate", "slot_compute_rate", "disk_write_bytes_per_s", "disk_read_bytes_per_s", "task_start_s"):
            self.assertGreater(measured[rate], 0, rate)
            self.assertEqual(profile()[rate], measured[rate], rate)
        # Who ends by itself measures when it is started again.
        cluster.workers[0].terminate()
        cluster.workers[0].wait()
        self.assertEqual([name for name in os.listdir(self.path("state", "weir")) if name.startswith("weir-machine")], [])
        cluster.workers[0] = cluster.start_worker(0)
        cluster.wait_for_workers(1)
        self.assertEqual(self.text(self.path("worker0.log")).count(kept), 1)
        self.run_small_job(cluster, "out")
        cluster.stop()
        self.assert_nothing_left()

    def test_a_worker_killed_in_a_job_is_lost_long_before_its_lease_ends(self):
        cluster = Cluster(self, workers=2)
        # Nobody fetches from a mapper that stands still: only the master can notice.
        client, _, out = self.start_stalled(cluster)
        cluster.workers[1].kill()
        self.assert_lost_before_its_lease_ends(cluster, "worker1")
        self.assertIn("nobody listens at", self.goes_on(client, 1).err)
        self.assert_counted(out, self.path("text.txt"))
        self.restart_workers(cluster, 1)
        cluster.stop()
        self.assert_nothing_left()

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
        client, tasks, out = self.start_stalled(cluster)
        cluster.workers[0].send_signal(signal.SIGSTOP)
        self.assertIsNotNone(wait_for(lambda: "A plan was edited" in self.text(self.path("master.log")), 2 * LEASE_S,
                                      "its work is given to the other"))
        # What it was at goes on before its daemon knows, and counts for nothing.
        for pid in tasks:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        self.assert_ok(self.finish(client, 120))
        self.assert_counted(out, self.path("text.txt"))
        cluster.workers[0].send_signal(signal.SIGCONT)
        wait_for(lambda: not task_pids(self.dir), 15, "the continued worker drops its tasks")
        cluster.wait_for_workers(2)
        self.assert_counted(out, self.path("text.txt"))
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left()

    def test_a_master_that_stands_still_takes_no_worker_for_lost(self):
        cluster = Cluster(self, workers=2)
        client, tasks, out = self.start_stalled(cluster)
        cluster.master.send_signal(signal.SIGSTOP)
        for pid in tasks:
            os.kill(pid, signal.SIGCONT)
        time.sleep(LEASE_S + 2)
        cluster.master.send_signal(signal.SIGCONT)
        self.assert_ok(self.finish(client, 120))
        self.assert_counted(out, self.path("text.txt"))
        log = self.text(self.path("master.log"))
        self.assertIn("The master stood still", log)
        # Workers ended their leases themselves, and their tasks with them; they are back before anybody has their work.
        for line in ("Worker lost", "cannot be edited"):
            self.assertNotIn(line, log)
        self.assertEqual(log.count("A worker is back before its work was given to others"), 2)
        cluster.stop()
        self.assert_nothing_left()

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
        client = self.start("submit", "wordcount", text, "-o", self.path("out"), "--wait", "--deadline", "6s",
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

    def test_a_test_that_fails_beside_others_fails_its_file(self):
        tests = self.write("some_test.py", "import sys, unittest\n"
                           f"sys.path.insert(0, {os.path.dirname(os.path.realpath(__file__))!r})\nimport beside_each_other\n"
                           "class Some(unittest.TestCase):\n"
                           "    def test_well(self): pass\n"
                           "    def test_left_out(self): self.skipTest('no such disk')\n"
                           "    def test_wrong(self): self.assertEqual(1, 2)\n"
                           "beside_each_other.main()\n")
        ended = subprocess.run([sys.executable, tests], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        for said in ("Ran 3 tests", "FAILED", "failed: Some.test_wrong", "AssertionError: 1 != 2", "no such disk", "test_well"):
            self.assertIn(said, ended.stdout)
        well = subprocess.run([sys.executable, tests, "Some.test_well"], capture_output=True, text=True, check=False)
        self.assertEqual(well.returncode, 0, well.stderr)

    def test_a_daemon_that_crashes_fails_its_test_though_another_takes_its_place(self):
        cluster = Cluster(self, workers=2)
        cluster.workers[1].send_signal(signal.SIGSEGV)
        self.restart_workers(cluster, 1)
        self.run_small_job(cluster, "out")
        with self.assertRaisesRegex(AssertionError, "crashed by SIGSEGV.*worker1"):
            cluster.stop()
        self.assert_nothing_left()

    def test_a_daemon_that_ends_with_an_error_when_told_fails_its_test(self):
        cluster = Cluster(self, workers=0)
        ready = self.path("ready")
        cluster.workers.append(subprocess.Popen(
            ["sh", "-c", f"trap 'exit 66' TERM; touch {ready}; while true; do sleep 0.1; done"]))
        wait_for(lambda: os.path.exists(ready), 20, "it listens to SIGTERM")
        with self.assertRaisesRegex(AssertionError, "ended with 66 when told to end"):
            cluster.stop()


if __name__ == "__main__":
    beside_each_other.main()
