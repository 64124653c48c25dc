"""All daemons are restarted, one after the other, under one job that goes on: right in the end, and its client never hears of an error."""

import beside_each_other
from faults import LATE_S
from gates import GatedTest
from weir_process import Cluster, wait_for

WORKERS = 3
# A second each: far more than the restarts take. What is left when they are over is hurried.
MAPS = 150
# kDrainPatience of runtime/app/worker_daemon_process.cc.
DRAIN_S = 30
MASTER_STOPS_S = 15


class RollingRestarts(GatedTest):
    def start_long_job(self, cluster):
        """Returns its client, which waits, and its id. It lasts until the gate `hurry` is opened.

        It is sampled: a worker that leaves ends what it has begun only where that is known to be soon.
        """
        slow = self.write("slow.sh", f"[ -e {self.path('open-hurry')} ] || sleep 1\nexec cat")
        client = self.start("submit", "stream", self.lines, "-o", self.path("out"), "--wait", "--mappers", str(MAPS),
                            "--reducers", str(WORKERS), *self.sorting(f"sh {slow}"), "--master", cluster.address)
        begun = wait_for(lambda: self.logged("master", "Step committed"), 60, cluster.log_text)
        return client, begun[0]["job"]

    def commits_by(self, name=None):
        return sum(name in (None, entry["worker"]) for entry in self.logged("master", "Step committed"))

    def restart_worker(self, cluster, number):
        """SIGTERM, a new daemon, and it takes part in the job again."""
        cluster.workers[number].terminate()
        self.assertEqual(cluster.workers[number].wait(timeout=DRAIN_S + LATE_S), 0, cluster.log_text())
        before = self.commits_by(f"worker{number}")
        cluster.workers[number] = cluster.start_worker(number, ["--no-measure"])
        cluster.wait_for_workers(WORKERS)
        wait_for(lambda: self.commits_by(f"worker{number}") > before, 30, lambda: f"worker{number} is given work: {cluster.log_text()}")

    def restart_master(self, cluster, client, kill):
        """The next one goes on with the job, and the client, which has missed the one before, with its progress."""
        if kill:
            cluster.master.kill()
            cluster.master.wait()
        else:
            cluster.master.terminate()
            self.assertEqual(cluster.master.wait(timeout=MASTER_STOPS_S + LATE_S), 0, cluster.log_text())
        self.wait_until_away(client)
        before = self.commits_by()
        cluster.master = cluster.start_master()
        wait_for(lambda: self.commits_by() > before, 60, lambda: f"the job goes on: {cluster.log_text()}")

    def run_through(self, order, kill):
        cluster = Cluster(self, workers=WORKERS, worker_args=["--no-measure"])
        client, job = self.start_long_job(cluster)
        for daemon in order:
            self.assertIsNone(client.poll(), "the job ended before all were restarted")
            if daemon == "master":
                self.restart_master(cluster, client, kill)
            else:
                self.restart_worker(cluster, daemon)
        self.assertEqual(self.status(cluster, job)["state"], "running")
        self.open_gate("hurry")
        result = self.finish(client, timeout=90)
        self.assert_ok(result)
        self.assertEqual(result.err.count("is back"), 1, result.err)
        self.assert_sorted("out")
        self.assertEqual(self.status(cluster, job)["state"], "succeeded")
        cluster.stop()
        self.assert_nothing_left()

    def test_workers_and_then_the_master_are_told_to_end(self):
        self.run_through([*range(WORKERS), "master"], kill=False)

    def test_the_master_is_killed_between_workers(self):
        self.run_through([0, "master", *range(1, WORKERS)], kill=True)


if __name__ == "__main__":
    beside_each_other.main()
