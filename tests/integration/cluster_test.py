"""Master and workers as processes: same results as embedded, limits in the trace, commands of a cluster."""
import contextlib
import json
import os
import resource
import signal
import socket
import time
import unittest
import unittest.mock

from trace_check import cut_problems, moved, order_problems, overlapping, port_problems
from weir_process import Cluster, WeirTest, count_words, free_port, read_parts, wait_for, write_words


class Equality(WeirTest):
    def test_cluster_output_equals_embedded_output(self):
        text = self.path("text.txt")
        write_words(text, 6)
        # The embedded run measures nothing: with the same numbers on both sides the plan, and so every part, is the same.
        cluster = Cluster(self, workers=3, worker_args=["--no-measure"])
        out, local = self.path("out"), self.path("local")
        submitted = cluster.submit("wordcount", text, "-o", out, "--set", "top=4")
        self.assert_ok(submitted)
        embedded = self.run_job("wordcount", text, "-o", local, "--workers", "3", "--set", "top=4")
        self.assert_ok(embedded)
        parts = sorted(n for n in os.listdir(out) if n.startswith("part-"))
        self.assertEqual(parts, sorted(n for n in os.listdir(local) if n.startswith("part-")))
        for name in parts:
            with open(os.path.join(out, name), "rb") as a, open(os.path.join(local, name), "rb") as b:
                self.assertEqual(a.read(), b.read(), name)
        self.assertEqual(submitted.out, embedded.out)
        expected = sorted(b"%s\t%d" % (w, n) for w, n in count_words([text]).items())
        self.assertEqual(sorted(read_parts(out)), expected)
        self.assert_ok(self.weir("verify", out))
        cluster.stop()
        self.assert_nothing_left()


class Limits(WeirTest):
    def test_trace_shows_ports_and_channels_within_limits(self):
        text = self.path("text.txt")
        write_words(text, 8, distinct=60000)
        # A known rate turns on pacing and look-ahead: ports are then free a little before the last byte.
        for channels, rate in ((1, []), (2, []), (2, ["--channel-rate", "1Gbit/s"])):
            with self.subTest(channels=channels, rate=rate):
                cluster = Cluster(self, workers=4, master_args=["--bisection-channels", str(channels), *rate])
                out = self.path(f"out{channels}{len(rate)}")
                submitted = cluster.submit("wordcount", text, "-o", out, "--json", "--plan-method", "even",
                                           "--mappers", "4", "--reducers", "4")
                self.assert_ok(submitted)
                jobs = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
                job_id = jobs[0]["job_id"]
                explained = self.weir("explain", job_id, "--json", "--master", cluster.address)
                self.assert_ok(explained)
                report = json.loads(explained.out)
                transfers = report["transfers"]
                moved = [t for t in transfers if t.get("actual")]
                self.assertGreaterEqual(len(moved), 12)
                times = [(t["actual"]["start_s"], t["actual"]["finish_s"]) for t in moved]
                self.assertLessEqual(overlapping(times), channels)
                for end in ("sender", "receiver"):
                    for worker in {t[end] for t in moved}:
                        mine = [(t["actual"]["start_s"], t["actual"]["finish_s"]) for t in moved if t[end] == worker]
                        self.assertLessEqual(overlapping(mine), 1, f"{end} {worker}")
                tails = [t["actual_tail_bytes"] for t in moved]
                self.assertLessEqual(max(tails), 32768 if rate else 0)
                self.assertEqual(any(tails), bool(rate), "the next grant goes out ahead")
                cluster.stop()


