#!/usr/bin/env python3
"""Holds reports of runs that kept to their plans against the trace checker, and spoilt ones too.

Usage: check_traces.py FILE. FILE: {"runs": [{"report", "sections": [[producer, consumer, bytes]],
"cuts": [[name, channels, senders, receivers]], "slowdown": [number]}]}. Prints what is wrong; exit 1 if anything is.
"""

import copy
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "integration"))
import trace_check  # noqa: E402

EARLY_S = 1e-6  # rounding of the report


def problems_of(run):
    report = run["report"]
    return (trace_check.port_problems(report, 1, 1, EARLY_S)
            + trace_check.cut_problems(report, [tuple(cut) for cut in run["cuts"]], EARLY_S,
                                       dict(enumerate(run["slowdown"])))
            + trace_check.byte_problems(report, {(p, c): size for p, c, size in run["sections"]})
            + trace_check.strict_order_problems(report))


def spoilt(run):
    """The same run with one transfer begun with the one before it on its port; None if no port has two that last."""
    spoiled = copy.deepcopy(run)
    last = {}
    for t in sorted(spoiled["report"]["transfers"], key=lambda t: t["actual"]["start_s"]):
        if t["actual"]["finish_s"] - t["actual"]["start_s"] < 2 * EARLY_S:
            continue
        before = last.get(t["receiver"])
        if before is not None:
            t["actual"]["start_s"] = before["start_s"]
            return spoiled
        last[t["receiver"]] = t["actual"]
    return None


def main(path):
    runs = json.loads(pathlib.Path(path).read_text())["runs"]
    found = [] if runs else ["no run: nothing was held against it"]
    for number, run in enumerate(runs):
        found += [f"run {number}: {problem}" for problem in problems_of(run)]
        found += [f"run {number}: {problem}" for problem in trace_check.order_problems(run["report"])]
        broken = spoilt(run)
        if broken is not None and not problems_of(broken):
            found.append(f"run {number}: two transfers at once on a port went unnoticed")
    print("\n".join(found[:20]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
