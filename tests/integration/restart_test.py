"""Masters and workers that come back: what waits is kept, and a name belongs to one worker at a time."""
import glob
import json
import os
import re
import signal
import socket
import time

import beside_each_other
from faults import LATE_S, LEASE_S, FailureTest
from weir_process import Cluster, count_words, read_parts, task_pids, wait_for, write_words


# What a restart of the master may cost of the maps that were done.
MAPS_REDONE_SHARE = 0.05


def has_socket_to(pid, port):
    """True when a process has a connection to that port of this machine."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as file:
            for line in list(file)[1:]:
                fields = line.split()
                if int(fields[2].split(":")[1], 16) == port and fields[3] == "01":
                    inodes.add(f"socket:[{fields[9]}]")
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{fd}") in inodes for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


class Restarts(FailureTest):
    def jobs_by_id(self, cluster):
        def ask():
            listed = self.weir("list", "jobs", "--json", "--master", cluster.address)
            return listed if listed.code == 0 else None
        jobs = json.loads(wait_for(ask, 20, cluster.log_text).out)["jobs"]
        return {job["job_id"]: job for job in jobs}

    def master_log(self):
        return self.text(self.path("master.log"))

    def kill_master(self, cluster):
        cluster.master.kill()
        cluster.master.wait()

    def begun(self):
        """Jobs in the order in which they first began."""
        return list(dict.fromkeys(re.findall(r'"Job changed its state","job":"([^"]*)","state":"PLANNING"',
                                             self.master_log())))

    def maps_committed(self, log):
        """Of the last job that the log tells of: its map steps, once for each time that one was done."""
        found = re.findall(r'"Step committed","job":"([^"]*)","step":"(map [^"]*)"', log)
        return [step for job, step in found if job == found[-1][0]]

    def assert_counts(self, out, text):
        self.assertEqual(sorted(read_parts(out)), sorted(b"%s\t%d" % (w, n) for w, n in count_words([text]).items()))

    def test_a_job_goes_on_wherever_its_master_is_killed(self):
        cluster = Cluster(self, workers=3)
        text = self.path("text.txt")
        write_words(text, 120)
        moments = {"map": '"state":"RUNNING"', "shuffle": '"step":"map', "reduce": '"step":"reduce', "commit": '"state":"COMMITTING"'}
        for moment, mark in moments.items():
            with self.subTest(killed_in=moment):
                out = self.path(moment)
                seen = len(self.master_log())
                client = self.submit_maps(cluster, text, out)
                wait_for(lambda: mark in self.master_log()[seen:], 60, cluster.log_text)
                self.kill_master(cluster)
                cluster.master = cluster.start_master()
                self.assert_ok(self.finish(client, timeout=90))
                self.assert_counts(out, text)
                self.assert_ok(self.weir("verify", out))
                maps = self.maps_committed(self.master_log()[seen:])
                self.assertTrue(maps, "no map was done: nothing tested")
                self.assertLessEqual(len(maps), 12 + MAPS_REDONE_SHARE * 12, f"maps done again: {maps}")
        jobs = self.jobs_by_id(cluster)
        self.assertEqual([job["state"] for job in jobs.values()], ["succeeded"] * len(moments))
        self.assertIn('"resumed_jobs":"1"', self.master_log())
        cluster.stop()
        self.assert_nothing_left()

    def test_a_tree_goes_on_where_its_master_is_killed(self):
        cluster = Cluster(self, workers=4)
        text = self.path("text.txt")
        write_words(text, 120)
        moments = {"map": '"Step committed".*"step":"map', "combine": '"Step committed".*"step":"combine'}
        for moment, mark in moments.items():
            with self.subTest(killed_in=moment):
                out = self.path(moment)
                seen = len(self.master_log())
                client = self.submit_maps(cluster, text, out, "--combine", "tree")
                wait_for(lambda: re.search(mark, self.master_log()[seen:]), 60, cluster.log_text)
                self.kill_master(cluster)
                cluster.master = cluster.start_master()
                self.assert_ok(self.finish(client, timeout=90))
                self.assert_counts(out, text)
                log = self.master_log()[seen:]
                self.assertIn("goes on where an earlier master left it", log)
                maps = self.maps_committed(log)
                self.assertTrue(maps, "no map was done: nothing tested")
                self.assertLessEqual(len(maps), 12 + MAPS_REDONE_SHARE * 12, f"maps done again: {maps}")
        cluster.stop()
        self.assert_nothing_left()

    def submit_maps(self, cluster, text, out, *flags):
        return self.start("submit", "wordcount", text, "-o", out, "--wait", "--no-sample", "--mappers", "12", "--reducers", "6",
                          *flags, "--master", cluster.address)

    def maps_committed_by(self, worker):
        return len(re.findall(r'"Step committed","job":"[^"]*","step":"map [^"]*","worker":"%s"' % worker, self.master_log()))

    def test_a_worker_that_is_killed_and_started_again_keeps_its_maps(self):
        cluster = Cluster(self, workers=3)
        text, out = self.path("text.txt"), self.path("out")
        write_words(text, 120)
        client = self.submit_maps(cluster, text, out)
        wait_for(lambda: self.maps_committed_by("worker1") >= 2, 60, cluster.log_text)
        # Stopped, so that it does not count how long a start takes on a busy machine.
        cluster.master.send_signal(signal.SIGSTOP)
        made = self.maps_committed_by("worker1")
        records = os.path.join(self.work, "worker1", "**", "*.held")
        self.assertGreaterEqual(len(glob.glob(records, recursive=True)), made, "written down before they are reported")
        cluster.workers[1].kill()
        cluster.workers[1].wait()
        log = self.path("worker1.log")
        seen = len(self.text(log))
        cluster.workers[1] = cluster.start_worker(1)
        wait_for(lambda: "Runs of an earlier life are kept" in self.text(log)[seen:], 20, cluster.log_text)
        cluster.master.send_signal(signal.SIGCONT)
        self.assert_ok(self.finish(client, timeout=90))
        self.assert_counts(out, text)
        self.assert_ok(self.weir("verify", out))
        [job] = self.jobs_by_id(cluster).values()
        [loss] = job["losses"]
        self.assertEqual(loss["worker"], "worker1")
        self.assertGreaterEqual(loss["runs_kept"], made, loss)
        self.assertLessEqual(loss["steps_redone"], 1, "what it had under way")
        self.assertEqual(len(self.maps_committed(self.master_log())), 12, "no map is done twice")
        told = self.weir("status", job["job_id"], "--master", cluster.address)
        self.assertIn("kept)", told.out.decode())
        cluster.stop()
        self.assert_nothing_left()

    def test_master_and_workers_may_all_be_killed(self):
        cluster = Cluster(self, workers=3)
        text, out = self.path("text.txt"), self.path("out")
        write_words(text, 120)
        client = self.submit_maps(cluster, text, out)
        wait_for(lambda: self.master_log().count('"step":"map ') >= 6, 60, cluster.log_text)
        self.kill_master(cluster)
        for worker in cluster.workers:
            worker.kill()
            worker.wait()
        cluster.workers = [cluster.start_worker(number) for number in range(3)]
        cluster.master = cluster.start_master()
        self.assert_ok(self.finish(client, timeout=90))
        self.assert_counts(out, text)
        self.assertIn('"resumed_jobs":"1"', self.master_log())
        maps = self.maps_committed(self.master_log())
        self.assertLessEqual(len(maps), 12 + MAPS_REDONE_SHARE * 12, f"maps done again: {maps}")
        cluster.stop()
        self.assert_nothing_left()

    def test_a_job_whose_tasks_stand_still_is_run_anew_by_the_next_master(self):
        cluster = Cluster(self, workers=2)
        client, stopped, out = self.start_stalled(cluster)
        self.kill_master(cluster)
        said = self.wait_until_away(client)
        wait_for(lambda: not set(stopped) & set(task_pids(self.dir)), 20, "workers drop the job of a silent master")
        cluster.master = cluster.start_master()
        result = self.finish(client, timeout=90)
        self.assert_ok(result)
        self.assertIn("is back", result.err)
        self.assertNotIn("is away", result.err, "said once")
        self.assertIn("job j-", said)
        self.assert_counts(out, self.path("text.txt"))
        self.run_small_job(cluster, "out2")
        cluster.stop()
        self.assert_nothing_left()

    def test_queued_jobs_survive_a_killed_master_and_one_that_is_stopped(self):
        cluster = Cluster(self, workers=2, master_args=["--max-running-jobs", "1"])
        client, _, _ = self.start_stalled(cluster)
        queued = []
        for number in range(20):
            text = self.write(f"in{number}", f"job {number} of twenty\n" * (number + 1))
            submitted = self.weir("submit", "wordcount", text, "-o", self.path(f"queued{number}"), "--json",
                                  "--master", cluster.address)
            self.assert_ok(submitted)
            queued.append(json.loads(submitted.out)["job_id"])
        first = self.begun()
        self.kill_master(cluster)
        cluster.master = cluster.start_master()
        self.jobs_by_id(cluster)
        # Stopped before a worker is back, so that no job has begun.
        cluster.master.terminate()
        cluster.master.wait(timeout=15)
        cluster.master = cluster.start_master()
        self.assert_ok(self.finish(client, timeout=120))
        wait_for(lambda: self.jobs_by_id(cluster).get(queued[-1], {}).get("state") in ("succeeded", "failed"), 60,
                 cluster.log_text)
        jobs = self.jobs_by_id(cluster)
        self.assertEqual([jobs[job]["state"] for job in queued], ["succeeded"] * 20)
        self.assertEqual(self.begun(), first + queued)
        ended = [job["job_id"] for job in sorted(jobs.values(), key=lambda job: job["ended_unix_ms"])]
        self.assertEqual(ended[0], first[0], "the one that had begun goes before the others")
        for number in range(20):
            counts = dict(line.rsplit(b"\t", 1) for line in read_parts(self.path(f"queued{number}")))
            self.assertEqual(counts[b"twenty"], str(number + 1).encode())
        cluster.stop()
        self.assert_nothing_left()

    def test_a_submit_is_repeated_until_the_master_is_back_and_is_one_job(self):
        cluster = Cluster(self, workers=1)
        text = self.write("small", "x y x")
        for stopped in (True, False):
            out = self.path(f"stopped{stopped}")
            if stopped:
                # It took the connection, and never answers.
                os.kill(cluster.master.pid, signal.SIGSTOP)
            else:
                self.kill_master(cluster)
            client = self.start("submit", "wordcount", text, "-o", out, "--wait", "--master", cluster.address,
                                "--master-grace", "60s")
            if stopped:
                time.sleep(1)
                self.kill_master(cluster)
            self.wait_until_away(client)
            cluster.master = cluster.start_master()
            self.assert_ok(self.finish(client, timeout=60))
            self.assert_counts(out, text)
        self.assertEqual(len(self.jobs_by_id(cluster)), 2, "one each")
        cluster.stop()
        self.assert_nothing_left()

    def test_a_master_that_dies_with_the_first_question_in_hand_is_waited_for(self):
        cluster = Cluster(self, workers=1)
        text = self.write("small", "x y x")
        self.kill_master(cluster)
        result = self.weir("submit", "wordcount", text, "-o", self.path("out"), "--wait", "--master", cluster.address)
        self.assertEqual(result.code, 3, "one that was never there is told at once")
        self.assertIn("Is 'weir master' running there?", result.err)
        with socket.create_server(("127.0.0.1", cluster.port)) as listener:
            client = self.start("submit", "wordcount", text, "-o", self.path("out"), "--wait", "--master", cluster.address)
            connection, _ = listener.accept()
            # An empty SETTINGS frame: by it a client knows that it has reached a server.
            connection.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            asked = b""
            while b"GetStatus" not in asked:
                asked += connection.recv(1 << 16)
            connection.close()
        self.wait_until_away(client)
        cluster.master = cluster.start_master()
        self.assert_ok(self.finish(client, timeout=60))
        self.assert_counts(self.path("out"), text)
        cluster.stop()
        self.assert_nothing_left()

    def test_a_command_gives_up_after_its_grace_and_leaves_at_once_on_an_interrupt(self):
        cluster = Cluster(self, workers=2)
        client, _, _ = self.start_stalled(cluster)
        job = next(iter(self.jobs_by_id(cluster)))
        watches = [self.start("watch", job, "--master", cluster.address, "--master-grace", grace) for grace in ("3s", "10m")]
        for watch in watches:
            wait_for(lambda: has_socket_to(watch.pid, cluster.port), 20, "it watches")
        self.kill_master(cluster)
        self.assert_fails(self.finish(watches[0], timeout=3 + LATE_S), 3, cluster.address)
        self.wait_until_away(watches[1])
        watches[1].send_signal(signal.SIGINT)
        left = self.finish(watches[1], timeout=LATE_S)
        self.assert_fails(left, 130, f"weir watch {job} --master {cluster.address}")
        self.wait_until_away(client)
        client.send_signal(signal.SIGINT)
        self.assert_fails(self.finish(client, timeout=LATE_S), 130, f"weir watch {job} --master {cluster.address}")
        # Nobody waits for it, and it goes on.
        cluster.master = cluster.start_master()
        wait_for(lambda: self.jobs_by_id(cluster)[job]["state"] == "succeeded", 90, cluster.log_text)
        self.assert_counts(self.path("out"), self.path("text.txt"))
        cluster.stop()

    def test_a_worker_waits_for_its_master_and_leaves_when_it_stays_away(self):
        cluster = Cluster(self, workers=1, worker_args=["--master-grace", "12s"])
        short = cluster.start_worker(1, ["--master-grace", "3s"])
        cluster.workers.append(short)
        cluster.wait_for_workers(2)
        self.kill_master(cluster)
        # The lease first, then the grace.
        self.assertEqual(short.wait(timeout=LEASE_S + 3 + LATE_S), 3)
        self.assertIn("--master-grace", self.text(self.path("worker1.log")))
        cluster.master = cluster.start_master()
        cluster.wait_for_workers(1)
        self.assertIsNone(cluster.workers[0].poll())
        cluster.workers.pop()
        self.run_small_job(cluster, "out")
        cluster.stop()
        self.assert_nothing_left()

    def test_workers_and_master_are_restarted_one_by_one_under_a_sequence_of_jobs(self):
        cluster = Cluster(self, workers=3)
        text = self.path("text.txt")
        write_words(text, 10)
        jobs = []

        def submit_again():
            # From the first try on: the master may be down when it is made.
            jobs.append(self.start("submit", "wordcount", text, "-o", self.path(f"out{len(jobs)}"), "--wait", "--no-sample",
                                   "--master", cluster.address, "--master-grace", "60s"))

        for number in range(3):
            submit_again()
            submit_again()
            cluster.workers[number].terminate()
            self.assertEqual(cluster.workers[number].wait(timeout=30 + LATE_S), 0)
            cluster.workers[number] = cluster.start_worker(number)
            cluster.wait_for_workers(3)
        submit_again()
        submit_again()
        cluster.master.terminate()
        self.assertEqual(cluster.master.wait(timeout=15), 0)
        cluster.master = cluster.start_master()
        submit_again()
        for number, job in enumerate(jobs):
            self.assert_ok(self.finish(job, timeout=120))
            self.assert_counts(self.path(f"out{number}"), text)
        self.assertEqual([job["state"] for job in self.jobs_by_id(cluster).values()], ["succeeded"] * len(jobs))
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


if __name__ == "__main__":
    beside_each_other.main()
