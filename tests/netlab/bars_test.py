"""The laboratory's bars and its check of itself, by hand: no namespaces, no root."""
import unittest

import bars
import gate_test
import self_check


def cell(section_bytes, **variants):
    return {"topology": "racks-2", "queue": "1m", "scenario": "equal", "section_bytes": section_bytes,
            "variants": {name.replace("_", "-"): {"median": {"ratio": ratio, "retransmits": resent}}
                         for name, (ratio, resent) in variants.items()}}


class Bars(unittest.TestCase):
    def held(self, *cells):
        return [row[-1] for row in bars.verdicts(cells)]

    def test_large_sections_have_the_lower_bar(self):
        self.assertEqual(self.held(cell(1_000_000, planned=(1.05, 0))), [True])
        self.assertEqual(self.held(cell(1_000_000, planned=(1.06, 0))), [False])
        self.assertEqual(self.held(cell(999_999, planned=(1.08, 0))), [True])
        self.assertEqual(self.held(cell(999_999, planned=(1.09, 0))), [False])

    def test_the_best_way_without_a_plan_counts_and_no_other_plan(self):
        self.assertEqual(self.held(cell(1, planned=(1.04, 0), rates=(1.0, 0), fetch_5=(1.2, 0), fetch_all=(1.03, 0))), [True] * 3)
        self.assertEqual(self.held(cell(1, planned=(1.04, 0), fetch_5=(1.2, 0), fetch_all=(1.02, 0))), [True, False, True])

    def test_segments_sent_again(self):
        self.assertEqual(self.held(cell(1, planned=(1, 1), fetch_all=(1, 50)))[-1], True)
        self.assertEqual(self.held(cell(1, planned=(1, 2), fetch_all=(1, 99)))[-1], False)
        self.assertEqual(self.held(cell(1, planned=(1, 0), fetch_all=(1, 0)))[-1], True)

    def test_what_is_missed_is_named(self):
        text = "\n".join(bars.table(bars.verdicts([cell(1, planned=(1.5, 0), fetch_all=(1.6, 0))])))
        self.assertIn("| racks-2, 1m, equal | at most 1.08 of the bound | 1.500 | **missed** |", text)
        self.assertIn("2 of 3 bars held.", text)


class Jobs(unittest.TestCase):
    def held(self, first, *later):
        runs = [{"error": error} for error in (first, *later)]
        skipped = {"channels": 8, "job": "weather", "skipped": "this build has no such job"}
        return [row[-1] for row in bars.job_verdicts([skipped, {"first": runs[0], "runs": runs[1:]}])]

    def test_first_runs_count_and_both_signs(self):
        self.assertEqual(self.held(-0.2, *[0.08] * 9), [True, True])
        self.assertEqual(self.held(-0.21, *[0.08] * 9), [True, True])
        self.assertEqual(self.held(-0.21, 0.3, *[0.08] * 8), [False, True])
        self.assertEqual(self.held(0.01, *[-0.09] * 9), [True, False])

    def test_no_runs_have_no_bars(self):
        self.assertEqual(list(bars.job_verdicts([{"job": "weather", "skipped": "no such job"}])), [])


class Gate(unittest.TestCase):
    def cell(self, against=1.0, resent=(0, 300), off=0.0, throttled_s=0.3, window_s=0.02, name=("racks-2", "128k", "equal")):
        def median(ratio, segments):
            return {"median": {"ratio": ratio, "retransmits": segments, "predicted_s": 1.0, "actual_s": 1.0 + off, "shuffle_s": 1.0,
                               "throttled_s": throttled_s, "observed": {"longest_window_s": window_s}}}

        return {"topology": name[0], "queue": name[1], "scenario": name[2], "lab": {"hosts": 8},
                "variants": {"planned": median(against * 1.1, resent[0]), "fetch-all": median(1.1, resent[1])}}

    def test_a_healthy_plan_passes(self):
        self.assertEqual(bars.gate(self.cell(1.05, (5, 0), 0.1)), [])
        self.assertEqual(bars.gate(self.cell(0.7, (0, 2000), name=("total-3", "32k", "random"))), [])

    def test_each_thing_that_is_missed_is_named(self):
        self.assertIn("takes 1.110 of fetch-all", bars.gate(self.cell(1.11))[0])
        self.assertIn("takes 1.000 of fetch-all", bars.gate(self.cell(1.0, name=("total-3", "32k", "random")))[0])
        self.assertIn("sends 7 segments again, fetch-all 300", bars.gate(self.cell(resent=(7, 300)))[0])
        self.assertEqual(bars.gate(self.cell(resent=(7, 350))), [])
        for off in (0.25, -0.25):
            self.assertIn("was predicted to take 1.00 s", bars.gate(self.cell(off=off))[0])

    def test_a_busy_machine_is_known(self):
        self.assertIsNone(bars.too_busy(self.cell()))
        self.assertIn("held back by their CPU quota for 25%", bars.too_busy(self.cell(throttled_s=2.0)))
        self.assertIn("kept from looking for 0.20 s", bars.too_busy(self.cell(window_s=0.2)))


class Together(unittest.TestCase):
    def cell(self, ratios):
        rest = ("shuffle_s", "bound_s", "first_reducer_s", "last_reducer_s", "retransmits", "throttled_s", "planning_s", "predicted_s",
                "actual_s", "predicted_shuffle_s")
        seen = {"over_limit_bytes": 0, "overhead": 0.0, "longest_window_s": 0.02, "dropped": {"ports": 0, "core": 0}}
        runs = [{"ratio": ratio, "observed": seen, **dict.fromkeys(rest, 1.0)} for ratio in ratios]
        return {"topology": "racks-2", "variants": {variant: {"median": {}, "runs": runs} for variant in gate_test.VARIANTS}}

    def test_measurements_are_judged_by_all_of_their_runs(self):
        both = gate_test.together([self.cell([1.0, 1.3, 1.2]), self.cell([1.1, 1.05, 1.02])])
        for variant in gate_test.VARIANTS:
            self.assertEqual(len(both["variants"][variant]["runs"]), 6)
            self.assertAlmostEqual(both["variants"][variant]["median"]["ratio"], 1.075)


class SelfCheck(unittest.TestCase):
    def test_the_rate_is_lowered_until_all_links_reach_it_and_said(self):
        said = []
        rate, tries = self_check.settle_rate(100, said.append, lambda mbit: [1.0] * 7 + [1.0 if mbit < 60 else 0.7])
        self.assertEqual(rate, 56)
        self.assertEqual([one["rate_mbit"] for one in tries], [100, 75, 56])
        self.assertIn("8 links of 100 Mbit/s", said[0])
        self.assertIn("least 0.700", said[0])

    def test_a_machine_that_carries_nothing_is_told(self):
        with self.assertRaisesRegex(self_check.TooBusy, "is something else running"):
            self_check.settle_rate(100, lambda line: None, lambda mbit: [0.5])


if __name__ == "__main__":
    unittest.main(verbosity=2)
