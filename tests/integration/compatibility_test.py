"""What the version before left behind is read, and what it planned is planned again to the byte.

Upstream: tests/golden/before (its README says what lies there), compatibility_cases.py.
"""
import difflib
import json
import os
import shutil
import unittest

import compatibility_cases as cases
from weir_process import WeirTest, count_words, read_parts, wait_for


class CompatibilityTest(WeirTest):
    def setUp(self):
        super().setUp()
        cases.make_inputs(self)

    def golden(self, *names):
        return os.path.join(cases.GOLDEN, *names)

    def assert_same_text(self, name, text):
        """Compares to the byte with what the version before printed."""
        expected = self.text(self.golden(name))
        if text != expected:
            lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), name, "now", lineterm="", n=1)
            self.fail("\n".join(list(lines)[:40]))

    def assert_same_checksums(self, name, checksums):
        expected = json.loads(self.text(self.golden(name)))
        self.assertEqual(list(checksums), list(expected), "the cases are no longer those that were kept")
        other = [args for args in expected if checksums[args] != expected[args]]
        self.assertEqual(other, [], f"{name}: `weir plan` with these arguments plans anew")

    def assert_parts(self, case, out):
        """The parts are those of the run by the version before, and the manifest names its plan."""
        manifest = cases.manifest_of(out)
        self.assertEqual(manifest["parts"], json.loads(self.text(self.golden("plans", f"{case.name}.parts.json"))))
        plan = json.loads(self.text(self.golden("plans", f"{case.name}.json")))["plan"]
        self.assertEqual(manifest["plan_id"], plan["plan_id"])
        self.assert_ok(self.weir("verify", out))


class Plans(CompatibilityTest):
    def test_the_same_question_gets_the_same_plan(self):
        for case in cases.PLANS:
            with self.subTest(plan=case.name):
                self.assert_same_text(f"plans/{case.name}.json", cases.embedded_plan(self, case))

    def test_large_inputs_get_the_same_plans(self):
        cases.make_holes(self)
        self.assert_same_checksums("plans/embedded.sha256.json", cases.embedded_checksums(self))

    def test_old_plan_files_run_and_give_the_same_parts(self):
        for case in cases.PLANS:
            with self.subTest(plan=case.name):
                out = self.path(case.name)
                cases.run_embedded(self, case, out, "--plan-file", self.golden("plans", f"{case.name}.json"))
                self.assert_parts(case, out)
                if case.job == "wordcount":
                    counts = count_words([self.path(case.input)])
                    self.assertEqual(sorted(read_parts(out)), sorted(b"%s\t%d" % count for count in counts.items()))
        self.assert_nothing_left()

    def test_a_cluster_gets_the_same_plans_and_runs_old_plan_files(self):
        cases.make_holes(self)
        for network in cases.NETWORKS:
            with self.subTest(network=network.name):
                case = network.case
                cluster = cases.start_network(self, network)
                self.assert_same_text(f"plans/{case.name}.json", cases.network_plan(self, case, cluster))
                self.assert_same_checksums(f"plans/{network.name}.sha256.json", cases.network_checksums(self, cluster))
                out = self.path(case.name)
                self.assert_ok(cluster.submit(case.job, self.path(case.input), "-o", out, "--plan-file",
                                              self.golden("plans", f"{case.name}.json")))
                self.assert_parts(case, out)
                cluster.stop()
        self.assert_nothing_left()


