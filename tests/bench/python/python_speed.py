#!/usr/bin/env python3
"""Python functions over frames against the same job as text streaming, in turn, in one run; and distinct users per day.

Usage: python_speed.py WEIR [--megabytes 100] [--visits-megabytes 100] [--runs 3] [--work-dir DIR] [--json FILE] [--check]

Word count: records are the words that the mapper makes. Three programs count the same words: scripts over text (`weir streaming`),
a mapper that takes lines, and one that takes texts and gives columns. Distinct users per day: the lines of
docs/guides/python.md, in records a second and core (wall time and processor time). --check fails where the last program has
not three times the records of text streaming a second of processor time, or the other has less than half a million records a
second of processor time: on a busy machine wall time says little.
"""
import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "../../../runtime/client/python/src")
sys.path[:0] = [PACKAGE, os.path.join(HERE, "..")]
sys.dont_write_bytecode = True
import streaming  # noqa: E402
import weir  # noqa: E402

GOAL = 3.0
VISITS_GOAL = 0.5e6  # records a second of processor time
MAP = """
import sys
for line in sys.stdin:
    for word in line.split():
        print(word + "\\t1")
"""
REDUCE = streaming.REDUCE.replace(streaming.CPU, "")


def by_line(line):
    for word in line.split():
        yield word, 1


@weir.text
def by_text(text):
    words = text.split()
    return weir.Columns(words, [1] * len(words))


def total(key, values):
    yield key, sum(values)


@weir.batch
def visits(lines):
    return [(line[:10], line.split(" ", 2)[1]) for line in lines]


def once(day, users):
    return [(day, user) for user in set(users)]


def distinct(day, users):
    yield day, len(set(users))


def write_visits(path, megabytes):
    draw = random.Random(5)
    lines, size, first = [], 0, 0
    with open(path, "w", encoding="ascii") as file:
        while size < megabytes << 20:
            lines = [f"2026-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}T{draw.randrange(24):02}:30:00 "
                     f"user{int(draw.paretovariate(0.7)) % 200000 + first % 7} /page/{draw.randrange(1000)}\n" for _ in range(50000)]
            first += 1
            for _ in range(4):  # drawing is slower than what is measured
                file.writelines(lines)
                size += sum(map(len, lines))


class Measured:
    def __init__(self, folder, program, workers):
        self.folder, self.program, self.workers, self.out = folder, program, workers, os.path.join(folder, "out")
        for name, script in (("map.py", MAP), ("reduce.py", REDUCE)):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(script)

    def __call__(self, what):
        """Wall time, processor time of all processes, result."""
        shutil.rmtree(self.out, ignore_errors=True)
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        result = what()
        wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result

    def streaming(self, source):
        scripts = [f"{sys.executable} {self.folder}/{name}" for name in ("map.py", "reduce.py")]
        subprocess.run([self.program, "streaming", "-input", source, "-output", self.out, "-mapper", scripts[0], "-reducer", scripts[1],
                        "-numReduceTasks", str(self.workers), "--workers", str(self.workers), "--work-dir", self.folder,
                        "--no-sample", "--quiet"], check=True)
        rows = (line.split("\t") for name in sorted(os.listdir(self.out)) if name.startswith("part-")
                for line in open(os.path.join(self.out, name), encoding="ascii"))
        return {word: int(number) for word, number in rows}

    def functions(self, job, source):
        return weir.run(job, source, workers=self.workers, reducers=self.workers, work_dir=self.folder, no_sample=True, progress=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--visits-megabytes", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work-dir")
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="weir-bench-", dir=args.work_dir)
    os.environ["WEIR_PROGRAM"], os.environ["XDG_STATE_HOME"] = os.path.abspath(args.weir), os.path.join(folder, "state")
    try:
        measured = Measured(folder, os.path.abspath(args.weir), 2)
        words, log = os.path.join(folder, "words"), os.path.join(folder, "visits")
        streaming.write_words(words, args.megabytes << 20)
        write_visits(log, args.visits_megabytes)
        fold = weir.by_key(sum)
        ways = {"text streaming": lambda: measured.streaming(words),
                "frames, a mapper over lines": lambda: measured.functions(weir.job(by_line, total), words),
                "frames, a mapper over texts": lambda: measured.functions(weir.job(by_text, fold), words),
                "the same with a combiner": lambda: measured.functions(weir.job(by_text, fold, fold), words)}
        walls, cpus = {way: [] for way in ways}, {way: [] for way in ways}
        for _ in range(args.runs):
            counts = None
            for way, what in ways.items():
                wall, cpu, result = measured(what)
                result = result if isinstance(result, dict) else dict(result)
                if counts is not None and result != counts:
                    sys.exit(f"{way}: the results differ")
                counts = result
                records = sum(counts.values())
                walls[way].append(wall)
                cpus[way].append(cpu)
                print(f"{way:28} {wall:7.2f} s wall, {cpu:7.2f} s of processor time: {records / wall / 1e6:6.2f} M records a second",
                      flush=True)
        ratios, report = {}, {}
        for what, times in (("", walls), ("of processor time", cpus)):
            medians = {way: statistics.median(times[way]) for way in ways}
            ratios = {way: medians["text streaming"] / median for way, median in medians.items()}
            report[what or "of wall time"] = ratios
            print(f"records a second {what} over text streaming (medians): ".replace("  ", " ") +
                  ", ".join(f"{way} {ratio:.2f}" for way, ratio in ratios.items() if way != "text streaming"))
        job = weir.job(visits, distinct, once)
        rates = []
        for _ in range(args.runs):
            wall, cpu, days = measured(lambda: measured.functions(job, log))
            with open(log, "rb") as file:
                records = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
            print(f"distinct users per day: {len(list(days))} days of {records / 1e6:.1f} M records in {wall:.2f} s wall, {cpu:.2f} s of "
                  f"processor time: {records / wall / measured.workers / 1e6:.2f} M records a second and core of wall time, "
                  f"{records / cpu / 1e6:.2f} of processor time", flush=True)
            rates.append({"wall": records / wall / measured.workers, "processor": records / cpu, "records": records})
        if args.json:
            report["distinct users per day, records a second and core"] = rates
            with open(args.json, "w", encoding="ascii") as file:
                json.dump(report, file, indent=1)
        best, visits_rate = ratios["frames, a mapper over texts"], statistics.median(rate["processor"] for rate in rates)
        if args.check and best < GOAL:
            sys.exit(f"frames have {best:.2f} times the records of text streaming a second of processor time; at least {GOAL} are wanted")
        if args.check and visits_rate < VISITS_GOAL:
            sys.exit(f"distinct users per day: {visits_rate:.0f} records a second of processor time; {VISITS_GOAL:.0f} are wanted")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
