#!/usr/bin/env python3
"""The code of built-in jobs as a module against the same built in: processor time and wall time, in turns, in one run.

Usage: module.py BUILD [--megabytes 512] [--runs 7] [--check] [-o FILE.json] [--work-dir DIR]

BUILD is a build directory of Weir (build/release) with the target weir_installed: what it installs is what the module is built with. Jobs:
wordcount, and distinct users per day. Both ways must give the same bytes. With --check it fails when a module takes over
1.05 times the processor time or wall time (medians).
"""
import argparse
import glob
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT = 1.05
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def build_module(build, folder):
    prefix = os.path.join(folder, "prefix")
    run("cmake", "--install", build, "--prefix", prefix)
    made = os.path.join(folder, "module")
    run("cmake", "-S", HERE, "-B", made, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", made)
    return os.path.join(prefix, "bin/weir"), os.path.join(made, "libbench_jobs.so")


def write_visits(path, megabytes):
    """Rows "day,user": 400 000 users, of whom some come often, on 365 days."""
    row, size = 0, 0
    with open(path, "w", encoding="ascii") as file:
        file.write("day,user\n")
        while size < megabytes << 20:
            lines = []
            for _ in range(100_000):
                row = (row * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
                user = (row >> 40) % 400_000 * ((row >> 20) % 1000) // 1000
                lines.append(f"2026-{(row >> 33) % 12 + 1:02}-{(row >> 45) % 28 + 1:02},user{user}\n")
            text = "".join(lines)
            file.write(text)
            size += len(text)


class Bench:
    def __init__(self, weir, module, folder):
        self.weir, self.module, self.folder = weir, module, folder
        self.env = dict(os.environ, XDG_STATE_HOME=os.path.join(folder, "state"), LC_ALL="C")

    def once(self, words, as_module):
        """Returns wall time, processor time and the bytes of the result."""
        out = os.path.join(self.folder, "out")
        shutil.rmtree(out, ignore_errors=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        # The same plan both ways: nothing learned, nothing sampled.
        run(self.weir, "run", *(["--module", self.module] if as_module else []), *words, "-o", out, "--workers", "2", "--quiet",
            "--no-history", "--no-sample", "--plan-method", "even", "--work-dir", self.folder, env=self.env)
        wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = []
        for part in sorted(glob.glob(os.path.join(out, "part-*"))):
            with open(part, "rb") as file:
                result.append(file.read())
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result

    def compare(self, name, words, runs):
        seconds = {way: {"wall_s": [], "cpu_s": []} for way in ("built_in", "module")}
        results = {}
        for turn in range(runs + 1):
            # Who begins takes turns; the first turn of both warms the page cache and is not counted.
            for way in list(seconds)[::-1 if turn % 2 else 1]:
                wall, cpu, results[way] = self.once(words, way == "module")
                if turn:
                    seconds[way]["wall_s"].append(round(wall, 4))
                    seconds[way]["cpu_s"].append(round(cpu, 4))
            if results["built_in"] != results["module"]:
                sys.exit(f"{name}: the results differ")
        ratios = {what: round(statistics.median(seconds["module"][what]) / statistics.median(seconds["built_in"][what]), 4)
                  for what in ("cpu_s", "wall_s")}
        print(f"{name:10} cpu {statistics.median(seconds['built_in']['cpu_s']):.3f} s built in, ratio {ratios['cpu_s']:.3f}; "
              f"wall {statistics.median(seconds['built_in']['wall_s']):.3f} s, ratio {ratios['wall_s']:.3f}", flush=True)
        return {"job": name, "ratio": ratios, **seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--check", action="store_true", help=f"fail above {LIMIT}")
    parser.add_argument("-o", "--output", help="JSON of what was measured")
    parser.add_argument("--work-dir")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="weir-bench-", dir=args.work_dir)
    try:
        weir, module = build_module(os.path.abspath(args.build), folder)
        words, visits = os.path.join(folder, "words.txt"), os.path.join(folder, "visits.csv")
        generate = os.path.join(args.build, "tests/bench/weir_bench_generate_input")
        run(generate, "words", str(args.megabytes << 20), "100000", words)
        write_visits(visits, args.megabytes)
        bench = Bench(weir, module, folder)
        load = os.getloadavg()[0]
        rows = [bench.compare("wordcount", ["wordcount", words, "--set", "top=0"], args.runs),
                bench.compare("distinct", ["distinct", visits, "--set", "column=user", "--set", "key=day", "--set", "header=day,user",
                                            "--set", "show=0"], args.runs)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    document = {"schema": 1, "megabytes": args.megabytes, "runs": args.runs, "cores": os.cpu_count(), "kernel": platform.release(),
                "load_average": [round(load, 2), round(os.getloadavg()[0], 2)], "limit": LIMIT, "rows": rows}
    if args.output:
        with open(args.output, "w", encoding="ascii") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
    worst = max(ratio for row in rows for ratio in row["ratio"].values())
    if args.check and worst > LIMIT:
        sys.exit(f"a module takes {worst:.3f} times what the same job takes built in, more than {LIMIT}")


if __name__ == "__main__":
    main()
