"""Layers, packed inputs and bad records, with the weather job: embedded and on a cluster, against a sequential oracle."""
import collections
import csv
import gzip
import io
import json
import os
import random
import subprocess
import unittest

import zstd_files
from weir_process import ROOT, Cluster, WeirTest, read_parts

GENERATE = os.environ.get("WEIR_GENERATE_INPUT", os.path.join(ROOT, "build/release/tests/bench/weir_bench_generate_input"))


def one_decimal(total, count):
    """Mean of tenths, rounded half away from zero."""
    tenths = (2 * abs(total) + count) // (2 * count)
    return f"{'-' if total < 0 and tenths else ''}{tenths // 10}.{tenths % 10}"


def means_of_maxima(readings):
    """The oracle: (station, YYYYMMDD, tenths) to sorted lines, sequential, nothing shared with the product."""
    maxima = {}
    for station, date, tenths in readings:
        key = (station, date)
        maxima[key] = max(maxima.get(key, tenths), tenths)
    sums = collections.defaultdict(lambda: [0, 0])
    for (station, date), tenths in maxima.items():
        day = sums[(station, f"{date[4:6]}-{date[6:8]}")]
        day[0] += tenths
        day[1] += 1
    return sorted(f"{station}\t{day}\t{one_decimal(*s)}".encode() for (station, day), s in sums.items())


def csv_readings(text):
    for station, date, _, temperature in csv.reader(io.StringIO(text)):
        if temperature:
            whole, _, tenth = temperature.lstrip("+-").partition(".")
            tenths = int(whole) * 10 + int(tenth or "0")
            yield station, date.replace("-", ""), -tenths if temperature.startswith("-") else tenths


def ncdc_readings(text):
    for line in text.splitlines():
        if line[87:92] != "+9999" and line[92] in "01459":
            yield line[4:15], line[15:23], int(line[87:92])


class Weather(WeirTest):
    def generate(self, kind, rows, name, seed="1"):
        path = self.path(name)
        subprocess.run([GENERATE, kind, str(rows), path, seed], check=True)
        return path

    def result_of(self, *args):
        out = self.path("out")
        self.assert_ok(self.run_job("weather", *args, "-o", out, "--overwrite"))
        self.assert_ok(self.weir("verify", out))
        return sorted(read_parts(out))

    def test_real_records_of_1901(self):
        # Hourly records of the American weather service NCDC, public domain; some lines are of a station's own format.
        path = os.path.join(ROOT, "tests/data/ncdc-1901.gz")
        with gzip.open(path, "rt", encoding="latin-1") as file:
            readings = list(ncdc_readings(file.read()))
        self.assertEqual(len(readings), 6564)
        expected = means_of_maxima(readings)
        self.assertEqual(self.result_of(path, "--set", "format=ncdc", "--workers", "2"), expected)

    def test_any_workers_and_reducers_give_the_oracles_lines(self):
        path = self.generate("weather-csv", 60_000, "readings.csv")
        expected = means_of_maxima(csv_readings(self.text(path)))
        self.assertGreater(len(expected), 2000)
        for args in [["--workers", str(n)] for n in range(1, 9)] + [
                ["--workers", "3", "--reducers", "5,2"], ["--workers", "2", "--reducers", "1,4", "--slots", "3"],
                ["--workers", "4", "--mappers", "7", "--reducers", "3", "--plan-method", "even"]]:
            with self.subTest(args=args):
                self.assertEqual(self.result_of(path, *args), expected)

    def test_both_formats_of_one_seed_agree(self):
        of_csv = self.result_of(self.generate("weather-csv", 30_000, "readings.csv", "7"))
        ncdc = self.generate("weather-ncdc", 30_000, "readings.ncdc", "7")
        self.assertEqual(self.result_of(ncdc, "--set", "format=ncdc"), of_csv)
        self.assertEqual(means_of_maxima(ncdc_readings(self.text(ncdc))), of_csv)

    def test_reducers_by_layer_make_so_many_parts_and_a_wrong_list_is_refused(self):
        path = self.generate("weather-csv", 2_000, "readings.csv")
        self.result_of(path, "--reducers", "5,2")
        parts = [name for name in os.listdir(self.path("out")) if name.startswith("part-")]
        self.assertEqual(len(parts), 2)
        for command, out in (("run", ["-o", self.path("none")]), ("plan", [])):
            result = self.weir(command, "weather", path, *out, "--reducers", "1,2,3", "--work-dir", self.work)
            self.assert_fails(result, 2, "3 layers", "has 2 layers")
        self.assert_nothing_left(self.path("none"))

    def test_empty_input_and_an_empty_layer(self):
        self.assertEqual(self.result_of(self.write("empty.csv", "")), [])
        only_missing = self.write("missing.csv", "Ulm,2020-05-01,12:00,\n" * 1000)
        self.assertEqual(self.result_of(only_missing, "--workers", "3", "--reducers", "3,2"), [])

    def test_cluster_equals_embedded(self):
        path = self.generate("weather-csv", 60_000, "readings.csv")
        cluster = Cluster(self, workers=3)
        out = self.path("out-cluster")
        self.assert_ok(cluster.submit("weather", path, "-o", out, "--reducers", "4,2"))
        self.assertEqual(sorted(read_parts(out)), self.result_of(path, "--workers", "2"))
        cluster.stop()
        self.assert_nothing_left()


