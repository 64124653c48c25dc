"""Jobs with Reduce over sorted groups, as processes: terasort with its generator and validator, and sessions."""
import collections
import csv
import json
import os
import random
import signal
import stat
import subprocess
import unittest

from weir_process import BINARY, Cluster, WeirTest, wait_for

RECORD, KEY = 100, 10


def sort_records(data):
    """The oracle: a stable sort in memory."""
    records = [data[i:i + RECORD] for i in range(0, len(data), RECORD)]
    return b"".join(sorted(records, key=lambda record: record[:KEY]))


def written_by(pid):
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            return int(file.read().split("wchar: ")[1].split()[0])
    except OSError:
        return 0


class SortingTest(WeirTest):
    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def part_names(self, out):
        return sorted(n for n in os.listdir(out) if n.startswith("part-"))

    def joined_parts(self, out):
        return b"".join(self.read(os.path.join(out, name)) for name in self.part_names(out))

    def generate(self, name, records, *args):
        path = self.path(name)
        self.assert_ok(self.weir("data", "generate", "terasort", "--records", str(records), "-o", path, *args))
        self.assertEqual(os.path.getsize(path), records * RECORD)
        return path

    def validate(self, out, *args):
        return self.weir("data", "validate", "terasort", out, *args)


class TeraSort(SortingTest):
    def test_parts_in_order_are_the_sorted_input_for_any_cut(self):
        for skew in ("0", "0.6"):
            source = self.generate(f"in{skew}", 30000, "--skew", skew)
            expected = sort_records(self.read(source))
            for i, args in enumerate((["--workers", "1"], ["--workers", "2"], ["--workers", "3"], ["--workers", "4"],
                                      ["--workers", "2", "--mappers", "5", "--reducers", "7"])):
                with self.subTest(skew=skew, args=args):
                    out = self.path(f"out{skew}-{i}")
                    result = self.run_job("terasort", source, "-o", out, *args)
                    self.assert_ok(result)
                    self.assertIn(b"30000 records sorted", result.out)
                    self.assertTrue(self.joined_parts(out) == expected, "parts are not the sorted input")
                    self.assert_ok(self.weir("verify", out))
                    checked = self.validate(out, "--input", source, "--json")
                    self.assert_ok(checked)
                    summary = json.loads(checked.out)
                    self.assertEqual((summary["valid"], summary["records"], summary["files"]),
                                     (True, 30000, len(self.part_names(out))))
        self.assert_nothing_left()

    def test_a_directory_of_files_on_a_cluster(self):
        os.mkdir(self.path("in"))
        # Three writers of one data set, and an empty file.
        sizes = [7000, 1, 12999]
        for i, size in enumerate(sizes):
            self.generate(f"in/f{i}", size, "--first", str(sum(sizes[:i])), "--seed", "4")
        self.write("in/f9-empty", b"")
        whole = self.read(self.generate("whole", sum(sizes), "--seed", "4"))
        self.assertEqual(b"".join(self.read(self.path("in", f"f{i}")) for i in range(3)), whole)
        cluster = Cluster(self, workers=3)
        out = self.path("out")
        self.assert_ok(cluster.submit("terasort", self.path("in"), "-o", out))
        self.assertTrue(self.joined_parts(out) == sort_records(whole), "parts are not the sorted input")
        self.assert_ok(self.validate(out, "--input", self.path("in")))
        cluster.stop()
        self.assert_nothing_left()

    def test_ties_stay_in_the_order_of_the_input(self):
        rng = random.Random(5)
        records = [bytes([rng.choice(b"ab")] * KEY) + b"%090d" % i for i in range(5000)]
        source = self.write("in", b"".join(records))
        for workers in ("1", "3"):
            out = self.path(f"out{workers}")
            self.assert_ok(self.run_job("terasort", source, "-o", out, "--workers", workers))
            self.assertEqual(self.joined_parts(out), sort_records(b"".join(records)))

    def test_empty_input_one_record_and_one_key(self):
        for name, data in (("empty", b""), ("one", b"k" * RECORD),
                           ("same", b"".join(b"k" * KEY + b"%090d" % i for i in range(1000)))):
            with self.subTest(name):
                source = self.write(name, data)
                out = self.path(name + "-out")
                self.assert_ok(self.run_job("terasort", source, "-o", out, "--workers", "2"))
                self.assertEqual(self.joined_parts(out), data)
                self.assert_ok(self.validate(out, "--input", source))

    def test_a_file_that_ends_within_a_record_is_named(self):
        whole = self.write("in/whole", b"w" * 5000)
        cut = self.write("in/cut", b"c" * 1234)
        out = self.path("out")
        result = self.run_job("terasort", self.path("in"), "-o", out, "--workers", "2")
        self.assert_fails(result, 1, "BAD_RECORD", cut, "1200", "34 of the 100 bytes")
        self.assertNotIn(whole, result.err)
        self.assert_nothing_left(out)

    def test_what_the_memory_does_not_hold_is_sorted_on_disk(self):
        source = self.generate("in", 300000)
        out = self.path("out")
        # One map step puts on disk what several, which the planner chooses, sort each in its memory.
        for mappers, spilled in (("--mappers", "1"), 30_000_000), ((), 0):
            with self.subTest(mappers):
                result = self.run_job("terasort", source, "-o", out, "--workers", "1", "--memory", "16MiB", "--json", "--overwrite",
                                      *mappers)
                self.assert_ok(result)
                self.assertGreaterEqual(json.loads(result.out)["counters"].get("spilled_bytes", 0), spilled)
                self.assert_ok(self.validate(out, "--input", source))


