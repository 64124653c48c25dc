"""Published tables are the report's own output, and only results of one commit make one."""
import json
import os
import tempfile
import unittest

import bars
import published


def run(ratio, resent=0, off=0.0):
    return {"ratio": ratio, "retransmits": resent, "predicted_s": 1.0, "actual_s": 1.0 + off}


def cell(scenario, section_bytes, **variants):
    return {"topology": "racks-2", "queue": "1m", "scenario": scenario, "section_bytes": section_bytes, "limit": "total",
            "variants": {name.replace("_", "-"): {"median": one, "runs": [one]} for name, one in variants.items()}}


def result(*cells, commit="abc1234", **options):
    return {"machine": {"commit": commit, "when": "today", "cpu": "one", "cores": 2, "kernel": "6", "version": "weir 0", "rate_limiter": "tbf",
                        "mtu": 1500, "cpu_limit": "none", "load": 0.0},
            "options": {"rate": 50, "repeats": 1, "congestion_control": None, **options}, "shuffle": list(cells), "commands": ["run"]}


EQUAL = cell("equal", 2_000_000, planned=run(1.04 + 1e-9), fetch_all=run(1.05, 120))
RANDOM = cell("random", 1000, planned=run(1.09, 3, 0.3), fetch_all=run(1.0, 30))


class Published(unittest.TestCase):
    def test_counts_by_hand(self):
        rows = dict(bars.counts([EQUAL, RANDOM]))
        self.assertEqual(rows["at most 1.05 of the bound with sections of 1 MB or more"], "1 of 1 cells; median 1.040, worst 1.040")
        self.assertEqual(rows["at most 1.08 of the bound with smaller ones"], "0 of 1 cells; median 1.090, worst 1.090")
        self.assertEqual(rows["at most 1.01 of the best unplanned way"],
                         "1 of 2 cells; median 1.040, worst 1.090; strictly the fastest in 1")
        self.assertEqual(rows["segments sent again 50 times fewer than fetch-all"], "yes: 3 against 150")
        self.assertEqual(rows["planned runs predicted within 20 %"], "1 of 2; median 15.0% off")

    def test_parts_of_one_commit_make_a_table(self):
        whole = published.merged([result(EQUAL), result(RANDOM)])
        self.assertEqual([c["scenario"] for c in whole["shuffle"]], ["equal", "random"])
        for other, why in ((result(RANDOM, commit="other"), "two commits"), (result(EQUAL), "measured twice: racks-2, 1m, equal"),
                           (result(RANDOM, rate=40), "--rate: 50 and 40")):
            with self.assertRaisesRegex(published.PublishError, why):
                published.merged([result(EQUAL), other])

    def test_what_is_published_is_what_the_report_prints(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "docs/figures"))
            os.makedirs(os.path.join(root, os.path.dirname(published.DOCUMENT)))
            document = os.path.join(root, published.DOCUMENT)
            with open(document, "w", encoding="utf-8") as file:
                file.write("before\n" + "\n".join(published.markers("here")) + "\nafter\n")
            published.publish(result(EQUAL), "here", root)
            with open(os.path.join(root, published.figure("here")), encoding="utf-8") as file:
                kept = json.load(file)
            self.assertEqual(kept["shuffle"][0]["variants"]["planned"]["median"]["ratio"], 1.04)
            with open(document, encoding="utf-8") as file:
                text = file.read()
            self.assertEqual(text, f"before\n{published.markers('here')[0]}\n{published.block(kept)}{published.markers('here')[1]}\nafter\n")
            self.assertIn("| racks-2 | 1m | equal | 2 MB | 1.040 (0) | 1.050 (120) | -1.0% |", text)
            self.assertEqual(list(published.problems(root)), [])
            with open(document, "w", encoding="utf-8") as file:
                file.write(text.replace("1 of 1 cells", "2 of 2 cells"))
            self.assertRegex("".join(published.problems(root)), "netlab here is not what")

    def test_what_no_commit_holds_is_not_published(self):
        with self.assertRaisesRegex(published.PublishError, "in no commit"):
            published.publish(result(EQUAL, commit="abc1234-dirty"), "here")
        with self.assertRaisesRegex(published.PublishError, "needs these lines once each"):
            published.publish(result(EQUAL), "nowhere")

    def test_the_document_of_this_tree(self):
        self.assertEqual(list(published.problems()), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
