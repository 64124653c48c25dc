#!/usr/bin/env python3
"""How well runs are predicted whose data was never seen, and later runs of the same data.

  python3 tests/bench/predict.py                  all inputs of tests/bench/run, 64 MB and 256 MB of each
  python3 tests/bench/predict.py --check          fails when a bar is missed (below)
  python3 tests/bench/predict.py --publish        keeps the figures in docs/figures/predictions.json, the table in
                                                  docs/prediction.md
  python3 tests/bench/predict.py --busy           beside a process that keeps one core busy, as all of it
  python3 tests/bench/predict.py --await-idle 20  each run once others have stopped, or after so many seconds
  python3 tests/bench/predict.py --between        later runs behind one on the other data, too

Of each input and size: runs with an empty history; runs with a history of the same job on other data (word count of other
text, stations by other numbers, readings of another seed, records of uneven keys); later runs, which know the first.
Predicted and actual time are those of the plan, which begins when the sample is over; what the sample costs is in the wall
time beside them. With --json each run has its layers: what they took and were to take, and how far the slowest step was from the mean one,
which tells a rate that is off from a load that is uneven. Bars: of the first runs 80 % within 20 % and all within 35 % (|predicted / actual - 1|); of later runs the
median within 10 % and 90 % within 20 %. On a machine that does something else as well the figures say more about the machine.
"""
import argparse
import contextlib
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/bench/one_machine"))
import inputs  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402

FIGURES = os.path.join(ROOT, "docs/figures/predictions.json")
DOCUMENT = os.path.join(ROOT, "docs/prediction.md")
EMPTY, OTHER, LATER, BETWEEN = "empty", "of other data", "of this data", "of this data, then other"
# Share of runs within so much, by what was known.
BARS = {"first": [(0.8, 0.2), (1.0, 0.35)], "later": [(0.5, 0.1), (0.9, 0.2)]}


# What counts as an idle machine: so little of one core, in such a time.
LOOK_S, IDLE_PART = 0.25, 0.15


