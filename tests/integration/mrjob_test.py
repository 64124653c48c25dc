"""Jobs of mrjob, as they ship with it, on Weir instead of Hadoop: `-r hadoop` gives what `-r inline` gives."""
import glob
import json
import os
import random
import re
import subprocess
import unittest

import oracle_libraries
from weir_process import BINARY, Cluster, WeirTest

# A job of our own: what the examples lack (counters of the user, archives, a partition of values).
COUNTING = '''
from mrjob.job import MRJob
from mrjob.step import MRStep


class MRCounting(MRJob):
    def configure_args(self):
        super().configure_args()
        self.add_file_arg("--names")

    def steps(self):
        return [MRStep(mapper=self.name, combiner=self.add, reducer=self.add),
                MRStep(reducer=self.swap)]

    def name(self, _, line):
        names = dict(row.split() for row in open(self.options.names))
        for word in line.split():
            self.increment_counter("Words", "named" if word in names else "unknown")
            yield names.get(word, "?"), 1

    def add(self, key, values):
        self.increment_counter("Other group", "called, so to say", 2)
        self.set_status("adding " + key)
        yield key, sum(values)

    def swap(self, key, values):
        yield sum(values), key


if __name__ == "__main__":
    MRCounting.run()
'''
SORTED_VALUES = '''
from mrjob.job import MRJob


class MRSorted(MRJob):
    SORT_VALUES = True

    def mapper(self, _, line):
        key, value = line.split()
        yield key, value

    def reducer(self, key, values):
        yield key, list(values)


if __name__ == "__main__":
    MRSorted.run()
'''
ARCHIVED = '''
from mrjob.job import MRJob


class MRArchived(MRJob):
    DIRS = ["data#the_data"]
    ARCHIVES = ["packed.tar.gz#unpacked"]

    def mapper(self, _, line):
        for place in ("the_data/inner/words", "unpacked/words"):
            with open(place) as file:
                yield place, file.read().strip() + " " + line


if __name__ == "__main__":
    MRArchived.run()
'''


