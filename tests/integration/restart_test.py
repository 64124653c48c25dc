"""Masters and workers that come back: what waits is kept, and a name belongs to one worker at a time."""
import json
import os
import unittest

from faults import ENDING_S, MASTER_PATIENCE_S, FailureTest
from weir_process import Cluster, read_parts, task_pids, wait_for, write_words


class Restarts(FailureTest):
    def jobs_by_id(self, cluster):
        def ask():
            listed = self.weir("list", "jobs", "--json", "--master", cluster.address)
            return listed if listed.code == 0 else None
        jobs = json.loads(wait_for(ask, 20, cluster.log_text).out)["jobs"]
        return {job["job_id"]: job for job in jobs}

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
