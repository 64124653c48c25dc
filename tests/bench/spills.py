#!/usr/bin/env python3
"""What plans say of steps whose memory is full, beside what those put on disk and take: the table of docs/prediction.md.

  python3 tests/bench/spills.py              word count and terasort of 2 GB, two workers of one slot, three turns of each
  python3 tests/bench/spills.py --turns 1    one of each
  python3 tests/bench/spills.py --megabytes 500
  python3 tests/bench/spills.py --json docs/figures/spills.json    keeps each turn, with the commit

Words are 20 million different ones by Zipf's law; inputs are on disk and in the page cache. Nothing is known of the jobs but their samples. Prints a table: bytes and
seconds predicted and actual, medians of the turns; the prediction "without" leaves out what steps take for what they put on disk,
which is what plans said before they knew of it.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/bench/one_machine"))
from report import commit  # noqa: E402
# Name, job, input, flags. One map step a worker of terasort, which by itself would make as many as fit.
CASES = [
    ("word count, 512 MiB", "wordcount", "words", ["--memory", "512MiB"]),
    ("word count, 128 MiB", "wordcount", "words", ["--memory", "128MiB"]),
    ("terasort, 256 MiB", "terasort", "records", ["--memory", "256MiB", "--mappers", "2"]),
    ("terasort, 64 MiB", "terasort", "records", ["--memory", "64MiB", "--mappers", "2"]),
]


def make_inputs(args, directory):
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    num_bytes = args.megabytes * 1_000_000
    words, records = os.path.join(directory, "words"), os.path.join(directory, "records")
    if not os.path.exists(words):
        generate = os.path.join(args.build, "tests/bench/weir_bench_generate_input")
        subprocess.run([generate, "words", str(num_bytes), "20000000", words], **quiet)
    if not os.path.exists(records):
        subprocess.run([args.weir, "data", "generate", "terasort", "--records", str(num_bytes // 100), "-o", records], **quiet)


def longest(plan, kind):
    return max(step.get("spill_s", 0) for step in plan["steps"] if step["kind"] == kind)


def run(args, directory, job, name, flags):
    out = os.path.join(directory, "out")
    os.sync()  # else the system writes the input back while the job waits for its parts
    with open(os.path.join(directory, name), "rb") as file:  # some machines forget what nobody read for a minute
        while file.read(1 << 24):
            pass
    result = subprocess.run([args.weir, "run", job, os.path.join(directory, name), "-o", out, "--overwrite", "--json", "-q", "--workers", "2",
                             "--slots", "1", "--no-history", "--work-dir", directory, *flags], check=True, stdout=subprocess.PIPE)
    report = json.loads(result.stdout)
    with open(os.path.join(out, "_weir/plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    with_s = report["predicted_makespan_s"]
    return (plan.get("spilled_bytes", 0) / 1e9, plan.get("actual_spilled_bytes", 0) / 1e9,
            with_s - longest(plan, "map") - longest(plan, "reduce"), with_s, report["actual_makespan_s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--weir", help="default: that of the build")
    parser.add_argument("--data", type=os.path.abspath, help="where inputs stay for the next time (default: nowhere)")
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="keep what each turn showed")
    args = parser.parse_args()
    args.weir = args.weir or os.path.join(args.build, "runtime/app/weir")
    with tempfile.TemporaryDirectory() as scratch:
        directory = args.data or scratch
        os.makedirs(directory, exist_ok=True)
        make_inputs(args, directory)
        turns = [[run(args, directory, *case[1:]) for case in CASES] for _ in range(args.turns)]
    if args.json:
        names = ["spilled_gb", "actual_spilled_gb", "without_s", "predicted_s", "actual_s"]
        rows = [{"job": case[0], "turns": [dict(zip(names, turn[i])) for turn in turns]} for i, case in enumerate(CASES)]
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"megabytes": args.megabytes, "commit": commit(ROOT), "rows": rows}, file, indent=1)
            file.write("\n")
    print("| job, `--memory` | GB on disk: predicted | actual | seconds: predicted without | predicted | actual |\n|---|---|---|---|---|---|")
    for i, case in enumerate(CASES):
        medians = [statistics.median(turn[i][k] for turn in turns) for k in range(5)]
        print(f"| {case[0]} | {medians[0]:.2f} | {medians[1]:.2f} | {medians[2]:.1f} | {medians[3]:.1f} | {medians[4]:.1f} |")


if __name__ == "__main__":
    main()