def rounded(value):
    """Sums in another order, and entries of a dictionary."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return {name: rounded(value[name]) for name in sorted(value)} if isinstance(value, dict) else value


class MrJob(WeirTest):
    @classmethod
    def setUpClass(cls):
        cls.python, why = oracle_libraries.prepare()
        if cls.python is None:
            raise unittest.SkipTest(f"SKIPPED, no mrjob: {why}")
        found = subprocess.run([cls.python, "-c", "import mrjob.examples; print(mrjob.examples.__path__[0])"],
                               stdout=subprocess.PIPE, text=True, check=True)
        cls.examples = found.stdout.strip()

    def setUp(self):
        super().setUp()
        self.hdfs = self.path("hdfs")
        self.environment = {"HADOOP_HOME": self.weir("hadoop-home").out.decode().strip(), "WEIR_HDFS_ROOT": self.hdfs}
        draw = random.Random(11)
        words = ["".join(draw.choice("abcdeu") for _ in range(draw.randint(1, 5))) for _ in range(120)] + ["the", "and"]
        for i in range(3):
            self.write(f"books/{i}.txt", "".join(" ".join(draw.choice(words) for _ in range(draw.randint(0, 9))) + "\n"
                                                 for _ in range(300)))
        self.books = sorted(glob.glob(self.path("books", "*")))

    def mrjob(self, script, *args, runner):
        path = script if script.startswith("/") else os.path.join(self.examples, script)
        environment = dict(os.environ, TMPDIR=self.work, WEIR_WORK_DIR=self.work, WEIR_TEST_DIR=self.dir,
                           XDG_STATE_HOME=self.path("state"), PYTHONHASHSEED="0", **self.environment)
        process = subprocess.Popen([self.python, path, "--no-conf", "-r", runner, *args], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        return self.finish(process, timeout=120)

    def lines(self, result):
        """In any order, and without the tab that Hadoop ends a line with where a job wrote no value."""
        self.assert_ok(result)
        return sorted(line.removesuffix(b"\t") for line in result.out.splitlines())

    def same_as_inline(self, script, *args, runner="inline"):
        """Runs it both ways; returns what the run on Weir said."""
        inline = self.lines(self.mrjob(script, *args, runner=runner))
        result = self.mrjob(script, *args, runner="hadoop")
        self.assertEqual(self.lines(result), inline)
        self.assertTrue(inline)
        self.assertRegex(result.err, r"Running job: job_\d+_\d{4}\n")
        self.assertRegex(result.err, r"map 100% reduce 100%")
        self.assertRegex(result.err, r"Output directory: hdfs:///user/")
        self.assertNotIn("No counters found", result.err)
        return result

    def counters(self, err, group):
        """By step, name and value of a group's counters, as mrjob prints them."""
        return re.findall(rf"^\t{re.escape(group)}\n((?:\t\t.*\n)+)", err, re.M)

    def test_word_counts(self):
        self.same_as_inline("mr_word_freq_count.py", *self.books)
        self.same_as_inline("mr_wc.py", *self.books)
        self.same_as_inline("mr_count_lines_right.py", *self.books)

    def test_several_steps_with_files(self):
        result = self.same_as_inline("mr_most_used_word.py", *self.books)
        self.assertIn("Running step 2 of 2", result.err)

    def test_sorted_values(self):
        self.same_as_inline("mr_next_word_stats.py", *self.books)
        rows = [f"{key} {value:03}\n" for key in "abcdefg" for value in range(50)]
        random.Random(3).shuffle(rows)
        script, source = self.write("sorted.py", SORTED_VALUES), self.write("rows", "".join(rows))
        result = self.same_as_inline(script, source, "-D", "mapreduce.job.reduces=3")
        for line in result.out.decode().splitlines():
            values = re.findall(r'"(\d+)"', line.split("\t")[1])
            self.assertEqual(values, sorted(values))
            self.assertEqual(len(values), 50)

    def test_a_text_classifier_with_four_steps(self):
        """Its mapper gets files, not lines: mrjob hands it a list of them through NLineInputFormat."""
        documents = sorted(glob.glob(os.path.join(self.examples, "docs-to-classify", "*.txt")))
        self.assertGreater(len(documents), 5)
        inline, result = (self.mrjob("mr_text_classifier.py", *documents, runner=runner) for runner in ("inline", "hadoop"))
        self.assertIn("Running step 4 of 4", result.err)
        scores = [[rounded(json.loads(b"[%s]" % line.replace(b"\t", b", "))) for line in self.lines(run)] for run in (inline, result)]
        self.assertEqual(sorted(scores[0], key=repr), sorted(scores[1], key=repr))
        self.assertGreater(len(scores[0]), len(documents))

    def test_commands_as_mappers(self):
        """The inline runner starts no processes, so these are compared with mrjob's local one."""
        self.same_as_inline("mr_words_containing_u_freq_count.py", *self.books, runner="local")
        self.same_as_inline("mr_grep.py", "-e", "ab", *self.books, runner="local")

    def test_lines_by_file(self):
        result = self.mrjob("mr_count_lines_by_file.py", *self.books, runner="hadoop")
        found = {os.path.basename(line.split(b"\t")[0].decode().strip('"')): int(line.split(b"\t")[1])
                 for line in self.lines(result)}
        self.assertEqual(found, {f"{i}.txt": 300 for i in range(3)})

    def test_a_sample_of_lines(self):
        result = self.mrjob("mr_log_sampler.py", "--sample-size", "7", *self.books, runner="hadoop")
        lines = self.lines(result)
        self.assertEqual(len(lines), 7)
        written = {line for path in self.books for line in self.text(path).splitlines()}
        self.assertTrue(all(line.decode() in written for line in lines), lines)

    def test_input_and_output_in_hdfs(self):
        hadoop = os.path.join(self.environment["HADOOP_HOME"], "bin/hadoop")
        environment = dict(os.environ, **self.environment)
        for words in (["fs", "-mkdir", "-p", "hdfs:///in"], ["fs", "-put", *self.books, "hdfs:///in"]):
            subprocess.run([hadoop, *words], env=environment, check=True)
        expected = self.lines(self.mrjob("mr_word_freq_count.py", *self.books, runner="inline"))
        result = self.mrjob("mr_word_freq_count.py", "hdfs:///in", "--output-dir", "hdfs:///deep/out", "--cat-output",
                            "-D", "mapreduce.job.reduces=3", runner="hadoop")
        self.assertEqual(self.lines(result), expected)
        names = os.listdir(os.path.join(self.hdfs, "deep/out"))
        self.assertEqual(sorted(n for n in names if n.startswith("part")), ["part-00000", "part-00001", "part-00002"])
        self.assertIn("_SUCCESS", names)
        self.assert_ok(self.weir("verify", os.path.join(self.hdfs, "deep/out")))
        again = self.mrjob("mr_word_freq_count.py", "hdfs:///in", "--output-dir", "hdfs:///deep/out", runner="hadoop")
        self.assertNotEqual(again.code, 0)
        self.assertIn("OUTPUT_EXISTS", again.err)

    def test_counters_are_those_of_inline(self):
        script, names = self.write("counting.py", COUNTING), self.write("names", "a Alice\nb Bob\nthe The\n")
        both = [self.mrjob(script, "--names", names, *self.books, runner=runner) for runner in ("inline", "hadoop")]
        self.assertEqual(self.lines(both[0]), self.lines(both[1]))
        words = [self.counters(result.err, "Words") for result in both]
        self.assertEqual(words[0], words[1])
        self.assertEqual(len(words[0]), 1)
        self.assertRegex(words[0][0], r"named=\d+")
        # How often a combiner runs is nobody's promise.
        self.assertRegex(self.counters(both[1].err, "Other group")[0], r"\t\tcalled; so to say=\d+")

    def test_archives_and_folders(self):
        self.write("data/inner/words", "from the folder\n")
        self.write("words", "from the archive\n")
        subprocess.run(["tar", "-czf", self.path("packed.tar.gz"), "-C", self.dir, "words"], check=True)
        script, source = self.write("archived.py", ARCHIVED), self.write("in", "x\n")
        self.assertEqual(self.lines(self.mrjob(script, source, runner="hadoop")),
                         [b'"the_data/inner/words"\t"from the folder x"', b'"unpacked/words"\t"from the archive x"'])

    def test_a_failure_names_its_cause(self):
        result = self.mrjob("mr_boom.py", self.books[0], runner="hadoop")
        self.assertNotEqual(result.code, 0)
        self.assertIn("Probable cause of failure", result.err)
        cause = result.err[result.err.index("Probable cause of failure"):]
        self.assertIn("USER_ERROR", cause)
        self.assertIn("Exception: BOOM", cause)
        self.assertIn("Step 1 of 1 failed", result.err)

    def test_java_is_refused_by_name(self):
        result = self.mrjob("mr_nick_nack.py", self.books[0], runner="hadoop")
        self.assertNotEqual(result.code, 0)
        self.assertIn("nicknack.MultipleValueOutputFormat", result.err)

    def test_on_a_cluster_of_three(self):
        # Their own python: that of the workers' PATH.
        cluster = Cluster(self, workers=3)
        self.environment["WEIR_MASTER"] = cluster.address
        self.same_as_inline("mr_word_freq_count.py", *self.books, "-D", "mapreduce.job.reduces=3", "-D",
                            "mapreduce.job.maps=3")
        self.same_as_inline("mr_most_used_word.py", *self.books)
        self.same_as_inline("mr_next_word_stats.py", *self.books)
        failed = self.mrjob("mr_boom.py", "--cleanup-on-failure", "ALL", self.books[0], runner="hadoop")
        self.assertIn("Exception: BOOM", failed.err)
        jobs = self.weir("list", "jobs", "--master", cluster.address).out.decode()
        self.assertEqual(jobs.count(" done "), 5, jobs)
        cluster.stop()
        self.assert_nothing_left()

    def test_nothing_is_left(self):
        self.same_as_inline("mr_word_freq_count.py", *self.books)
        self.assert_nothing_left()
        left = [path for path, _, files in os.walk(self.hdfs) if files]
        self.assertEqual(left, [], "mrjob removes what it put there")


class Shim(WeirTest):
    """bin/hadoop of `weir hadoop-home`, as a program would call it."""

    def test_it_looks_like_hadoop_and_needs_no_path(self):
        home = self.weir("hadoop-home").out.decode().strip()
        self.assertTrue(home.startswith("/"))
        self.assertTrue(glob.glob(os.path.join(home, "**/hadoop-streaming*.jar"), recursive=True))
        os.symlink(os.path.join(home, "bin/hadoop"), self.path("linked"))
        for program in (os.path.join(home, "bin/hadoop"), self.path("linked")):
            done = subprocess.run([program, "version"], stdout=subprocess.PIPE, text=True, check=True,
                                  env={"PATH": "/usr/bin:/bin"})
            self.assertRegex(done.stdout, r"^Hadoop 3\.\d+\.\d+\n")
        self.assertIn("hadoop-home", self.weir("--help").out.decode())
        self.assertTrue(os.path.samefile(os.path.join(home, "../weir"), BINARY)
                        or os.path.samefile(os.path.join(home, "../../../bin/weir"), BINARY))


if __name__ == "__main__":
    unittest.main(verbosity=2)
