"""One small cell of the laboratory: what must hold, whatever the machine's speed. No timing is asserted.

Output right, every byte moved exactly once, ports and cuts within the limits of the plan; the laboratory leaves nothing
behind. Skipped, with the reason, without root.
"""
import os
import subprocess
import sys
import unittest

import bounds
import network
import scenarios
import shuffle
from cluster import LabCluster

SKIPPED = 77


def left_behind():
    spaces = subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout.split("\n")
    shared = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return {line.split()[0] for line in spaces if line} | {name for name in shared if name.startswith("weir-netlab-")}


class Smoke(unittest.TestCase):
    def test_planned_and_unplanned_shuffles_keep_their_limits(self):
        before = left_behind()
        scenario = scenarios.make("random", shuffle.HOSTS, seed=5)
        with shuffle.make_lab("racks-2", "128k") as lab, LabCluster(lab, network=shuffle.network_of(lab)) as cluster:
            matrix = scenario.scaled(150_000)
            input_file = shuffle.write_input(cluster, matrix, scenario)
            for variant in shuffle.VARIANTS:
                with self.subTest(variant=variant):
                    # Raises when the output or the trace is wrong.
                    result = shuffle.run_variant(lab, cluster, matrix, scenario, variant, input_file)
                    self.assertGreaterEqual(result["transfers"], shuffle.HOSTS * (shuffle.HOSTS - 1))
        self.assertEqual(left_behind() - before, set())

    def test_bounds_by_hand(self):
        lab = network.Lab(hosts=8, kind="racks", rate_mbit=100, core_mbit=200)
        port = lab.port_bytes_per_s()
        ones = [[port / 10] * 8 for _ in range(8)]
        # Of 16 sections that cross the core each way, two go at once: 8 tenths of a second; a port needs 7.
        end, limit = bounds.shuffle_bound(lab, ones, [1.0] * 8)
        self.assertAlmostEqual(end, 1.8)
        self.assertIn("core", limit)
        # The last mapper alone must still send 7 sections.
        end, limit = bounds.shuffle_bound(lab, ones, [0.0] * 7 + [5.0])
        self.assertAlmostEqual(end, 5.7)


if __name__ == "__main__":
    reason = network.check()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
