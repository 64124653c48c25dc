"""What chaos runs compute, and the oracle: the same by a small sequential program that shares nothing with the product.

Upstream: scenarios. Inputs and expected lines are made once a size and seed and kept beside each other.
"""
import collections
import os
import subprocess
import sys

from ground import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests/integration"))
sys.path.insert(0, os.path.join(ROOT, "tests/netlab"))
import jobs as netlab_jobs  # noqa: E402
from weather_test import csv_readings, means_of_maxima  # noqa: E402
from weir_process import read_parts  # noqa: E402

BUILD = os.environ.get("WEIR_BUILD_DIR", os.path.join(ROOT, "build/release"))
GENERATE = os.environ.get("WEIR_GENERATE_INPUT", os.path.join(BUILD, "tests/bench/weir_bench_generate_input"))


class Work:
    """One job with its input and the lines that its output must have, in whatever order and parts."""

    def __init__(self, job, path, lines):
        self.job, self.path = job, path
        self.lines = lines

    def flags(self):
        return [self.job, self.path]

    def check(self, output):
        """None when the output is right byte for byte, else what is wrong with it."""
        try:
            found = sorted(read_parts(output))
        except OSError as error:
            return f"no output: {error}"
        if found == self.lines:
            return None
        expected, seen = set(self.lines), set(found)
        return (f"{len(found)} lines instead of {len(self.lines)}: {len(expected - seen)} are missing, "
                f"{len(seen - expected)} are wrong, {len(found) - len(seen)} are there twice")


def _kept(directory, name, make):
    """Lines of a file that is made when it is not there."""
    path = os.path.join(directory, name)
    if not os.path.exists(path):
        lines = make()
        with open(path + ".new", "wb") as file:
            file.write(b"\n".join(lines))
        os.rename(path + ".new", path)
    with open(path, "rb") as file:
        text = file.read()
    return text.split(b"\n") if text else []


def wordcount(directory, megabytes, seed):
    """Words of six digits, two million different ones: counting shortens little, so much must be moved."""
    path = os.path.join(directory, f"words-{megabytes}-{seed}.txt")
    if not os.path.exists(path):
        netlab_jobs.write_text(path + ".new", megabytes, seed)
        os.rename(path + ".new", path)

    def expected():
        counts = collections.Counter()
        with open(path, "rb") as file:
            for line in file:
                counts.update(line.split())
        return sorted(b"%s\t%d" % pair for pair in counts.items())
    return Work("wordcount", path, _kept(directory, f"words-{megabytes}-{seed}.expected", expected))


def weather(directory, rows, seed):
    """Readings of 100 stations: two layers, maxima a day and their means."""
    if not os.path.exists(GENERATE):
        raise FileNotFoundError(f"{GENERATE}: build weir_bench_generate_input, or set WEIR_GENERATE_INPUT")
    path = os.path.join(directory, f"weather-{rows}-{seed}.csv")
    if not os.path.exists(path):
        subprocess.run([GENERATE, "weather-csv", str(rows), path + ".new", str(seed)], check=True)
        os.rename(path + ".new", path)

    def expected():
        with open(path, encoding="ascii") as file:
            blocks = iter(lambda: "".join(file.readlines(1 << 24)), "")
            return means_of_maxima(reading for block in blocks for reading in csv_readings(block))
    return Work("weather", path, _kept(directory, f"weather-{rows}-{seed}.expected", expected))