class Stores(WeirTest):
    def test_store_keeps_its_channels_and_one_file_is_the_parts_in_order(self):
        text = self.path("text.txt")
        write_words(text, 6, distinct=60000)
        cluster = Cluster(self, workers=3)
        outputs = {}
        for mode in ("parts", "parallel:1", "parallel:2", "one"):
            out = self.path(mode)
            self.assert_ok(cluster.submit("wordcount", text, "-o", out, "--plan-method", "even", "--mappers", "3",
                                          "--reducers", "6", "--write", mode))
            self.assert_ok(self.weir("verify", out))
            outputs[mode] = b""
            for name in sorted(n for n in os.listdir(out) if n.startswith("part-")):
                with open(os.path.join(out, name), "rb") as file:
                    outputs[mode] += file.read()
            jobs = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
            explained = self.weir("explain", jobs[0]["job_id"], "--json", "--master", cluster.address)
            self.assert_ok(explained)
            writes = [s["actual"] for s in json.loads(explained.out)["steps"] if s["kind"] == "write"]
            self.assertEqual(len(writes), {"parts": 0, "one": 1}.get(mode, 6))
            limit = {"parts": 0, "one": 1}.get(mode, int(mode[-1]) if mode[-1].isdigit() else 0)
            self.assertLessEqual(overlapping([(w["start_s"], w["finish_s"]) for w in writes]), limit)
        self.assertEqual(len(set(outputs.values())), 1, "the same bytes whatever the mode")
        cluster.stop()
        self.assert_nothing_left()