class References(SortingTest):
    """Runs of `weir run` refer to records that stay in the input."""

    def shuffled(self, result):
        return json.loads(result.out)["progress"]["shuffle_bytes_done"]

    def test_runs_refer_to_records_where_memory_holds_the_input(self):
        source = self.generate("in", 80000)
        expected = sort_records(self.read(source))
        shuffled = {}
        # Of 28 MiB a step has 14 for tables and pairs: an input of 7 would do.
        for name, args in (("refers", ()), ("slots", ("--slots", "3")), ("holds", ("--memory", "28MiB"))):
            out = self.path(name)
            result = self.run_job("terasort", source, "-o", out, "--workers", "2", "--json", *args)
            self.assert_ok(result)
            self.assertTrue(self.joined_parts(out) == expected, name)
            self.assert_ok(self.weir("verify", out))
            shuffled[name] = self.shuffled(result)
        half = os.path.getsize(source) / 2
        self.assertGreater(shuffled["holds"], 0.9 * half)
        for name in ("refers", "slots"):
            self.assertLess(shuffled[name], 0.1 * half, "8 bytes of a hundred")
            self.assertGreater(shuffled[name], 0.07 * half)

    def test_workers_of_a_cluster_get_the_records(self):
        source = self.generate("in", 20000)
        cluster = Cluster(self, workers=2)
        out = self.path("out")
        result = cluster.submit("terasort", source, "-o", out, "--mappers", "2", "--reducers", "2", "--json")
        self.assert_ok(result)
        self.assertGreater(self.shuffled(result), 0.9 * os.path.getsize(source) / 2)
        cluster.stop()

    def parts_under_way(self):
        return [name for _, _, names in os.walk(self.dir) for name in names if name.startswith("part-")]

    def test_an_input_that_changes_behind_its_map_steps_is_named(self):
        source = self.generate("in", 1_280_000)
        out = self.path("out")
        run = self.start("run", "terasort", source, "-o", out, "--workers", "2", "--no-sample")
        while run.poll() is None and not self.parts_under_way():
            pass
        with open(source, "ab") as file:
            file.write(b"x" * RECORD)
        self.assert_fails(self.finish(run), 1, "INPUT_CHANGED", source)
        self.assert_nothing_left(out)