class Outputs(CompatibilityTest):
    def setUp(self):
        super().setUp()
        self.outputs = []
        for case in cases.OUTPUTS:
            old = shutil.copytree(self.golden("outputs", case.name), self.path(f"old-{case.name}"))
            self.outputs.append((case, old))

    def test_an_old_output_is_verified(self):
        for case, old in self.outputs:
            verified = self.weir("verify", old, "--json")
            self.assert_ok(verified)
            report = json.loads(verified.out)
            self.assertEqual((report["parts"], report["problems"]), (2, []))
            with open(os.path.join(old, "part-00001"), "r+b") as file:
                first = file.read(1)
                file.seek(0)
                file.write(bytes([first[0] ^ 1]))
            self.assert_fails(self.weir("verify", old), 1, "part-00001", "checksum")
            if case.job == "terasort":
                self.assert_fails(self.weir("data", "validate", "terasort", old, "--input", self.path(case.input)), 1)

    def test_old_records_are_validated(self):
        case, old = self.outputs[1]
        self.assertEqual(case.job, "terasort")
        self.assert_ok(self.weir("data", "validate", "terasort", old, "--input", self.path(case.input)))

    def test_the_plan_in_an_old_output_runs_again(self):
        for case, old in self.outputs:
            out = self.path(f"again-{case.name}")
            cases.run_embedded(self, case, out, "--plan-file", os.path.join(old, "_weir", "plan.json"))
            before, now = cases.manifest_of(old), cases.manifest_of(out)
            self.assertNotEqual(before.pop("job_id"), now.pop("job_id"))
            self.assertEqual(json.dumps(now), json.dumps(before))
            self.assertEqual(read_parts(out), read_parts(old))

    def test_the_same_run_plans_and_writes_the_same(self):
        for case, old in self.outputs:
            out = self.path(f"anew-{case.name}")
            cases.run_embedded(self, case, out, *case.flags)
            before, now = cases.manifest_of(old), cases.manifest_of(out)
            self.assertEqual((now["plan_id"], now["parts"]), (before["plan_id"], before["parts"]))


class Learned(CompatibilityTest):
    def test_an_old_file_of_shapes_is_used(self):
        home = shutil.copytree(self.golden("shapes"), self.path("shapes"))
        text = cases.plan_after_shapes(self, home)
        self.assertIn('"origin": "history"', text)
        self.assert_same_text("plans/learned-embedded.json", text)


class Journal(CompatibilityTest):
    def setUp(self):
        super().setUp()
        self.unfinished = json.loads(self.text(self.golden("journal", "unfinished.json")))

    def wait_for_unfinished(self, cluster):
        """Jobs that the version before failed at its start, one queued and one running, go on now: their folder is gone."""
        def ended(job):
            status = json.loads(self.weir("status", job, "--json", "--master", cluster.address).out)
            return status if status["state"] == "failed" else None
        for job in self.unfinished:
            error = wait_for(lambda: ended(job), 30, cluster.log_text)["error"]
            self.assertNotEqual(error["code"], "MASTER_RESTARTED")
            self.assertIn("/tmp/weir-golden", error["message"])

    def without_unfinished(self, listed):
        document = json.loads(listed)
        document["jobs"] = [job for job in document["jobs"] if job["job_id"] not in self.unfinished]
        return json.dumps(document, indent=2)

    def assert_same_answers(self, cluster):
        self.wait_for_unfinished(cluster)
        answers = dict(cases.answers_from(self, cluster, self.unfinished))
        kept = sorted(name for name in os.listdir(self.golden("journal")) if name != "unfinished.json")
        self.assertEqual(sorted(answers), kept)
        for name, text in answers.items():
            with self.subTest(answer=name):
                if name == "list.json":
                    self.assertEqual(self.without_unfinished(text),
                                     self.without_unfinished(self.text(self.golden("journal", name))))
                elif name not in ("7-wordcount-failed.status.json", "8-wordcount-failed.status.json"):  # seen before
                    self.assert_same_text(f"journal/{name}", text)

    def test_an_old_journal_is_read_written_and_read_again(self):
        states = [name.split(".")[0].split("-", 1)[1] for name in sorted(os.listdir(self.golden("journal")))
                  if name.endswith(".status.json")]
        self.assertEqual(states, ["wordcount-succeeded", "wordcount-succeeded", "weather-succeeded", "terasort-succeeded",
                                  "onebrc-failed", "wordcount-failed", "wordcount-cancelled", "wordcount-failed",
                                  "wordcount-failed"])
        cluster = cases.start_on_journal(self)
        self.assert_same_answers(cluster)
        learned = cases.plan_after_journal(self, cluster)
        self.assertIn('"origin": "measured"', learned)
        self.assertIn('"origin": "history"', learned)
        self.assert_same_text("plans/learned-cluster.json", learned)
        # The present version's records beside the old ones: the old jobs stay as they are.
        cluster.master.terminate()
        cluster.master.wait(timeout=15)
        cluster.master = cluster.start_master()
        cluster.wait_for_workers(2)
        self.assert_same_answers(cluster)
        self.assert_ok(cluster.submit("wordcount", self.path("words.txt"), "-o", self.path("out")))
        listed = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"]
        self.assertEqual(len(listed), len(states) + 1)
        self.assertEqual(listed[0]["spec"]["output"], self.path("out"))
        cluster.stop()
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
