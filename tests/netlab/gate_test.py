"""Three short cells of the laboratory as a gate: planned shuffles beside fetching from everybody, in turns, medians.

What fails at once: a wrong output, or a limit that the trace or the observer says was passed. What fails when all runs of up to
three measurements together miss it: the ratio of both ways, segments sent again, the prediction (bars.py). No time is asserted as
such. SKIPPED, with the reason, without root and namespaces, and where the machine is too busy to tell: before the first cell, or
when a bar is missed.

  python3 tests/netlab/gate_test.py [-o FILE] [--pacing-fraction 0]     (the latter is a planner that is broken)
"""
import argparse
import contextlib
import json
import sys

import bars
import network
import scenarios
import self_check
import shuffle
from cluster import LabCluster

SKIPPED = 77
RATE_MBIT = 40  # where two cores carry all links; lower by itself
# What orders take on their way is the same for any shuffle: of one of half the length it is as much as the bars allow (README.md).
SECONDS, REPEATS = 1.4, 3
MEASURED_MAX = 3  # times, of a cell that misses a bar: medians of three runs lie some 0.05 around what many runs show
VARIANTS = ("planned", "fetch-all")
REACHED_MIN = 0.9  # of a link's rate, all full at once


@contextlib.contextmanager
def laboratory(topology, queue, rate, master_args):
    with shuffle.make_lab(topology, queue, rate_mbit=rate) as lab, \
            LabCluster(lab, master_args=master_args, network=shuffle.network_of(lab)) as cluster:
        yield lab, cluster


def measure(name, rate, master_args):
    topology, queue, scenario = name
    with laboratory(topology, queue, rate, master_args) as (lab, cluster):
        made = scenarios.make(scenario, shuffle.HOSTS, seed=1)
        cell = {"topology": topology, "queue": queue, "lab": lab.describe(),
                **shuffle.run_cell(lab, cluster, made, VARIANTS, REPEATS, SECONDS)}
    shuffle.log_cell(cell, lambda line: print(line, flush=True))
    return cell


def busy_now(cell, rate):
    reason = bars.too_busy(cell)
    if reason:
        return reason
    of_links = self_check.shares(rate)
    mean = sum(of_links) / len(of_links)
    return f"all links full at once carry {mean:.2f} of their rate now" if mean < REACHED_MIN else None


def together(cells):
    """One cell with the runs of all."""
    runs = {variant: [run for cell in cells for run in cell["variants"][variant]["runs"]] for variant in VARIANTS}
    return {**cells[-1], "variants": {variant: {"median": shuffle.summary(of), "runs": of} for variant, of in runs.items()}}


def run(cells, rate, master_args):
    """Exit status."""
    skipped, failed = [], []
    for name in bars.GATE_CELLS:
        missed, measured = [], []
        while not measured or missed and len(measured) < MEASURED_MAX:
            if missed:
                print("missed, measured again: " + "; ".join(missed), flush=True)
            measured.append(measure(name, rate, master_args))
            cells.append(measured[-1])
            missed = bars.gate(together(measured))
        if missed:
            reason = busy_now(together(measured), rate)
            (skipped if reason else failed).append(f"{', '.join(name)}: {'; '.join(missed)}" + (f" ({reason})" if reason else ""))
    for line in failed:
        print(f"FAILED: {line}")
    for line in skipped:
        print(f"SKIPPED: the machine is too busy: {line}")
    return 1 if failed else SKIPPED if skipped else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", help="file for what was measured, as JSON")
    parser.add_argument("--pacing-fraction", help="the master's")
    options = parser.parse_args()
    reason = network.check()
    if reason:
        print(f"SKIPPED: {reason}")
        return SKIPPED
    try:
        rate, tries = self_check.settle_rate(RATE_MBIT, lambda line: print(line, flush=True))
    except self_check.TooBusy as error:
        print(f"SKIPPED: {error}")
        return SKIPPED
    cells = []
    try:
        return run(cells, rate, ["--pacing-fraction", options.pacing_fraction] if options.pacing_fraction else [])
    finally:
        if options.output:
            with open(options.output, "w", encoding="utf-8") as file:
                json.dump({"self_check": tries, "cells": cells}, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
