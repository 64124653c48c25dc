#!/usr/bin/env python3
"""Word count by Python scripts: weir streaming against a pipeline with two mappers at a time, in turn, in one run.

Usage: streaming.py WEIR [--megabytes 300] [--runs 3] [--work-dir DIR]

Prints the wall time of both, their ratio, and the processor time that is spent outside the scripts. The pipeline is
    (map.py < half 1 & map.py < half 2) | LC_ALL=C sort | reduce.py
and both must count the same.
"""
import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# Each script adds its own processor time to a file when it ends.
CPU = """
import atexit, os
def _note():
    t = os.times()
    with open(os.environ["CPU_LOG"], "a") as log:
        log.write("%f\\n" % (t.user + t.system))
atexit.register(_note)
"""
MAP = CPU + """
import sys
out = sys.stdout
for line in sys.stdin:
    out.write("".join([word + "\\t1\\n" for word in line.split()]))
"""
REDUCE = CPU + """
import sys
last, count = None, 0
for line in sys.stdin:
    word, _, n = line.rstrip("\\n").partition("\\t")
    if word != last:
        if last is not None:
            print("%s\\t%d" % (last, count))
        last, count = word, 0
    count += int(n)
if last is not None:
    print("%s\\t%d" % (last, count))
"""


def write_words(path, megabytes):
    draw = random.Random(7)
    words = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(2, 9))) for _ in range(50000)]
    lines, size = [], 0
    while size < 4 << 20:
        lines.append(" ".join(words[int(draw.paretovariate(0.8)) % len(words)] for _ in range(12)) + "\n")
        size += len(lines[-1])
    with open(path, "w", encoding="ascii") as file:
        for _ in range(max(1, megabytes // 4)):
            draw.shuffle(lines)
            file.writelines(lines)


class Runs:
    def __init__(self, folder, weir, source):
        self.folder, self.weir, self.source = folder, weir, source
        self.log = os.path.join(folder, "cpu")
        self.env = dict(os.environ, CPU_LOG=self.log, LC_ALL="C", XDG_STATE_HOME=os.path.join(folder, "state"))
        for name, text in (("map.py", MAP), ("reduce.py", REDUCE)):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
        self.mapper, self.reducer = (f"{sys.executable} {folder}/{n}" for n in ("map.py", "reduce.py"))

    def measure(self, what):
        """Returns wall time, processor time outside the scripts and the lines of the result."""
        open(self.log, "w", encoding="ascii").close()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        lines = what()
        wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        with open(self.log, encoding="ascii") as log:
            scripts = sum(float(line) for line in log)
        return wall, total - scripts, lines

    def pipeline(self):
        half = os.path.getsize(self.source) // 2
        with open(self.source, "rb") as file:
            file.seek(half)
            half += len(file.readline())
        script = (f"(head -c {half} {self.source} | {self.mapper} & tail -c +{half + 1} {self.source} | {self.mapper}; wait)"
                  f" | sort -T {self.folder} | {self.reducer}")
        out = subprocess.run(["bash", "-c", script], env=self.env, check=True, stdout=subprocess.PIPE).stdout
        return out.split(b"\n")[:-1]

    def streaming(self):
        out = os.path.join(self.folder, "out")
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([self.weir, "streaming", "-input", self.source, "-output", out, "-mapper", self.mapper, "-reducer",
                        self.reducer, "-cmdenv", f"CPU_LOG={self.log}", "-numReduceTasks", "2", "--workers", "2",
                        "--work-dir", self.folder, "--quiet"], env=self.env, check=True)
        lines = []
        for name in sorted(os.listdir(out)):
            if name.startswith("part-"):
                with open(os.path.join(out, name), "rb") as file:
                    lines += file.read().split(b"\n")[:-1]
        return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir")
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work-dir")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="weir-bench-", dir=args.work_dir)
    try:
        source = os.path.join(folder, "words")
        write_words(source, args.megabytes)
        runs = Runs(folder, os.path.abspath(args.weir), source)
        walls, cpus = {"pipeline": [], "weir": []}, {"pipeline": [], "weir": []}
        for _ in range(args.runs):
            results = {}
            for name, what in (("pipeline", runs.pipeline), ("weir", runs.streaming)):
                wall, cpu, lines = runs.measure(what)
                walls[name].append(wall)
                cpus[name].append(cpu)
                results[name] = sorted(lines)
                print(f"{name:9} {wall:7.2f} s, outside of the scripts {cpu:6.2f} s of processor time", flush=True)
            if results["pipeline"] != results["weir"]:
                sys.exit("the results differ")
        ratio = statistics.median(walls["weir"]) / statistics.median(walls["pipeline"])
        print(f"wall time: weir / pipeline = {ratio:.2f} (medians of {args.runs}); outside of the scripts "
              f"{statistics.median(cpus['weir']):.1f} s against {statistics.median(cpus['pipeline']):.1f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
