"""A few seconds of chaos on loopback: that the tools strike and the oracle sees. No figure is asserted, nor how jobs end."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import chaos_cluster  # noqa: E402
import flip_proxy  # noqa: E402
import work  # noqa: E402
from bench import Report, at_most, missed, none_of, some_of, unmeasured  # noqa: E402
from chaos_cluster import ChaosCluster, ClusterError  # noqa: E402
from ground import Loopback  # noqa: E402
from restarts import outcome_beside, outcome_of_commit  # noqa: E402
from soak import slope  # noqa: E402


class Smoke(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="weir-chaos-smoke-")
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name

    def run_chaos(self, *scenarios):
        results = os.path.join(self.dir, "results.json")
        flags = [flag for name in scenarios for flag in ("--scenario", name)]
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "run"), "--quick", "--seeds", "2", "--ground", "loopback", "--workers", "4",
             "--job", "wordcount", "--megabytes", "2", "-o", results, *flags], capture_output=True, text=True, timeout=240)
        # Neither a wrong output nor a hang, nor a scenario that broke off.
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-4000:])
        with open(results, encoding="utf-8") as file:
            return {report["scenario"]: report for report in json.load(file)["reports"]}

    def test_kills_damage_and_crashes_strike(self):
        reports = self.run_chaos("kills", "flips", "commit")
        self.assertGreater(sum(row["met"] for row in reports["kills"]["rows"]), 0)
        for place in ("frames", "runs", "parts"):
            struck = sum(row["struck"] for row in reports["flips"]["rows"] if row["place"] == place)
            self.assertGreater(struck, 0, f"no bit was turned in {place}")
        self.assertTrue(all(row["met"] for row in reports["commit"]["rows"]), "the master outlived a crash point")
        for row in reports["commit"]["rows"]:
            self.assertNotEqual(row["found"], "torn", row)
            self.assertEqual(row["left"], [], row)
        for report in reports.values():
            self.assertTrue(report["bars"])

    def test_a_daemon_that_crashes_ends_the_scenario_before_another_takes_its_place_and_at_the_end(self):
        for brought_back in (True, False):
            with self.subTest(brought_back=brought_back), tempfile.TemporaryDirectory(dir=self.dir) as place, \
                    Loopback(1, place) as ground:
                with self.assertRaisesRegex(ClusterError, "crashed by SIGSEGV.*w0"), ChaosCluster(ground, place, 1) as cluster:
                    cluster.workers[0].send_signal(signal.SIGSEGV)
                    cluster.workers[0].wait()
                    if brought_back:
                        cluster.bring_all_back()
                self.assertIsNotNone(cluster.master_process.poll())
                self.assertEqual(len(cluster.spawned), 0)

    def test_a_daemon_that_is_killed_does_not(self):
        with Loopback(1, self.dir) as ground, ChaosCluster(ground, self.dir, 1) as cluster:
            cluster.kill_worker(0)
            cluster.bring_all_back()

    def test_the_oracle_sees_a_line_too_many_and_one_too_few(self):
        output = os.path.join(self.dir, "out")
        os.mkdir(output)
        job = work.Work("wordcount", "words", [b"a\t1", b"b\t2"])
        for text, right in ((b"b\t2\na\t1\n", True), (b"a\t1\n", False), (b"a\t1\nb\t2\nb\t2\n", False),
                            (b"a\t1\nb\t3\n", False), (b"a\t1\nb\t2\nc", False), (b"a\t1\nb\t2\n\n", False)):
            with open(os.path.join(output, "part-00000"), "wb") as file:
                file.write(text)
            self.assertEqual(job.check(output) is None, right, text)
        self.assertIsNotNone(job.check(os.path.join(self.dir, "nothing")))

    def test_ports_are_none_that_the_system_gives_to_others(self):
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            given_from = int(file.read().split()[0])
        if given_from <= 20_000:
            self.skipTest(f"this system gives ports from {given_from} on")
        ground = types.SimpleNamespace(name="loopback", address=lambda _: "127.0.0.1", network_file=lambda: None)
        ports = [int(chaos_cluster.ChaosCluster(ground, self.dir, workers=0).address.split(":")[1]) for _ in range(20)]
        ports += [chaos_cluster.free_port("127.0.1.1") for _ in range(20)]
        self.assertLess(max(ports), given_from)
        self.assertGreater(min(ports), 1023)
        with socket.socket() as taken:
            taken.bind(("127.0.1.1", chaos_cluster.free_port("127.0.1.1")))

    def test_flips_turn_one_bit_at_each_position(self):
        import random
        flips = flip_proxy.Flips()
        flips.arm([0, 5, 9], random.Random(1))
        before = b"0123456789"
        after = flips.through(before[:4]) + flips.through(before[4:])
        changed = [i for i in range(10) if before[i] != after[i]]
        self.assertEqual(changed, [0, 5, 9])
        self.assertTrue(all(bin(before[i] ^ after[i]).count("1") == 1 for i in changed))
        self.assertEqual(flips.struck, 3)

    def test_corrupt_file_turns_the_same_bit_back(self):
        path = os.path.join(self.dir, "file")
        with open(path, "wb") as file:
            file.write(b"x" * 1000)
        os.chmod(path, 0o444)
        seen = []
        for _ in range(2):
            subprocess.run([os.path.join(HERE, "corrupt-file"), "--seed", "7", path], check=True, capture_output=True)
            with open(path, "rb") as file:
                seen.append(sum(byte != ord("x") for byte in file.read()))
        self.assertEqual(seen, [1, 0])
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o444)

    def test_torn_outputs_and_lost_jobs_are_wrong_whatever_comes_of_them_later(self):
        self.assertEqual(outcome_of_commit("before", again_right=True, lost=False), "right")
        self.assertEqual(outcome_of_commit("complete", again_right=True, lost=False), "right")
        self.assertEqual(outcome_of_commit("torn", again_right=True, lost=False), "wrong")
        self.assertEqual(outcome_of_commit("before", again_right=True, lost=True), "wrong")
        self.assertEqual(outcome_of_commit("complete", again_right=False, lost=False), "wrong")
        self.assertEqual(outcome_beside("right", lost=0, torn=0, stuck=0), "right")
        self.assertEqual(outcome_beside("failed by name", lost=0, torn=0, stuck=0), "failed by name")
        self.assertEqual(outcome_beside("right", lost=1, torn=0, stuck=0), "wrong")
        self.assertEqual(outcome_beside("right", lost=0, torn=1, stuck=1), "wrong")
        self.assertEqual(outcome_beside("right", lost=0, torn=0, stuck=1), "stuck")

    def test_a_bar_that_was_not_measured_is_missed_unless_it_may_be(self):
        report = Report("slow", {"ground": "loopback"})
        report.bars += [none_of("wrong", 0), unmeasured("runs that a slow worker met"), some_of("met", 0)]
        self.assertEqual([bar.name for bar in missed(report, [])], ["runs that a slow worker met", "met"])
        self.assertEqual([bar.name for bar in missed(report, ["pause"])], ["runs that a slow worker met", "met"])
        self.assertEqual([bar.name for bar in missed(report, ["slow"])], ["met"])

    def test_bars_and_slopes_by_hand(self):
        self.assertTrue(at_most("a", 1.3, 1.3).held)
        self.assertFalse(at_most("a", 1.31, 1.3).held)
        self.assertIsNone(at_most("a", None, 1.3).held)
        self.assertFalse(none_of("a", 1).held)
        rate, error = slope([(0, 0), (3600, 2e6), (7200, 4e6)])
        self.assertAlmostEqual(rate, 2.0)
        self.assertAlmostEqual(error, 0.0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
