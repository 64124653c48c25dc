"""Jobs that end in one place: combined along a tree, beside sending all to one reducer. Predicted and actual makespan of each.

Two elements: tables of words, which grow on their way up, and a vector of a million bins, which does not.
"""
import os
import random
import re
import shutil
import statistics

import jobs
from shuffle import HOSTS

NAMES = ("wordcount", "histogram")
BINS = 1_000_000
# Job, flags. Both make one file, of the same bytes.
WAYS = {"all to one": ("--combine", "shuffle", "--reducers", "1"), "tree": ("--combine", "tree")}


def write_numbers(path, megabytes, seed):
    """Numbers from 0 to 1, seventeen digits each."""
    rng = random.Random(seed)
    with open(path, "w", encoding="ascii") as file:
        for _ in range(megabytes):
            file.write("".join(f"{rng.random():.17f}\n" for _ in range((1 << 20) // 20)))


WRITERS = {"wordcount": jobs.write_text, "histogram": write_numbers}
FLAGS = {"wordcount": (), "histogram": ("--set", f"bins={BINS}")}


def way_of(report):
    """How the results came together, as the plan's note says it."""
    found = (re.match(r"Of \d+ ways .*? together: (?:tree: )?(.*?), [\d.]+ \w+(?:;|\.$)", note) for note in report["notes"])
    return next((match[1] for match in found if match), "")


def compared(report):
    """Predicted makespan of each way that was planned."""
    return [note.removeprefix("Compared: ").rstrip(".") for note in report["notes"] if note.startswith("Compared: ")]


def run_one(lab, cluster, job, path, way, gantt):
    status, report, output = cluster.run_job(job, path, *FLAGS[job], *WAYS[way])
    problems = jobs.check(lab, report)
    if problems:
        raise RuntimeError(f"{job}, {way}: " + "; ".join(problems[:5]))
    parts = sorted(name for name in os.listdir(output) if name.startswith("part-"))
    if len(parts) != 1:
        raise RuntimeError(f"{job}, {way}: {len(parts)} parts, not one")
    if gantt:
        cluster.client("explain", status["job_id"], "--gantt", gantt)
    predicted, actual = status["predicted_makespan_s"], status["actual_makespan_s"]
    return {"predicted_s": predicted, "actual_s": actual, "error": actual / predicted - 1, "method": report["method"],
            "combined": way_of(report), "codecs": report["run_codec"], "compared": compared(report),
            "moved_bytes": report["moved_bytes"]}, os.path.join(output, parts[0])


def run_turns(lab, cluster, job, path, options):
    """One turn nobody counts, in which the rates are learned; then `repeats` turns of all ways."""
    runs = {way: [] for way in WAYS}
    kept = cluster.path(f"{job}.out")
    for turn in range(options.repeats + 1):
        for way in WAYS:
            gantt = None
            if options.gantt and way == "tree" and turn == options.repeats:
                gantt = f"{options.gantt}-{job}.svg"
            one, part = run_one(lab, cluster, job, path, way, gantt)
            if os.path.exists(kept):
                with open(kept, "rb") as a, open(part, "rb") as b:
                    if a.read() != b.read():
                        raise RuntimeError(f"{job}, {way}: the result differs from the other way's")
            else:
                shutil.copyfile(part, kept)
            shutil.rmtree(os.path.dirname(part))
            if turn:
                runs[way].append(one)
    return runs


def run(options, log):
    results = []
    for channels, lab, cluster in jobs.cores(options):
        for job in NAMES:
            path = cluster.path(f"{job}.in")
            WRITERS[job](path, options.megabytes, options.seed)
            runs = run_turns(lab, cluster, job, path, options)
            base = statistics.median(one["actual_s"] for one in runs["all to one"])
            ways = {way: {"actual_s": statistics.median(one["actual_s"] for one in r),
                          "predicted_s": statistics.median(one["predicted_s"] for one in r),
                          "error": statistics.median(abs(one["error"]) for one in r),
                          "ratio": statistics.median(one["actual_s"] for one in r) / base,
                          "combined": r[-1]["combined"]} for way, r in runs.items()}
            results.append({"channels": channels, "job": job, "hosts": HOSTS, "megabytes": options.megabytes, "ways": ways,
                            "runs": runs})
            log(f"l = {channels} {job:10} " + "; ".join(
                f"{way} {w['predicted_s']:.2f} -> {w['actual_s']:.2f} s ({w['ratio']:.2f}) {w['combined']}"
                for way, w in ways.items()))
    return results