class Packed(WeirTest):
    FORMATS = (("gz", gzip.compress), ("zst", zstd_files.compress))

    def test_packed_and_plain_files_count_alike(self):
        for ending, pack in self.FORMATS:
            with self.subTest(ending):
                self.check_that_it_counts_as_plain_text(ending, pack)

    def check_that_it_counts_as_plain_text(self, ending, pack):
        text = "".join(f"S{i % 7},2020-{i % 12 + 1:02d}-{i % 28 + 1:02d},12:00,{i % 40}.{i % 10}\n" for i in range(30_000))
        expected = means_of_maxima(csv_readings(text))
        files = [self.write("in/plain.csv", text[:len(text) // 3 + 5])]
        rest = text[len(text) // 3 + 5:]
        members = pack(rest[:1000].encode()) + pack(rest[1000:].encode())
        files.append(self.write(f"in/members.csv.{ending}", members))
        for workers in ("1", "3", "5"):
            out = self.path(f"out{ending}{workers}")
            # The cut of the text lies within a row: both halves must be read to their ends, as files of their own.
            self.assert_ok(self.run_job("wordcount", *files, "-o", out, "--workers", workers, "--slots", "2"))
            words = collections.Counter(files and (text[:len(text) // 3 + 5] + "\n" + rest).split())
            self.assertEqual(sorted(read_parts(out)), sorted(f"{w}\t{n}".encode() for w, n in words.items()))
        whole = self.write(f"in2/whole.csv.{ending}", pack(text.encode()))
        out = self.path(f"out-weather-{ending}")
        self.assert_ok(self.run_job("weather", whole, "-o", out, "--workers", "4"))
        self.assertEqual(sorted(read_parts(out)), expected)

    def map_steps(self, report):
        return [step for step in report["steps"] if step["kind"] == "map"]

    def test_files_that_cannot_be_cut_are_planned_whole(self):
        rng = random.Random(3)
        text = " ".join("%x" % rng.getrandbits(20) for _ in range(200_000)).encode()
        big = self.write("in/big.gz", gzip.compress(text))
        plain = self.write("in/plain", text[:300_000])
        size = os.path.getsize(big)
        self.assertGreater(size, 500_000)
        flags = ["--workers", "4", "--no-history"]
        planned = self.weir("plan", "wordcount", big, "--json", *flags)
        self.assert_ok(planned)
        report = json.loads(planned.out)
        self.assertEqual([step["input_bytes"] for step in self.map_steps(report)], [size])
        self.assertIn("1 gzip file cannot be cut: 1 of 4 workers maps.", report["notes"])
        for name, inputs, method in (("one", [big], "load"), ("even", [big], "even"), ("mixed", [big, plain], "load")):
            with self.subTest(name=name):
                out = self.path(name)
                self.assert_ok(self.run_job("wordcount", *inputs, "-o", out, "--plan-method", method, *flags))
                report = json.loads(self.text(os.path.join(out, "_weir", "plan.json")))
                steps = self.map_steps(report)
                # What a step was planned to read is what it read.
                self.assertEqual([s["input_bytes"] for s in steps], [s["actual_input_bytes"] for s in steps])
                self.assertEqual(sum(s["input_bytes"] for s in steps), sum(os.path.getsize(path) for path in inputs))
                self.assertEqual(max(s["input_bytes"] for s in steps), size)
                words = collections.Counter(text.split())
                words.update(text[:300_000].split() if plain in inputs else [])
                self.assertEqual(sorted(read_parts(out)), sorted(b"%s\t%d" % (w, n) for w, n in words.items()))

    @staticmethod
    def members(text):
        """Of 50 000 bytes each: a place of the text that is no end of a word."""
        return [text[at:at + 50_000] for at in range(0, len(text), 50_000)]

    @staticmethod
    def bgzf(member):
        """As bgzip packs: an extra field says how large the member is."""
        packed = gzip.compress(member)
        size = len(packed) + 8
        return packed[:3] + b"\x04" + packed[4:10] + b"\x06\0BC\x02\0" + (size - 1).to_bytes(2, "little") + packed[10:]

    def test_files_of_members_that_say_their_size_are_shared(self):
        rng = random.Random(5)
        text = " ".join("%x" % rng.getrandbits(20) for _ in range(700_000)).encode()
        counted = sorted(b"%s\t%d" % (w, n) for w, n in collections.Counter(text.split()).items())
        for name, pack, is_shared in (("members.gz", gzip.compress, False), ("bgzf.gz", self.bgzf, True),
                                      ("frames.zst", zstd_files.compress, True),
                                      ("streams.zst", lambda m: zstd_files.compress(m, content_size=False), False)):
            path = self.write(name, b"".join(map(pack, self.members(text))))
            # Pieces are of 256 KiB or more.
            self.assertGreater(os.path.getsize(path), 1_500_000)
            for workers, slots in (("4", "1"), ("1", "3"), ("2", "2")):
                with self.subTest(name=name, workers=workers, slots=slots):
                    out = self.path("out")
                    self.assert_ok(self.run_job("wordcount", path, "-o", out, "--workers", workers, "--slots", slots,
                                                "--no-history", "--plan-method", "even", "--overwrite"))
                    self.assertEqual(sorted(read_parts(out)), counted)
                    steps = self.map_steps(json.loads(self.text(os.path.join(out, "_weir", "plan.json"))))
                    mapped = [s["input_bytes"] for s in steps if s["input_bytes"] > 0]
                    self.assertEqual(len(mapped), int(workers) if is_shared else 1)
                    self.assertEqual([s["input_bytes"] for s in steps], [s["actual_input_bytes"] for s in steps])

    def test_damage_is_named_with_file_and_offset(self):
        for ending, pack in self.FORMATS:
            whole = pack(b"".join(b"%d " % (i * i) for i in range(100_000)))
            for name, data, words in (("short", whole[:-5000], f"{len(whole) - 5000}"),
                                      ("plain", b"not packed at all\n", "damaged"),
                                      ("flipped", whole[:-6] + bytes([whole[-6] ^ 1]) + whole[-5:], "damaged")):
                with self.subTest(name=name, ending=ending):
                    path, out = self.write(f"{name}.{ending}", data), self.path("out")
                    result = self.run_job("wordcount", path, "-o", out, "--workers", "2")
                    self.assert_fails(result, 1, "DATA_LOSS", path, words)
                    self.assert_nothing_left(out)

    def test_random_damage_gives_an_error_or_the_same_words(self):
        rng = random.Random(11)
        text = b"".join(b"%d " % rng.getrandbits(18) for _ in range(60_000))
        words = sorted(b"%s\t%d" % (w, n) for w, n in collections.Counter(text.split()).items())
        failed = 0
        for ending, pack in self.FORMATS:
            # Two members: damage of the second comes when words of the first have been counted.
            whole = pack(text[:100_000]) + pack(text[100_000:])
            for number in range(8):
                damaged = bytearray(whole)
                if number % 2:
                    del damaged[rng.randrange(100, len(whole)):]
                else:
                    damaged[rng.randrange(30, len(whole))] ^= 1 << rng.randrange(8)
                path, out = self.write(f"damaged{number}.{ending}", bytes(damaged)), self.path("out")
                with self.subTest(path=path):
                    result = self.run_job("wordcount", path, "-o", out, "--workers", "2", "--overwrite")
                    if result.code == 0:
                        self.assertEqual(sorted(read_parts(out)), words)
                    else:
                        self.assert_fails(result, 1, "DATA_LOSS", path)
                        failed += 1
        self.assertGreater(failed, 8)

    def test_zstd_files_that_need_more_memory_than_there_is_say_what_to_do(self):
        text = b"".join(b"%d " % (i * i % 5000) for i in range(100_000))
        wide = self.write("wide.zst", zstd_files.skippable(b"x") + zstd_files.compress(text, content_size=False, window_log=26))
        out = self.path("out")
        result = self.run_job("wordcount", wide, "-o", out, "--memory", "128MiB", "--slots", "1")
        self.assert_fails(result, 1, "OUT_OF_MEMORY", wide, "67108864", "--memory")
        self.assert_nothing_left(out)
        self.assert_ok(self.run_job("wordcount", wide, "-o", out, "--memory", "256MiB", "--slots", "1"))
        self.assertEqual(sorted(read_parts(out)),
                         sorted(b"%s\t%d" % (w, n) for w, n in collections.Counter(text.split()).items()))

    def test_a_file_that_expands_a_thousandfold_is_streamed(self):
        for ending, pack in self.FORMATS:
            zeros = pack(b"0\n" * (50 << 20))
            self.assertLess(len(zeros), 200_000)
            out = self.path(f"out-{ending}")
            self.assert_ok(self.run_job("wordcount", self.write(f"zeros.{ending}", zeros), "-o", out, "--memory", "32MiB"))
            self.assertEqual(read_parts(out), [b"0\t%d" % (50 << 20)])


class SkipBad(WeirTest):
    def setUp(self):
        super().setUp()
        rows = [f"Ulm,2020-05-{i % 28 + 1:02d},12:00,{i % 30}.5\n" for i in range(5000)]
        self.good = "".join(rows)
        for i in range(0, 5000, 500):  # ten of them, over all mappers
            rows[i] = f"Ulm,2020-05-99,12:00,bad{i}\n"
        self.bad = self.write("bad.csv", "".join(rows))
        self.expected = means_of_maxima(csv_readings("".join(r for r in rows if "bad" not in r)))

    def test_the_first_ends_the_job_without_the_flag(self):
        out = self.path("out")
        self.assert_fails(self.run_job("weather", self.bad, "-o", out), 1, "BAD_RECORD", self.bad, "bad0", "--skip-bad")
        self.assert_nothing_left(out)

    def test_up_to_n_are_counted_and_named(self):
        for workers in ("1", "4"):
            out = self.path(f"out{workers}")
            result = self.run_job("weather", self.bad, "-o", out, "--skip-bad", "10", "--workers", workers, "--json")
            self.assert_ok(result)
            self.assertEqual(sorted(read_parts(out)), self.expected)
            status = json.loads(result.out)
            self.assertEqual(status["counters"]["bad_records"], 10)
            self.assertGreaterEqual(len(status["skipped"]), 5)
            for record in status["skipped"]:
                self.assertEqual(record["file"], self.bad)
                with open(self.bad, "rb") as file:
                    file.seek(record["byte_offset"])
                    self.assertTrue(file.readline().decode().startswith(record["content"]))
            self.assertIn("left out: " + self.bad, result.err)

    def test_one_more_ends_it_even_when_no_step_has_so_many(self):
        for workers in ("1", "4"):
            out = self.path("out")
            result = self.run_job("weather", self.bad, "-o", out, "--skip-bad", "9", "--workers", workers)
            self.assert_fails(result, 1, "BAD_RECORD", self.bad)
            self.assert_nothing_left(out)

    def test_jobs_that_read_whole_blocks_leave_out_the_same(self):
        rows = ["Ulm;1.0"] * 3000
        rows[0] = rows[1500] = rows[2999] = "Ulm;one"
        path = self.write("rows.txt", "\n".join(rows))
        out = self.path("out")
        self.assert_ok(self.run_job("onebrc", path, "-o", out, "--skip-bad", "3", "--workers", "3"))
        self.assertEqual(read_parts(out), [b"Ulm=1.0/1.0/1.0"])
        self.assert_fails(self.run_job("onebrc", path, "-o", self.path("o2"), "--skip-bad", "2"), 1, "BAD_RECORD")


if __name__ == "__main__":
    unittest.main(verbosity=2)