class Data(SortingTest):
    def test_same_numbers_give_the_same_bytes(self):
        first = self.read(self.generate("a", 1000, "--seed", "7", "--skew", "0.3"))
        again = self.read(self.generate("b", 1000, "--seed", "7", "--skew", "0.3"))
        middle = self.read(self.generate("c", 100, "--first", "450", "--seed", "7", "--skew", "0.3"))
        other = self.read(self.generate("d", 1000, "--seed", "8", "--skew", "0.3"))
        self.assertEqual(first, again)
        self.assertEqual(first[45000:55000], middle)
        self.assertNotEqual(first, other)

    def test_validate_names_disorder_loss_and_broken_records(self):
        source = self.generate("in", 2000)
        out = self.path("out")
        self.assert_ok(self.run_job("terasort", source, "-o", out, "--workers", "2", "--reducers", "2"))
        parts = [self.read(os.path.join(out, name)) for name in self.part_names(out)]
        swapped = self.write("swapped/part-0", parts[1])
        self.write("swapped/part-1", parts[0])
        result = self.validate(os.path.dirname(swapped))
        self.assert_fails(result, 1, "part-1", "record 0", "part-0")
        self.assert_ok(self.validate(os.path.dirname(swapped), "--any-order", "--input", source))

        lost = self.write("lost", parts[0] + parts[1][RECORD:])
        self.assert_ok(self.validate(lost))
        self.assert_fails(self.validate(lost, "--input", source), 1, "1999 records", "2000 records")
        twice = self.write("twice", parts[0][:RECORD] + parts[0] + parts[1][RECORD:])
        self.assert_fails(self.validate(twice, "--input", source), 1, "checksum")
        broken = self.write("broken", parts[0][:-1])
        self.assert_fails(self.validate(broken), 1, broken, "ends after 99")
        told = json.loads(self.validate(broken, "--json").out)
        self.assertEqual(told["valid"], False)
        self.assertIn("ends after 99", told["problem"])

    def endless(self, directory, *before):
        """A generator that has written for a while and would go on for hours."""
        os.mkdir(directory)
        command = [*before, BINARY, "data", "generate", "terasort", "--records", str(1 << 40), "-o",
                   os.path.join(directory, "file")]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: written_by(process.pid) > 4 << 20 or process.poll() is not None, 20, "it writes")
        self.assertIsNone(process.poll(), "it ended by itself")
        return process

    def test_an_interrupted_generator_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(signal=number.name):
                directory = self.path(number.name)
                process = self.endless(directory)
                process.send_signal(number)
                self.assertEqual(self.finish(process, timeout=10).code, -number)
                self.assertEqual(os.listdir(directory), [])

    def test_an_interrupted_generator_leaves_nothing_where_files_need_names(self):
        # Without /proc a file that has no name cannot get one.
        bare = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*bare, "true"], capture_output=True).returncode != 0:
            self.skipTest("cannot unmount /proc here")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name):
                directory = self.path(number.name)
                process = self.endless(directory, *bare)
                self.assertEqual(len(os.listdir(directory)), 1, "the file has a name")
                process.send_signal(number)
                self.assertEqual(self.finish(process, timeout=10).code, -number)
                self.assertEqual(os.listdir(directory), [])
        path = self.path("whole")
        made = [BINARY, "data", "generate", "terasort", "--records", "10", "-o", path]
        for command in ([*bare, *made], [*bare, *made, "--overwrite"]):
            self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
            self.assertEqual(os.path.getsize(path), 10 * RECORD)
        self.assertEqual(subprocess.run([*bare, *made], capture_output=True).returncode, 4)

    def test_a_directory_without_data_is_not_valid(self):
        path = self.generate("in", 10)
        os.makedirs(self.path("above/out"))
        os.mkdir(self.path("empty"))
        self.write("hidden/.part", b"x")
        self.write("hidden/_weir/part", b"x")
        self.write("hidden/manifest.json", b'{\n  "job": "terasort",\n  "job_id": "j-1"\n}\n')
        for name in ("empty", "above", "hidden"):
            for paths in ([self.path(name)], [path, self.path(name)], [path, "--input", self.path(name)]):
                with self.subTest(paths=paths):
                    result = self.weir("data", "validate", "terasort", *paths, "--any-order", "--json")
                    self.assert_fails(result, 4, "INPUT_NOT_FOUND", "no data in " + self.path(name))
                    self.assertEqual(json.loads(result.out)["error"]["code"], "INPUT_NOT_FOUND")
        # A file of no records is there, and what a job makes of it.
        self.assert_ok(self.validate(self.write("none", b"")))
        self.assert_ok(self.run_job("terasort", self.path("none"), "-o", self.path("sorted")))
        self.assert_ok(self.validate(self.path("sorted"), "--input", self.path("none")))

    def test_a_manifest_of_somebody_else_is_data(self):
        os.mkdir(self.path("mixed"))
        for name in ("part-00000", "manifest.json"):
            self.generate(os.path.join("mixed", name), 10)
        result = self.weir("data", "validate", "terasort", self.path("mixed"), "--any-order", "--json")
        self.assert_ok(result)
        found = json.loads(result.out)
        self.assertEqual((found["files"], found["records"]), (2, 20))
        self.write("mixed/manifest.json", b"{}")
        self.assert_fails(self.weir("data", "validate", "terasort", self.path("mixed"), "--any-order"), 1, "manifest.json")

    def test_only_a_file_is_replaced(self):
        kept = self.write("kept", "mine")
        os.symlink("kept", self.path("link"))
        os.mkfifo(self.path("pipe"))
        for name, why in (("link", "symbolic link"), ("pipe", "pipe"), (".", "directory")):
            with self.subTest(name):
                for flags in ((), ("--overwrite",)):
                    result = self.weir("data", "generate", "terasort", "--records", "5", "-o", self.path(name), "--json",
                                       *flags)
                    self.assert_fails(result, 4, "OUTPUT_UNUSABLE", self.path(name), why)
                    self.assertEqual(json.loads(result.out)["error"]["code"], "OUTPUT_UNUSABLE")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))
        self.assertEqual(self.read(kept), b"mine")
        self.assertEqual([name for name in os.listdir(self.dir) if name.startswith(".")], [])

    def test_what_appears_while_records_are_written_stays(self):
        for flags in ((), ("--overwrite",)):
            with self.subTest(flags=flags):
                path = self.path("late" + "".join(flags))
                process = self.start("data", "generate", "terasort", "--records", "2000000", "-o", path, *flags)
                wait_for(lambda: written_by(process.pid) > 1 << 20 or process.poll() is not None, 20, "it writes")
                process.send_signal(signal.SIGSTOP)
                self.assertIsNone(process.poll(), "it ended before it could be stopped")
                os.mkdir(path)
                kept = self.write(os.path.join(path, "kept"), "mine")
                process.send_signal(signal.SIGCONT)
                self.assert_fails(self.finish(process), 4, path)
                self.assertEqual(self.read(kept), b"mine")
        self.assertEqual([name for name in os.listdir(self.dir) if name.startswith(".")], [])

    def test_misuse(self):
        path = self.generate("in", 10)
        self.assert_fails(self.weir("data", "generate", "terasort", "--records", "5", "-o", path), 4, path, "--overwrite")
        self.assertEqual(os.path.getsize(path), 10 * RECORD)
        self.generate("in", 5, "--overwrite")
        self.assert_fails(self.weir("data", "generate", "terasort", "--records", "5", "-o", self.dir), 4, "directory")
        self.assert_fails(self.weir("data", "generate", "terasort", "--records", "5", "-o", "-"), 2, "./-")
        nowhere = self.path("nowhere/file")
        self.assert_fails(self.weir("data", "generate", "terasort", "--records", "5", "-o", nowhere), 4,
                          "OUTPUT_UNUSABLE", nowhere, "make the directory first")
        for args in (["--records", "-1"], ["--records", "many"], ["--records", "5", "--skew", "1"],
                     ["--records", "5", "--skew", "-0.1"], ["--records", "5", "--first", "-1"], []):
            result = self.weir("data", "generate", "terasort", "-o", self.path("new"), *args)
            self.assertEqual(result.code, 2, (args, result.err))
            self.assertFalse(os.path.exists(self.path("new")))
        self.assert_fails(self.weir("data", "generate", "terrasort", "--records", "5", "-o", self.path("new")), 2,
                          "terasort")
        self.assert_fails(self.weir("data", "validate", "wordcount", path), 2, "terasort")
        for missing in (["data", "validate", "terasort", self.path("none")], ["verify", self.path("none")],
                        ["data", "validate", "terasort", path, "--any-order", "--input", self.path("none")]):
            result = self.weir(*missing, "--json")
            self.assert_fails(result, 4, "INPUT_NOT_FOUND", self.path("none"))
            self.assertEqual(json.loads(result.out)["error"]["code"], "INPUT_NOT_FOUND")
        self.assert_fails(self.weir("verify", self.dir), 4, "manifest.json")
        self.assertEqual(self.weir("data").code, 2)
        left = [name for name in os.listdir(self.dir) if name.endswith(".partial")]
        self.assertEqual(left, [])