class Racks(WeirTest):
    def run_even_plan(self, cluster, text):
        """Counts the words of `text` on all four workers; returns the explained plan."""
        self.assert_ok(cluster.submit("wordcount", text, "-o", self.path("out"), "--plan-method", "even",
                                      "--mappers", "4", "--reducers", "4"))
        jobs = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
        explained = self.weir("explain", jobs[0]["job_id"], "--json", "--master", cluster.address)
        self.assert_ok(explained)
        return json.loads(explained.out)

    def test_transfers_between_racks_share_their_channel(self):
        text = self.path("text.txt")
        write_words(text, 8, distinct=60000)
        racks = [["worker0", "worker1"], ["worker2", "worker3"]]
        network = self.write("network.json", json.dumps({"schema": 1, "racks": [
            {"name": str(i), "workers": rack, "up_channels": 1, "down_channels": 1} for i, rack in enumerate(racks)]}))
        cluster = Cluster(self, workers=4, master_args=["--network", network])
        report = self.run_even_plan(cluster, text)
        names = [worker["name"] for worker in report["workers"]]
        self.assertEqual(sorted(names), sorted(racks[0] + racks[1]))
        for rack in racks:
            up = [(t["actual"]["start_s"], t["actual"]["finish_s"]) for t in report["transfers"]
                  if names[t["sender"]] in rack and names[t["receiver"]] not in rack]
            self.assertEqual(len(up), 4)
            self.assertLessEqual(overlapping(up), 1)
        cluster.stop()

    def test_transfers_of_slow_ports_take_part_of_a_channel(self):
        text = self.path("text.txt")
        write_words(text, 8, distinct=60000)
        slowdown = {"worker2": 2, "worker3": 4}
        network = self.write("network.json", json.dumps({
            "schema": 1, "channel_bytes_per_s": 1.2e8, "total_channels": 1,
            "port_bytes_per_s": {name: 1.2e8 / times for name, times in slowdown.items()}}))
        cluster = Cluster(self, workers=4, master_args=["--network", network])
        report = self.run_even_plan(cluster, text)
        names = [worker["name"] for worker in report["workers"]]
        everyone = set(range(4))
        self.assertEqual(len(moved(report)), 12)
        self.assertEqual(port_problems(report, 1, 1), [])
        self.assertEqual(cut_problems(report, [("total", 1, everyone, everyone)],
                                      slowdown={i: slowdown.get(name, 1) for i, name in enumerate(names)}), [])
        # A channel is four lanes; a transfer stands in as many as it takes.
        places = [index for lane in report["plan"]["channel_order"][0]["channel"] for index in lane.get("index", [])]
        for index, t in enumerate(report["transfers"]):
            slowest = max(slowdown.get(names[t[end]], 1) for end in ("sender", "receiver"))
            self.assertEqual(places.count(index), 4 // slowest)
        cluster.stop()


class GivenPlans(WeirTest):
    def test_a_plan_file_runs_again_and_gives_the_same_files(self):
        text = self.path("text.txt")
        write_words(text, 2)
        cluster = Cluster(self, workers=3)
        self.assert_ok(cluster.submit("wordcount", text, "-o", self.path("first"), "--plan-method", "even"))
        stored = self.path("first", "_weir", "plan.json")
        again = cluster.submit("wordcount", text, "-o", self.path("again"), "--plan-file", stored, "--json")
        self.assert_ok(again)
        report = json.loads(self.text(self.path("again", "_weir", "plan.json")))
        self.assertEqual(report["plan"]["plan_id"], json.loads(self.text(stored))["plan"]["plan_id"])
        self.assertEqual(report["method"], "even")
        self.assertEqual(order_problems(report), [])
        self.assertEqual(read_parts(self.path("first")), read_parts(self.path("again")))
        write_words(self.path("longer.txt"), 3)
        other = cluster.submit("wordcount", self.path("longer.txt"), "-o", self.path("x"), "--plan-file", stored)
        self.assert_fails(other, 2, "was made for")
        broken = self.write("broken.json", "{}")
        self.assert_fails(cluster.submit("wordcount", text, "-o", self.path("x"), "--plan-file", broken), 2, "broken.json")
        cluster.stop()


class History(WeirTest):
    NUMBERS = {"map time", "map output", "key weights", "reduce time"}

    def origins(self, result):
        self.assert_ok(result)
        return {n["name"]: n["origin"] for n in json.loads(result.out)["numbers"]
                if any(n["name"].startswith(name) for name in self.NUMBERS)}

    def planned_from(self, cluster, text):
        return self.origins(self.weir("plan", "wordcount", text, "--json", "--master", cluster.address))

    def test_what_jobs_taught_survives_a_restart_of_the_master(self):
        text = self.path("text.txt")
        write_words(text, 2)
        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        untaught = self.planned_from(cluster, text)
        self.assertEqual(set(untaught.values()), {"default"}, untaught)
        self.assert_ok(cluster.submit("wordcount", text, "-o", self.path("first")))
        taught = self.planned_from(cluster, text)
        self.assertEqual(set(taught.values()), {"history"}, taught)
        cluster.master.kill()
        cluster.master.wait()
        cluster.master = cluster.start_master()
        cluster.wait_for_workers(2)
        self.assertEqual(self.planned_from(cluster, text), taught)
        self.assert_ok(cluster.submit("wordcount", text, "-o", self.path("second")))
        with open(self.path("second", "_weir", "plan.json"), encoding="utf-8") as file:
            numbers = json.load(file)["numbers"]
        self.assertEqual(next(n["origin"] for n in numbers if n["name"] == "map time"), "history")
        # What was kept is the journal's: without it nothing is known.
        cluster.master.terminate()
        cluster.master.wait(timeout=15)
        os.remove(cluster.journal)
        cluster.master = cluster.start_master()
        cluster.wait_for_workers(2)
        self.assertEqual(self.planned_from(cluster, text), untaught)
        cluster.stop()


class Commands(WeirTest):
    def test_status_list_logs_explain(self):
        cluster = Cluster(self, workers=2)
        out = self.path("out")
        submitted = self.weir("submit", "wordcount", self.write("a", "x y x"), "-o", out,
                              "--master", cluster.address)
        self.assert_ok(submitted)
        job_id = submitted.out.decode().split()[-1]
        env = {"WEIR_MASTER": cluster.address}
        watched = self.weir("watch", job_id, env=env)
        self.assert_ok(watched)
        status = self.weir("status", job_id, "--json", env=env)
        self.assert_ok(status)
        self.assertIn("SUCCEEDED", status.out.decode().upper())
        self.assertIn(job_id, self.weir("list", "jobs", env=env).out.decode())
        self.assert_ok(self.weir("logs", job_id, env=env))
        self.assertIn("predicted", self.weir("explain", job_id, env=env).out.decode())
        unknown = self.weir("status", "j-unknown", env=env)
        self.assertEqual(unknown.code, 4)
        self.assertIn("j-unknown", unknown.err)

    def test_metrics_follow_jobs_and_workers(self):
        cluster = Cluster(self, workers=2)

        def samples():
            listed = self.weir("list", "metrics", "--master", cluster.address)
            self.assert_ok(listed)
            return dict(line.rsplit(" ", 1) for line in listed.out.decode().splitlines() if not line.startswith("#"))

        self.assertEqual(samples()['weir_jobs{state="succeeded"}'], "0")
        self.assert_ok(cluster.submit("wordcount", self.write("a", "x y x"), "-o", self.path("out")))
        after = samples()
        self.assertEqual(after['weir_jobs{state="succeeded"}'], "1")
        self.assertGreater(float(after["weir_job_makespan_seconds"]), 0)
        self.assertGreater(float(after["weir_plan_predicted_makespan_seconds"]), 0)
        self.assertLess(abs(float(after["weir_job_end_timestamp_seconds"]) - time.time()), 60)
        self.assertEqual(after['weir_workers{state="alive"}'], "2")
        self.assertGreater(int(after['weir_worker_free_disk_bytes{worker="worker1"}']), 0)
        cluster.workers[1].kill()
        wait_for(lambda: samples()['weir_worker_up{worker="worker1"}'] == "0", 20, cluster.log_text)
        self.assertEqual(samples()['weir_worker_up{worker="worker0"}'], "1")
        cluster.stop()

    def test_a_picture_of_a_job_replaces_none_of_its_files(self):
        cluster = Cluster(self, workers=1)
        text, out = self.write("in.txt", "x y x"), self.path("out")
        self.assert_ok(cluster.submit("wordcount", text, "-o", out))
        jobs = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
        ask = ["explain", jobs[0]["job_id"], "--master", cluster.address, "--gantt"]
        self.assert_fails(self.weir(*ask, text), 2, "--gantt", text, "data of the input")
        self.assert_fails(self.weir(*ask, os.path.join(out, "part-00000")), 2, "--gantt", "in the output")
        self.assertEqual(self.text(text), "x y x")
        self.assert_ok(self.weir("verify", out))
        self.assert_ok(self.weir(*ask, self.path("new.svg")))
        self.assertIn("<svg", self.text(self.path("new.svg")))

    def test_logs_do_not_steer_a_terminal(self):
        cluster = Cluster(self, workers=1)
        script = self.write("map.sh", "#!/bin/sh\nprintf '\\033[2Jred\\tgreen\\r\\n' >&2\nexec cat\n")
        os.chmod(script, 0o755)
        submitted = self.weir("submit", "stream", self.write("a", "x\n"), "-o", self.path("out"), "--file", script,
                              "--set", "mapper=./map.sh", "--set", "reducer=NONE", "--wait", "--json", "--master",
                              cluster.address)
        self.assert_ok(submitted)
        ask = ["logs", json.loads(submitted.out)["job_id"], "--master", cluster.address]
        self.assertIn(b"\x1b[2Jred\tgreen\r\n", self.weir(*ask).out, "a pipe gets what was written")
        controller, terminal = os.openpty()
        with open(controller, "rb") as shown:
            asked = self.start(*ask, preexec_fn=lambda: os.dup2(terminal, 1))
            self.assert_ok(self.finish(asked))
            os.close(terminal)
            text = b""
            with contextlib.suppress(OSError):  # how a terminal ends
                while piece := os.read(shown.fileno(), 4096):
                    text += piece
        self.assertIn(b"\\033[2Jred\tgreen\\r\r\n", text)
        self.assertNotIn(b"\x1b", text)

    def test_no_master(self):
        result = self.weir("list", "jobs", "--master", "127.0.0.1:1")
        self.assert_fails(result, 3, "127.0.0.1:1")
        result = self.weir("submit", "wordcount", "/etc/hostname", "-o", self.path("out"), "--master", "127.0.0.1:1")
        self.assertEqual(result.code, 3)

    def test_no_workers(self):
        cluster = Cluster(self, workers=0)
        result = cluster.submit("wordcount", self.write("a", "x"), "-o", self.path("out"))
        self.assert_fails(result, 4, "worker")
        self.assertFalse(os.path.exists(self.path("out")))

    def test_a_wrong_network_file_stops_the_master(self):
        bad = self.write("bad.json", '{"schema": 1, "racks": [{"workers": ["a"], "up_channels": 0}]}')
        result = self.weir("master", "--listen", "127.0.0.1:0", "--journal", self.path("j.db"), "--network", bad,
                           timeout=10)
        self.assert_fails(result, 2, "up_channels is 0")

    def test_a_damaged_journal_stops_the_master_and_stays(self):
        journal = self.write("j.db", "no database " * 1000)
        result = self.weir("master", "--listen", "127.0.0.1:0", "--journal", journal, timeout=10)
        self.assert_fails(result, 4, "is damaged", "move it away")
        with open(journal, encoding="ascii") as file:
            self.assertEqual(file.read(), "no database " * 1000)

    def test_a_journal_that_cannot_be_one_names_the_flag(self):
        for journal in (self.dir, "/proc/none/j.db"):
            result = self.weir("master", "--listen", "127.0.0.1:0", "--journal", journal, timeout=10)
            self.assert_fails(result, 4, journal, "--journal FILE")

    def test_a_journal_that_may_not_grow_names_the_limit(self):
        journal = self.path("j.db")
        result = self.weir("master", "--listen", "127.0.0.1:0", "--journal", journal, timeout=10,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 10, 8 << 10)))
        self.assert_fails(result, 4, f"the journal {journal} may not grow", "File too large", "ulimit -f")

    def test_a_journal_that_is_a_link_is_named_with_what_it_leads_to(self):
        for target in ("elsewhere/j.db", self.path("elsewhere", "j.db")):
            with self.subTest(target):
                journal = self.path("link.db")
                os.symlink(target, journal)
                result = self.weir("master", "--listen", "127.0.0.1:0", "--journal", journal, timeout=10)
                self.assert_fails(result, 4, journal, "is a symbolic link", f"--journal {self.path('elsewhere', 'j.db')}")
                os.remove(journal)

    def test_a_client_without_threads_ends(self):
        cluster = Cluster(self, workers=0)
        for kib in (250_000, 300_000, 400_000):
            def little(limit=kib << 10):
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            result = self.weir("list", "jobs", "--master", cluster.address, preexec_fn=little, timeout=30)
            self.assertIn(result.code, (0, 1, 3), f"{kib} KiB: {result.err}")

    def test_a_network_file_that_is_wrong_is_named(self):
        network = self.write("network.json", "{")
        result = self.weir("master", "--listen", "127.0.0.1:0", "--journal", self.path("j.db"), "--network", network, timeout=10)
        self.assert_fails(result, 2, f"--network {network}", "not valid JSON")

    def test_few_descriptors_are_named(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
        for code, command in ((1, ["list", "jobs", "--master", "127.0.0.1:1"]),
                              (4, ["worker", "--master", "127.0.0.1:1", "--work-dir", self.work]),
                              (4, ["master", "--listen", "127.0.0.1:0", "--journal", self.path("journal")])):
            self.assert_fails(self.weir(*command, preexec_fn=few, timeout=30), code, "open files", "ulimit -n")

    def test_daemons_take_all_descriptors_that_they_may_have(self):
        def few():
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, min(hard, 1 << 20) if hard > 0 else 1 << 20))
        cluster = Cluster(self, workers=1, preexec_fn=few)
        for daemon in (cluster.master, cluster.workers[0]):
            soft, hard = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
            self.assertGreater(hard, 200, "nothing tested")
            self.assertEqual(soft, hard)

    def test_a_master_without_descriptors_for_a_moment_hears_again(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
        cluster = Cluster(self, workers=0, preexec_fn=few)
        cluster.preexec_fn = None
        cluster.workers.append(cluster.start_worker(0))
        cluster.wait_for_workers(1)
        callers = []
        for _ in range(160):
            try:
                callers.append(socket.create_connection(("127.0.0.1", cluster.port), timeout=10))
            except OSError:
                break
        wait_for(lambda: "Failed accept4" in self.text(self.path("master.log")), 20, cluster.log_text)
        for caller in callers:
            caller.close()
        wait_for(lambda: "new ones are accepted again" in self.text(self.path("master.log")), 20, cluster.log_text)
        out = self.path("out")
        self.assert_ok(cluster.submit("wordcount", self.write("a", "x y x"), "-o", out))
        self.assertEqual(sorted(read_parts(out)), [b"x\t2", b"y\t1"])
        self.assertIsNone(cluster.master.poll(), "it is the same master")

    def test_listening_beyond_loopback_needs_a_decision(self):
        result = self.weir("master", "--listen", "0.0.0.0:0", "--journal", self.path("j.db"), timeout=10)
        self.assertIn(result.code, (2, 4))
        self.assertIn("--insecure", result.err)

    def test_a_daemon_whose_port_is_taken_does_not_blame_a_master(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            for daemon in (["master", "--journal", self.path("j.db")],
                           ["worker", "--master", "127.0.0.1:1", "--work-dir", self.work, "--no-measure"]):
                result = self.weir(*daemon, "--listen", address, timeout=30)
                self.assert_fails(result, 4, address, "the address is taken")

    def test_a_service_manager_hears_when_a_master_serves_and_stops(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.path("notify"))
            manager.settimeout(20)
            address = f"127.0.0.1:{free_port()}"
            master = self.start("master", "--listen", address, "--journal", self.path("j.db"),
                                env={"NOTIFY_SOCKET": self.path("notify")})
            self.addCleanup(master.kill)
            self.assertEqual(manager.recv(4096).decode(), f"READY=1\nSTATUS=Serves on {address}")
            self.assert_ok(self.weir("list", "jobs", "--master", address))
            master.terminate()
            self.assertEqual(manager.recv(4096), b"STOPPING=1")
            self.assertEqual(self.finish(master).code, 0)
        refused = self.weir("master", "--listen", f"127.0.0.1:{free_port()}", "--journal", self.dir,
                            env={"NOTIFY_SOCKET": self.path("notify")})
        self.assertNotEqual(refused.code, 0)
        self.assertNotIn("service manager", refused.err, "what never served has nothing to tell")

    def test_a_name_that_only_the_machine_knows_is_looked_up_as_the_machine_does(self):
        # No label is as long, so that no name server is asked; and 127.1 is an address to the C library alone.
        unknown = self.weir("list", "workers", "--master", "a" * 70 + ":9")
        self.assert_fails(unknown, 3, "set GRPC_DNS_RESOLVER=native")
        native = {"GRPC_DNS_RESOLVER": "native"}
        known = self.weir("list", "workers", "--master", f"127.1:{free_port()}", env=native)
        self.assert_fails(known, 3, "ipv4:127.0.0.1:", "Connection refused")
        self.assertNotIn("GRPC_DNS_RESOLVER", known.err)

    def test_a_proxy_in_the_environment_is_not_used(self):
        nobody = f"http://127.0.0.1:{free_port()}"
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "grpc_proxy", "all_proxy"), nobody)
        with unittest.mock.patch.dict(os.environ, proxies | {"no_proxy": "", "no_grpc_proxy": ""}):
            cluster = Cluster(self, workers=2)
            self.assert_ok(cluster.submit("wordcount", self.write("a", "x y x"), "-o", self.path("out"), "--reducers", "2"))

    def test_a_terminal_that_goes_ends_daemons_in_order(self):
        cluster = Cluster(self, workers=1)
        for daemon in (*cluster.workers, cluster.master):
            daemon.send_signal(signal.SIGHUP)
            self.assertEqual(daemon.wait(timeout=15), 0)

    def test_a_restarted_master_lists_past_jobs(self):
        cluster = Cluster(self, workers=1)
        out = self.path("out")
        self.assert_ok(cluster.submit("wordcount", self.write("a", "x y x"), "-o", out))
        before = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
        cluster.master.terminate()
        cluster.master.wait(timeout=15)
        cluster.master = cluster.start_master()
        cluster.wait_for_workers(1)
        after = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
        self.assertEqual([j["job_id"] for j in before], [j["job_id"] for j in after])
        self.assert_ok(cluster.submit("wordcount", self.path("a"), "-o", self.path("out2")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