def uneven_records(args, num_bytes, path):
    subprocess.run([args.weir, "data", "generate", "terasort", "--skew", "0.5", "--records", str(num_bytes // 100), "-o", path],
                   check=True, stdout=subprocess.DEVNULL)


def other_readings(args, num_bytes, path):
    inputs.generated("weather-csv", lambda n: n // 34, "FILE", "7")(args, num_bytes, path)


# What the history is of: another input, or a way to make one.
OTHERS = {"zipf": "sources", "sources": "zipf", "prose": "zipf", "onebrc": "onebrc-10k", "onebrc-10k": "onebrc",
          "weather": other_readings, "terasort": uneven_records}


def busy_seconds():
    """Processor time that the machine has used since it started."""
    with open("/proc/stat", encoding="utf-8") as file:
        ticks = list(map(int, file.readline().split()[1:]))
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def await_idle(most_s):
    """Returns when nobody has used processors for a moment, or after most_s; what was written is on disk by then."""
    if most_s > 0:
        os.sync()  # inputs just made and outputs of earlier runs would keep the disk busy
    end = time.monotonic() + most_s
    while time.monotonic() < end:
        before = busy_seconds()
        time.sleep(LOOK_S)
        if busy_seconds() - before <= IDLE_PART * LOOK_S:
            return


def lasted(interval):
    return interval["finish_s"] - interval["start_s"]


def layers_of(plan):
    """Of each layer: how long it took and was to take from its first step to its last, and its slowest step beside the mean one."""
    layers = []
    for layer in plan["layers"]:
        steps = [lasted(step["actual"]) for step in plan["steps"]
                 if (step["kind"], step["layer"]) == (layer["kind"], layer["layer"]) and step["actual"]]
        if layer["actual"] and sum(steps) > 0:
            layers.append({"kind": layer["kind"], "predicted_s": round(lasted(layer["predicted"]), 6),
                           "actual_s": round(lasted(layer["actual"]), 6),
                           "slowest_to_mean": round(max(steps) * len(steps) / sum(steps), 3)})
    return layers


def run(args, job, source, home, folder):
    """Runs a job; returns what was predicted and what came of it."""
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    await_idle(args.await_idle)
    begin = time.monotonic()
    done = subprocess.run([args.weir, "run", job, source, "-o", out, "--workers", "1", "--slots", "2", "-q", "--json", "--work-dir", folder,
                           *programs.JOB_FLAGS.get(job, [])],
                          env={**os.environ, "XDG_STATE_HOME": home}, capture_output=True, text=True, check=False)
    wall = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(f"tests/bench/predict.py: {job} on {source} failed:\n{done.stderr}")
    with open(os.path.join(out, "_weir", "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    origin = next(n["origin"] for n in plan["numbers"] if n["name"] == "map time")
    return {"predicted_s": plan["predicted_s"], "actual_s": plan["actual_s"], "wall_s": round(wall, 3), "map_rate": origin,
            "error": round(plan["predicted_s"] / plan["actual_s"] - 1, 4), "layers": layers_of(plan)}


def runs_of(args, name, num_bytes, folder):
    """All runs of one input of one size; `home` is where a run keeps its history."""
    kind = inputs.INPUTS[name]
    source, _ = inputs.make(name, args, num_bytes)
    other = os.path.join(folder, "other")
    if isinstance(OTHERS[name], str):
        other, _ = inputs.make(OTHERS[name], args, num_bytes)
    else:
        OTHERS[name](args, num_bytes, other)
    for path in (source, other):  # into the page cache
        subprocess.run(["cat", path], check=True, stdout=subprocess.DEVNULL)
    for turn in range(args.repeat):
        home = os.path.join(folder, f"empty-{turn}")
        yield EMPTY, run(args, kind.job, source, home, folder)
        yield LATER, run(args, kind.job, source, home, folder)
        # Of a run of its own, because a history of one run says how long that one took by chance.
        home = os.path.join(folder, f"other-{turn}")
        run(args, kind.job, other, home, folder)
        yield OTHER, run(args, kind.job, source, home, folder)
        if args.between:
            run(args, kind.job, other, home, folder)
            yield BETWEEN, run(args, kind.job, source, home, folder)


def within(errors, limit):
    return sum(error <= limit for error in errors) / len(errors)


def verdicts(rows):
    """(which runs, number, median error, [(bar, what was reached, held)])."""
    for name, known in (("first", (EMPTY, OTHER)), ("later", (LATER, BETWEEN))):
        errors = [abs(row["error"]) for row in rows if row["history"] in known]
        if errors:
            yield name, len(errors), statistics.median(errors), [
                (f"{share:.0%} within {limit:.0%}", within(errors, limit), within(errors, limit) >= share)
                for share, limit in BARS[name]]


def spread_of(rows):
    """Of all runs: |actual / median actual of runs of the same input, size and history - 1|. What no prediction can foresee."""
    alike = {}
    for row in rows:
        alike.setdefault((row["input"], row["megabytes"], row["history"]), []).append(row["actual_s"])
    return [abs(actual / statistics.median(actuals) - 1) for actuals in alike.values() for actual in actuals]


def table(rows):
    lines = ["| input | MB | history | rate from | predicted s | actual s | wall s | error, each run |",
             "|---|---|---|---|---|---|---|---|"]
    cells = {}
    for row in rows:
        cells.setdefault((row["input"], row["megabytes"], row["history"]), []).append(row)
    for (name, megabytes, history), runs in sorted(cells.items(), key=lambda cell: list(inputs.INPUTS).index(cell[0][0])):
        middle = {what: statistics.median(r[what] for r in runs) for what in ("predicted_s", "actual_s", "wall_s")}
        errors = ", ".join(f"{r['error']:+.0%}" for r in runs)
        lines.append(f"| {name} | {megabytes} | {history} | {'/'.join(sorted({r['map_rate'] for r in runs}))} | "
                     f"{middle['predicted_s']:.3f} | {middle['actual_s']:.3f} | {middle['wall_s']:.3f} | {errors} |")
    return lines


def bars_table(rows):
    lines = ["| runs | number | median error | bar | reached | |", "|---|---|---|---|---|---|"]
    for name, number, median, bars in verdicts(rows):
        for bar, reached, held in bars:
            lines.append(f"| {name} | {number} | {median:.0%} | {bar} | {reached:.0%} | {'held' if held else '**missed**'} |")
    spread = spread_of(rows)
    if spread:
        lines += ["", "Each run beside the median of the runs that are its repetitions: "
                  + ", ".join(f"{within(spread, limit):.0%} within {limit:.0%}" for limit in (0.1, 0.2, 0.35)) + "; farthest "
                  f"{max(spread):.0%}."]
    return lines


@contextlib.contextmanager
def busy_core(wanted):
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--weir", help="program to measure (default: that of the build directory)")
    parser.add_argument("--data", type=os.path.abspath, default=os.path.join(ROOT, "build/bench-data"), help="where inputs are kept")
    parser.add_argument("--input", choices=list(OTHERS), action="append", help="only these")
    parser.add_argument("--sizes", default="64,256", metavar="MB,MB,...")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each kind")
    parser.add_argument("--between", action="store_true", help="later runs behind one on the other data, too")
    parser.add_argument("--busy", action="store_true", help="beside a process that keeps one core busy")
    parser.add_argument("--await-idle", type=float, default=0, metavar="SECONDS",
                        help="before each run, wait so long at most until nothing else runs")
    parser.add_argument("--check", action="store_true", help="fail when a bar is missed")
    parser.add_argument("--json", metavar="FILE", help="keep the results; those of other inputs in the file stay")
    parser.add_argument("--publish", action="store_true", help=f"--json {os.path.relpath(FIGURES, ROOT)}, and the table")
    parser.add_argument("--tables", action="store_true", help="measure nothing: publish what the file holds")
    args = parser.parse_args()
    args.weir = args.weir or os.path.join(args.build, "runtime/app/weir")
    if args.publish or args.tables:
        args.publish, args.json = True, args.json or FIGURES
    return args


def main():
    args = arguments()
    rows = []
    with busy_core(args.busy):
        for name in [] if args.tables else args.input or OTHERS:
            of_input = {"commit": report.commit(ROOT), "date": datetime.date.today().isoformat(), "rows": []}
            for megabytes in map(int, args.sizes.split(",")):
                os.makedirs(args.data, exist_ok=True)
                with tempfile.TemporaryDirectory(prefix="predict-", dir=args.data) as folder:
                    for history, result in runs_of(args, name, megabytes * 1_000_000, folder):
                        of_input["rows"].append({"input": name, "megabytes": megabytes, "history": history,
                                                 "busy": args.busy, **result})
                        print(f"{name:<12} {megabytes:>5} MB, history {history:<14} {result['map_rate']:<10} predicted "
                              f"{result['predicted_s']:.3f} s, actual {result['actual_s']:.3f} s, {result['error']:+.0%}",
                              file=sys.stderr, flush=True)
            rows += of_input["rows"]
            if args.json:
                report.write_json(args.json, report.merged(args.json, {name: of_input}))
    if args.tables:
        rows = [row for result in report.merged(args.json, {})["inputs"].values() for row in result["rows"]]
    print("\n".join([*table(rows), "", *bars_table(rows)]))
    if args.publish:
        kept = report.merged(args.json, {})["inputs"]
        every = [row for result in kept.values() for row in result["rows"]]
        report.put_into(DOCUMENT, "predictions", table(every) + report.measured_at(kept))
        report.put_into(DOCUMENT, "predictions bars", bars_table(every))
    missed = [bar for *_, bars in verdicts(rows) for bar in bars if not bar[-1]]
    sys.exit(1 if args.check and missed else 0)


if __name__ == "__main__":
    main()
