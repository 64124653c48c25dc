#!/usr/bin/env python3
"""How well runs are predicted: several jobs and sizes, first run (sampled or defaults) and later ones (history).

Prints one line a run and, for first and for later runs, the median error and the share within 20 %. Nothing is asserted: on a
busy machine the figures say more about the machine.

  python3 tests/bench/predict.py [--weir BINARY] [--generate BINARY] [--repeat N] [--sizes MB,MB,...] [--workers N]
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(weir, job, path, workers, home, out):
    shutil.rmtree(out, ignore_errors=True)
    extra = ["--set", "top=0"] if job == "wordcount" else []
    done = subprocess.run(
        [weir, "run", job, path, "-o", out, "--workers", str(workers), "-q", "--json", *extra],
        env={**os.environ, "XDG_STATE_HOME": home}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{job} on {path} failed:\n{done.stderr}")
    with open(os.path.join(out, "_weir", "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    origin = next(n["origin"] for n in plan["numbers"] if n["name"] == "map time")
    return plan["predicted_s"], plan["actual_s"], origin


def summary(name, errors):
    if errors:
        within = sum(e <= 0.2 for e in errors) / len(errors)
        print(f"{name}: {len(errors)} runs, median error {statistics.median(errors):.1%}, "
              f"within 20 %: {within:.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default=os.path.join(ROOT, "build/release/runtime/app/weir"))
    parser.add_argument("--generate", default=os.path.join(ROOT, "build/release/tests/bench/weir_bench_generate_input"))
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--sizes", default="1,16,64,256")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    first, later = [], []
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'job':10} {'MB':>6} {'run':>4} {'predicted':>10} {'actual':>10} {'error':>7}  map rate from")
        for megabytes in map(int, options.sizes.split(",")):
            words = os.path.join(folder, f"words-{megabytes}")
            rows = os.path.join(folder, f"rows-{megabytes}")
            subprocess.run([options.generate, "words", str(megabytes * 10**6), str(megabytes * 1000), words],
                           check=True, stdout=subprocess.DEVNULL)
            subprocess.run([options.generate, "rows", str(megabytes * 10**6 // 14), rows],
                           check=True, stdout=subprocess.DEVNULL)
            for job, path in (("wordcount", words), ("onebrc", rows)):
                home = os.path.join(folder, f"{job}-{megabytes}-home")
                for turn in range(options.repeat):
                    predicted, actual, origin = run(options.weir, job, path, options.workers, home,
                                                    os.path.join(folder, "out"))
                    error = abs(predicted / actual - 1)
                    (later if turn else first).append(error)
                    print(f"{job:10} {megabytes:6} {turn + 1:4} {predicted:9.3f}s {actual:9.3f}s {error:7.1%}  {origin}",
                          flush=True)
            os.remove(words)
            os.remove(rows)
    summary("first runs", first)
    summary("later runs", later)
    summary("all", first + later)


if __name__ == "__main__":
    main()
