"""Partial results that meet along a reduction tree: --combine of run, submit and plan."""
import collections
import json
import os
import subprocess
import unittest

from weir_process import ROOT, WeirTest, read_parts, write_words


class Combine(WeirTest):
    def setUp(self):
        super().setUp()
        self.text = self.path("text.txt")
        write_words(self.text, 4)

    def parts_of(self, out):
        return sorted(os.path.join(out, name) for name in os.listdir(out) if name.startswith("part-"))

    def run_words(self, name, *flags):
        out = self.path(name)
        self.assert_ok(self.run_job("wordcount", self.text, "-o", out, "--workers", "4", *flags))
        self.assert_ok(self.weir("verify", out))
        return out

    def merged(self, out):
        return subprocess.run(["sort", "-m", "-t", "\t", "-k1,1", *self.parts_of(out)], check=True, stdout=subprocess.PIPE,
                              env={**os.environ, "LC_ALL": "C"}).stdout

    def test_a_tree_makes_one_file_the_merge_of_the_shuffles_parts(self):
        shuffled = self.run_words("shuffled", "--combine", "shuffle", "--reducers", "4")
        tree = self.run_words("tree", "--combine", "tree")
        self.assertEqual(len(self.parts_of(tree)), 1)
        with open(self.parts_of(tree)[0], "rb") as file:
            self.assertEqual(file.read(), self.merged(shuffled))
        with open(os.path.join(tree, "_weir/plan.json"), encoding="utf-8") as file:
            kinds = {step["kind"] for step in json.load(file)["plan"]["steps"]}
        self.assertIn("STEP_KIND_COMBINE", kinds)
        self.assert_nothing_left()

    def test_the_example_of_the_document_is_what_a_plan_says(self):
        with open(os.path.join(ROOT, "docs/combine.md"), encoding="utf-8") as file:
            example = next(block for block in file.read().split("```") if "\nCompared: " in block)
        text = self.path("words.txt")
        with open(text, "wb") as file:
            file.truncate(13_000_000)  # Nothing reads an input of this size before it is planned.
        planned = self.weir("plan", "wordcount", text, "--workers", "4", "--combine", "auto", "--no-history")
        self.assert_ok(planned)
        said = " ".join(planned.out.decode().split())
        for note in example.strip().splitlines():
            self.assertIn(note, said)

    def test_every_reducer_is_a_root(self):
        shuffled = self.run_words("shuffled", "--combine", "shuffle", "--reducers", "3")
        tree = self.run_words("tree", "--combine", "tree", "--reducers", "3")
        self.assertEqual(len(self.parts_of(tree)), 3)
        self.assertEqual(sorted(read_parts(tree)), sorted(read_parts(shuffled)))

    def test_one_file_by_a_write_step(self):
        shuffled = self.run_words("shuffled", "--combine", "shuffle", "--reducers", "2")
        tree = self.run_words("tree", "--combine", "tree", "--write", "one")
        self.assertEqual(b"".join(line + b"\n" for line in read_parts(tree)), self.merged(shuffled))

    def test_a_job_without_combine_is_refused_by_name(self):
        events = self.write("events.csv", "u,1,a\n")
        result = self.run_job("sessions", events, "-o", self.path("out"), "--combine", "tree")
        self.assert_fails(result, 2, "job sessions has no Combine")
        result = self.run_job("wordcount", self.text, "-o", self.path("out"), "--combine", "forest")
        self.assert_fails(result, 2, "ways are: auto, tree, shuffle")

    def test_one_worker_one_key_no_input_and_more_reducers_than_workers(self):
        one_key = self.write("one.txt", "word " * 5000)
        empty = self.write("empty.txt", "")
        for name, path, flags, expected in (
                ("one-worker", one_key, ("--workers", "1"), [b"word\t5000"]),
                ("one-key", one_key, ("--workers", "3"), [b"word\t5000"]),
                ("reducers", one_key, ("--workers", "2", "--reducers", "5"), [b"word\t5000"]),
                ("empty", empty, ("--workers", "3"), []),
                ("mappers", one_key, ("--workers", "2", "--mappers", "6"), [b"word\t5000"])):
            with self.subTest(name):
                out = self.path(name)
                self.assert_ok(self.run_job("wordcount", path, "-o", out, "--combine", "tree", *flags))
                self.assertEqual(read_parts(out), expected)

    def test_a_value_is_combined_in_pieces_as_by_a_shuffle(self):
        settings = ("--set", "candidates=100000", "--set", "top=50", "--set", "show=0")
        results = []
        for name, workers, flags in (("shuffled", 4, ("--combine", "shuffle")), ("tree", 4, ("--combine", "tree")),
                                     ("unchecked", 4, ("--combine", "tree", "--no-check-operation")), ("whole", 1, ())):
            out = self.path(name)
            self.assert_ok(self.run_job("topwords", self.text, "-o", out, "--workers", str(workers), *settings, *flags))
            self.assertEqual(len(self.parts_of(out)), 1)
            results.append(read_parts(out))
        with open(self.text, "rb") as file:
            counts = collections.Counter(file.read().split())
        exact = sorted(((-count, word) for word, count in counts.items()))[:10]
        self.assertEqual(results[0][:10], [b"%s\t%d" % (word, -count) for count, word in exact])
        for result in results[1:]:
            self.assertEqual(result, results[0])
        failed = self.run_job("topwords", self.text, "-o", self.path("two"), *settings, "--reducers", "2")
        self.assert_fails(failed, 2, "by one reducer; 2 are asked for", "leave --reducers out")
        self.assertFalse(os.path.exists(self.path("two")))

    def test_the_plan_says_what_was_compared(self):
        result = self.weir("plan", "wordcount", self.text, "--workers", "4", "--combine", "auto")
        self.assert_ok(result)
        for part in (b"ways to bring partial results together", b"Compared: shuffle: ", b"Compared: tree: greedy tree",
                     b"gathered into one file"):
            self.assertIn(part, result.out)


if __name__ == "__main__":
    unittest.main()
