"""The observer's judgement over counters made up by hand: what keeps the limits passes, and each broken one is named."""
import copy
import unittest

import network
import observer

PERIOD_NS = 10_000_000
RATE_MBIT, HOSTS = 50, 4
PORT = RATE_MBIT * network.MBIT
STEP = PORT * PERIOD_NS / 1e9  # bytes of frames that a port carries between two samples
FRAMES = network.FRAME / network.MSS
ACTIVE = 50  # windows in which data moves; five before and after them


def steady(per_step, begin=5, length=ACTIVE, after=5, offset=0):
    """Counts of a link that stands still, carries `per_step` a window, and stands still."""
    counts = [offset] * (begin + 1)
    for _ in range(length):
        counts.append(counts[-1] + per_step)
    return [int(count) for count in counts + [counts[-1]] * after]


class Observer(unittest.TestCase):
    """Host j sends to host j + 1 alone, at the full rate of its port: two of the four cross a core of two channels."""

    def setUp(self):
        self.lab = network.Lab(hosts=HOSTS, kind="racks", rate_mbit=RATE_MBIT, core_mbit=2 * RATE_MBIT)
        payload = STEP / FRAMES
        section = int(payload * ACTIVE) - 1
        self.matrix = [[section if k == (j + 1) % HOSTS else 0 for k in range(HOSTS)] for j in range(HOSTS)]
        full = steady(STEP)
        times = [[i * PERIOD_NS, i * PERIOD_NS + 100_000] for i in range(len(full))]
        links = {}
        for host in range(HOSTS):
            links[f"{self.lab.prefix}s{self.lab.rack(host)}/p{host}"] = {"rx": full, "tx": full}
        for rack in (0, 1):
            links[f"{self.lab.prefix}s{rack}/core"] = {"rx": full, "tx": full}
        received = {self.lab.namespace(k): {self.lab.address(j): steady(payload if self.matrix[j][k] else 0, offset=1000)
                                            for j in range(HOSTS) if j != k} for k in range(HOSTS)}
        self.seen = {"time_ns": times, "links": links, "received": received, "cpu_s": 0.0}
        self.transfers = [{"sender": j, "receiver": (j + 1) % HOSTS, "actual": {"start_s": 0.0, "finish_s": ACTIVE * 0.01}} for j in range(HOSTS)]
        self.result = {"shuffle_s": ACTIVE * 0.01, "retransmits": 0, "limit": "send port 0"}

    def judged(self, seen=None):
        return observer.judge(self.lab, seen or self.seen, self.matrix, self.transfers, self.result)

    def link(self, name):
        device, way, rate, burst = observer.links(self.lab)[name]
        return self.seen["links"][device], way, rate, burst

    def test_what_keeps_its_limits_passes(self):
        found, problems = self.judged()
        self.assertEqual(problems, [])
        self.assertAlmostEqual(found["span_s"], ACTIVE * 0.01)
        self.assertAlmostEqual(found["limit_busy"], 1.0, places=3)
        self.assertEqual(found["limit_idle"], 0.0)
        self.assertAlmostEqual(found["peers"], 1.0)
        self.assertAlmostEqual(found["trace_peers"], 1.0)

    def test_a_port_above_its_rate_is_named_in_the_long_run_and_in_one_window(self):
        for name in ("send port 2", "receive port 1", "core from rack 1"):
            with self.subTest(name=name):
                self.setUp()
                device, way, rate, burst = self.link(name)
                device[way] = steady(1.05 * rate * PERIOD_NS / 1e9)
                self.assertTrue(any(p.startswith(f"{name} carried") for p in self.judged()[1]))
                # One window of twice the rate, made up for by an idle one.
                self.setUp()
                device, way, rate, burst = self.link(name)
                counts = steady(rate * PERIOD_NS / 1e9)
                counts[20] += 2 * burst + observer.FRAMES_LATE * network.FRAME
                device[way] = counts
                self.assertTrue(any(p.startswith(f"{name} carried") for p in self.judged()[1]))

    def test_a_burst_and_late_samples_are_no_breach(self):
        device, way, _, burst = self.link("send port 2")
        counts = list(device[way])
        counts[20] += burst
        device[way] = counts
        self.assertEqual(self.judged()[1], [])
        # The sampler stood still for three periods, and its read took one: as much arrived as in that time could.
        seen = copy.deepcopy(self.seen)
        keep = [i for i in range(len(seen["time_ns"])) if i not in (30, 31, 32)]
        seen["time_ns"] = [seen["time_ns"][i] for i in keep]
        seen["links"] = {d: {w: [s[i] for i in keep] for w, s in ways.items()} for d, ways in seen["links"].items()}
        seen["received"] = {h: {a: [s[i] for i in keep] for a, s in flows.items()} for h, flows in seen["received"].items()}
        self.assertEqual(self.judged(seen)[1], [])

    def test_frames_of_an_ifb_count_when_its_bucket_let_them_through(self):
        total = network.Lab(hosts=HOSTS, kind="total", rate_mbit=RATE_MBIT, core_mbit=2 * RATE_MBIT)
        device, _, rate, burst = observer.links(total)["total"]
        even = steady(rate * PERIOD_NS / 1e9)
        late = list(even)
        late[20] = late[19]  # A softirq that came a sample late: twice as much in the next window.
        idle = {"rx": [0] * len(even), "tx": [0] * len(even)}
        seen = {**self.seen, "links": {name: idle for name, *_ in observer.links(total).values()}}
        seen["links"][device] = {"rx": even, "tx": late}
        self.assertEqual(observer.limit_problems(total, seen)[0], [])
        seen["links"][device] = {"rx": [2 * count for count in even], "tx": late}
        self.assertEqual(len(observer.limit_problems(total, seen)[0]), 1)

    def test_excess_is_the_burst_of_the_arrival_curve(self):
        times = [[0, 0], [1_000_000_000, 1_000_000_000], [2_000_000_000, 2_000_000_000], [3_000_000_000, 3_000_000_000]]
        self.assertEqual(observer.excess(times, [0, 100, 200, 300], 100), 0)
        self.assertEqual(observer.excess(times, [0, 50, 170, 300], 100), 50)  # 250 bytes in the last two seconds
        # A read that lasted 0.1 s may hold what came in it.
        self.assertEqual(observer.excess([[0, 0], [1_000_000_000, 1_100_000_000]], [0, 115], 100), 5)

    def test_bytes_that_the_matrix_does_not_have_are_named(self):
        self.matrix[0][1] = int(self.matrix[0][1] * 1.1)
        self.assertTrue(any("host 1 received" in p and "from host 0" in p for p in self.judged()[1]))
        self.setUp()
        self.matrix[0][1] = int(self.matrix[0][1] * 0.7)
        problems = self.judged()[1]
        self.assertTrue(any("host 1 received" in p for p in problems))
        self.assertTrue(any("the link to host 1 carried" in p for p in problems))

    def test_bytes_from_whom_nothing_had_to_come(self):
        self.seen["received"][self.lab.namespace(2)][self.lab.address(0)] = steady(STEP / 2)
        self.assertTrue(any("host 2 received" in p and "from host 0, not 0" in p for p in self.judged()[1]))

    def test_a_trace_that_ends_before_the_data_does_is_contradicted(self):
        self.result["shuffle_s"] -= 0.05
        self.assertTrue(any("data moved for" in p for p in self.judged()[1]))

    def test_a_port_that_hears_two_peers_at_once_contradicts_an_order(self):
        flows = self.seen["received"][self.lab.namespace(1)]
        half = STEP / FRAMES / 2
        self.matrix[0][1] = self.matrix[2][1] = int(half * ACTIVE) - 1
        flows[self.lab.address(0)], flows[self.lab.address(2)] = steady(half), steady(half)
        # All other hosts do the same, so that the mean over all ports is two.
        for k in (0, 2, 3):
            first, second = (k - 1) % HOSTS, (k + 1) % HOSTS
            self.matrix[first][k] = self.matrix[second][k] = int(half * ACTIVE) - 1
            flows = self.seen["received"][self.lab.namespace(k)]
            flows[self.lab.address(first)], flows[self.lab.address(second)] = steady(half), steady(half)
        found, problems = self.judged()
        self.assertAlmostEqual(found["peers"], 2.0, places=2)
        self.assertTrue(any("2.00 peers at a time, the trace says 1.00" in p for p in problems))
        # A trace that says so, as one of lanes or rates does, is not contradicted.
        self.transfers += [{**t, "sender": (t["sender"] + 2) % HOSTS} for t in self.transfers]
        self.assertEqual(self.judged()[1], [])

    def test_an_idle_line_shows(self):
        device, way, _, _ = self.link("send port 0")
        device[way] = steady(STEP, length=ACTIVE - 10, after=15)
        found, _ = self.judged()
        self.assertAlmostEqual(found["limit_busy"], 0.8, places=2)
        self.assertAlmostEqual(found["limit_idle"], 0.2, places=2)

    def test_messages_of_the_master_are_no_data(self):
        device = self.seen["links"][f"{self.lab.prefix}s0/p1"]
        device["tx"] = [0, 0] + [count + int(0.9 * STEP) for count in device["tx"][2:]]
        received = self.seen["received"][self.lab.namespace(1)]
        received[self.lab.address("ctl")] = [0, 0] + [int(0.9 * STEP)] * (len(self.seen["time_ns"]) - 2)
        found, problems = self.judged()
        self.assertEqual(problems, [])
        self.assertAlmostEqual(found["span_s"], ACTIVE * 0.01)

    def test_nothing_seen_is_a_contradiction(self):
        for ways in self.seen["links"].values():
            ways["rx"] = ways["tx"] = [0] * len(self.seen["time_ns"])
        self.assertEqual(self.judged()[1], ["the observer saw no data"])
        self.setUp()
        self.seen["received"] = {host: {} for host in self.seen["received"]}
        self.assertEqual(self.judged()[1], ["the observer saw no data"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
