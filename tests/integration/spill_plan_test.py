"""What plans say of steps whose memory is full, beside what those put on disk."""
import json
import os
import re
import unittest

from weir_process import Cluster, WeirTest

# predicted / actual bytes on disk, for data whose keys are independent draws.
WITHIN = 0.25


class SpillPlan(WeirTest):
    def words(self, distinct_bytes, megabytes):
        """Words of hexadecimal digits, all as often, in no order."""
        path = self.path("words")
        with open(path, "wb") as file:
            for _ in range(megabytes):
                for _ in range(64):
                    row = os.urandom((1 << 14) // (2 * distinct_bytes + 1) * distinct_bytes)
                    file.write(row.hex(" ", distinct_bytes).encode() + b"\n")
        return path

    def records(self, count):
        path = self.path("records")
        self.assert_ok(self.weir("data", "generate", "terasort", "--records", str(count), "-o", path))
        return path

    def embedded(self, job, path, *args):
        out = self.path("out")
        result = self.run_job(job, path, "-o", out, "--json", "--overwrite", "--no-history", *args)
        self.assert_ok(result)
        with open(out + "/_weir/plan.json", encoding="utf-8") as file:
            return json.load(file), json.loads(result.out)["counters"].get("spilled_bytes", 0)

    def assert_foreseen(self, plan, counted):
        self.assertEqual(plan["actual_spilled_bytes"], counted)
        error = plan["spilled_bytes"] / counted - 1
        self.assertLess(abs(error), WITHIN, f"{plan['spilled_bytes']} foreseen, {counted} on disk; {plan['notes']}")
        notes = [note for note in plan["notes"] if note.startswith("Memory does not hold all: ")]
        self.assertEqual(len(notes), 1, plan["notes"])
        self.assertEqual(sum(layer.get("spilled_bytes", 0) for layer in plan["layers"]), plan["spilled_bytes"])
        for step in plan["steps"]:
            self.assertLessEqual(step.get("spill_s", 0), step["predicted"]["finish_s"] - step["predicted"]["start_s"])
        return notes[0]

    def test_tables_of_words(self):
        # 16.8 million different ones at most.
        path = self.words(3, 100)
        for memory in ("24MiB", "100MiB"):
            with self.subTest(memory=memory):
                plan, counted = self.embedded("wordcount", path, "--workers", "2", "--slots", "1", "--memory", memory)
                self.assertGreater(counted, 50_000_000)
                note = self.assert_foreseen(plan, counted)
                self.assertRegex(note, r"each of 2 map steps puts (about|up to) [0-9.]+ MB on disk")

    def test_pairs_in_place(self):
        path = self.records(1_000_000)
        # One file of each slot after the other, and so many that they are merged in between.
        for memory in ("64MiB", "12MiB"):
            with self.subTest(memory=memory):
                plan, counted = self.embedded("terasort", path, "--workers", "1", "--slots", "2", "--mappers", "1",
                                              "--memory", memory)
                self.assertGreaterEqual(counted, 100_000_000)
                note = self.assert_foreseen(plan, counted)
                self.assertIn("the map step puts", note)
                self.assertNotIn("reduce", note)

    def test_nothing_is_said_where_memory_holds_all(self):
        path = self.words(3, 70)
        plan, counted = self.embedded("wordcount", path, "--workers", "2", "--memory", "4GiB")
        self.assertEqual(counted, 0)
        self.assertNotIn("spill", json.dumps({name: plan[name] for name in plan if name != "title"}))
        self.assertFalse([note for note in plan["notes"] if note.startswith("Memory")])

    def test_a_cluster_says_it_of_the_worker_that_has_little(self):
        path = self.words(3, 80)
        cluster = Cluster(self, workers=1)
        cluster.workers.append(cluster.start_worker(1, extra=("--memory", "40MiB")))
        cluster.wait_for_workers(2)
        out = self.path("out")
        dry = self.weir("plan", "wordcount", path, "-o", out, "--master", cluster.address, "--json", timeout=120)
        self.assert_ok(dry)
        foreseen = json.loads(dry.out)
        self.assertGreater(foreseen["spilled_bytes"], 0)
        self.assertNotIn("actual_spilled_bytes", foreseen)
        result = cluster.submit("wordcount", path, "-o", out, "--json")
        self.assert_ok(result)
        job = json.loads(result.out)
        shown = self.weir("explain", job["job_id"], "--master", cluster.address)
        self.assert_ok(shown)
        text = shown.out.decode()
        self.assertRegex(text, r"\n  on disk    [0-9.]+ MB of steps whose memory is full, actual [0-9.]+ MB \([+-][0-9.]+ %\)\n")
        told = self.weir("explain", job["job_id"], "--master", cluster.address, "--json")
        self.assert_ok(told)
        plan = json.loads(told.out)
        note = self.assert_foreseen(plan, job["counters"]["spilled_bytes"])
        self.assertTrue(re.search(r"1 of 2 map steps puts on worker worker1 ", note), note)
        cluster.stop()
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