class Sessions(SortingTest):
    GAP = 40

    def find_sessions(self, rows):
        """The oracle: sort and cut in memory."""
        by_user = collections.defaultdict(list)
        for user, time, page in rows:
            by_user[user].append((time, page))
        sessions = []
        for user, events in by_user.items():
            events.sort(key=lambda event: event[0])
            begin = 0
            for i in range(1, len(events) + 1):
                if i == len(events) or events[i][0] - events[i - 1][0] > self.GAP:
                    sessions.append([user, str(events[begin][0]), str(events[i - 1][0]), str(i - begin),
                                     events[begin][1], events[i - 1][1]])
                    begin = i
        return sessions

    def read_sessions(self, out):
        rows = []
        for name in self.part_names(out):
            with open(os.path.join(out, name), encoding="utf-8", newline="") as file:
                part = list(csv.reader(file))
            # Within a part by user, then by time.
            self.assertEqual(part, sorted(part, key=lambda row: (row[0], int(row[1]))), name)
            rows += part
        return rows

    def test_sessions_equal_the_oracle_here_and_on_a_cluster(self):
        rng = random.Random(11)
        rows = [(f"user, {rng.randint(1, 300)}", rng.randint(0, 5000), f"/p{i % 97}") for i in range(20000)]
        with open(self.path("events.csv"), "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        expected = sorted(self.find_sessions(rows))
        shown = set()
        for i, args in enumerate((["--workers", "1"], ["--workers", "4", "--reducers", "3"])):
            out = self.path(f"out{i}")
            result = self.run_job("sessions", self.path("events.csv"), "-o", out, "--set", f"gap={self.GAP}", *args)
            self.assert_ok(result)
            self.assertEqual(sorted(self.read_sessions(out)), expected)
            shown.add(result.out)
        self.assertEqual(len(shown), 1)
        self.assertIn(b"%d sessions of 300 users, 20000 events" % len(expected), shown.pop())
        cluster = Cluster(self, workers=2)
        self.assert_ok(cluster.submit("sessions", self.path("events.csv"), "-o", self.path("out"), "--set",
                                      f"gap={self.GAP}"))
        self.assertEqual(sorted(self.read_sessions(self.path("out"))), expected)
        cluster.stop()
        self.assert_nothing_left()

    def test_a_wrong_row_is_named(self):
        path = self.write("events.csv", "user,timestamp\nann,5\n")
        result = self.run_job("sessions", path, "-o", self.path("out"))
        self.assert_fails(result, 1, "BAD_RECORD", path, "user,timestamp", "whole number")
        self.assert_fails(self.run_job("sessions", path, "-o", self.path("out"), "--set", "gap=-1"), 2, "gap")


if __name__ == "__main__":
    unittest.main(verbosity=2)
