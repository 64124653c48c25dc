"""Chained layers: the weather job against an oracle, for any numbers of workers and reducers and all write modes."""
import json
import os
import random
import unittest
from decimal import ROUND_HALF_UP, Decimal

from weir_process import Cluster, WeirTest, read_parts


def write_readings(path, count, stations=60, seed=3):
    """Makes rows of weather readings; returns the lines that the job must write."""
    draw = random.Random(seed)
    maxima = {}
    with open(path, "w", encoding="ascii") as file:
        for _ in range(count):
            station, tenths = f"S{draw.randrange(stations):03}", draw.randrange(-400, 400)
            date = f"{draw.randrange(1990, 1994)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"
            file.write(f"{station},{date},{draw.randrange(24):02}:00,{tenths / 10:.1f}\n")
            maxima[station, date] = max(maxima.get((station, date), -9999), tenths)
    days = {}
    for (station, date), tenths in maxima.items():
        days.setdefault((station, date[5:]), []).append(tenths)
    lines = []
    for (station, day), of_day in days.items():
        mean = (Decimal(sum(of_day)) / len(of_day)).quantize(Decimal(1), ROUND_HALF_UP) / 10
        lines.append(f"{station}\t{day}\t{abs(mean) if mean == 0 else mean:.1f}".encode())
    return sorted(lines)


class Layers(WeirTest):
    def files_of(self, output):
        names = sorted(name for name in os.listdir(output) if name.startswith("part-"))
        contents = []
        for name in names:
            with open(os.path.join(output, name), "rb") as file:
                contents.append(file.read())
        return contents

    def test_embedded_with_different_numbers_by_layer(self):
        readings = self.path("readings.csv")
        expected = write_readings(readings, 60000)
        for workers, reducers, mode in ((1, "1", "parts"), (2, "5,2", "one"), (3, "2,5", "parallel:2"),
                                        (5, "4,1", "parallel"), (8, "7,3", "one"), (4, "", "one")):
            with self.subTest(workers=workers, reducers=reducers, mode=mode):
                out = self.path(f"out-{workers}-{reducers}")
                layers = ["--reducers", reducers] if reducers else []
                self.assert_ok(self.run_job("weather", readings, "-o", out, "--workers", str(workers),
                                            "--write", mode, *layers))
                self.assertEqual(sorted(read_parts(out)), expected)
                self.assert_ok(self.weir("verify", out))
                parts = 1 if mode == "one" else int(reducers.split(",")[-1])
                self.assertEqual(len(self.files_of(out)), parts)
        self.assert_nothing_left()

    def test_cluster_writes_what_embedded_writes(self):
        readings = self.path("readings.csv")
        expected = write_readings(readings, 60000)
        cluster = Cluster(self, workers=3)
        files = {}
        for mode in ("parts", "parallel:1", "one"):
            out = self.path(mode)
            self.assert_ok(cluster.submit("weather", readings, "-o", out, "--plan-method", "even",
                                          "--reducers", "5,4", "--write", mode))
            self.assertEqual(sorted(read_parts(out)), expected)
            files[mode] = self.files_of(out)
        self.assertEqual(files["parallel:1"], files["parts"])
        self.assertEqual(files["one"], [b"".join(files["parts"])])
        local = self.path("local")
        self.assert_ok(self.run_job("weather", readings, "-o", local, "--workers", "3", "--plan-method", "even",
                                    "--reducers", "5,4", "--write", "one"))
        self.assertEqual(self.files_of(local), files["one"])
        cluster.stop()
        self.assert_nothing_left()

    def test_packed_runs_give_the_same_files_and_move_less(self):
        readings = self.path("readings.csv")
        expected = write_readings(readings, 60000)
        # Workers of one machine would hand runs over in place; a rate makes the network count.
        cluster = Cluster(self, workers=3, master_args=["--channel-rate", "100Mbit/s"])
        files, moved = {}, {}
        for codec in ("none", "lz4", "zstd"):
            out = self.path(codec)
            self.assert_ok(cluster.submit("weather", readings, "-o", out, "--plan-method", "even",
                                          "--reducers", "5,4", "--codec", codec))
            self.assertEqual(sorted(read_parts(out)), expected)
            files[codec] = self.files_of(out)
            with open(os.path.join(out, "_weir", "plan.json"), encoding="utf-8") as file:
                report = json.load(file)
            self.assertEqual(report["run_codec"], [] if codec == "none" else [codec, codec])
            moved[codec] = sum(transfer["actual_bytes"] for transfer in report["transfers"])
        self.assertEqual(files["lz4"], files["none"])
        self.assertEqual(files["zstd"], files["none"])
        self.assertLess(moved["zstd"], 0.9 * moved["none"])
        self.assertLess(moved["lz4"], 0.95 * moved["none"])
        # The runs told what packing saves, so the planner now decides by itself, and says why.
        planned = self.weir("plan", "weather", readings, "--master", cluster.address, "--reducers", "5,4")
        self.assert_ok(planned)
        self.assertRegex(planned.out, rb"(?s)map output packed by zstd.*history")
        # A plan file keeps its codecs.
        again = self.path("again")
        self.assert_ok(cluster.submit("weather", readings, "-o", again, "--plan-file",
                                      self.path("zstd", "_weir", "plan.json")))
        self.assertEqual(self.files_of(again), files["none"])
        self.assert_fails(cluster.submit("weather", readings, "-o", self.path("x"), "--codec", "lz4", "--plan-file",
                                         self.path("zstd", "_weir", "plan.json")), 2, "codec")
        cluster.stop()
        self.assert_nothing_left()

    def test_explain_names_layers(self):
        readings = self.path("readings.csv")
        write_readings(readings, 2000)
        planned = self.weir("plan", "weather", readings, "--workers", "2", "--reducers", "2,2", "--write", "one")
        self.assert_ok(planned)
        for needle in (b"reduce 1", b"reduce 2", b"write", b"Output is one file"):
            self.assertIn(needle, planned.out)


if __name__ == "__main__":
    unittest.main()
