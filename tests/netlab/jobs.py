"""Whole jobs on eight hosts: predicted against actual makespan, and in which part the difference arises."""
import json
import os
import random
import statistics
import subprocess
import sys

from cluster import ROOT, LabCluster
from network import Lab
from shuffle import HOSTS, QUEUES, network_of

sys.path.insert(0, os.path.join(ROOT, "tests/integration"))
import trace_check  # noqa: E402

CHANNELS = (8, 4, 2, 1)
NAMES = ("wordcount", "weather", "terasort")


def write_text(path, megabytes, seed):
    """Words of six hexadecimal digits, about two million different ones, so that counting shortens little."""
    seven_bits = bytes(b & 0x7f for b in range(256))
    rng = random.Random(seed)
    with open(path, "wb") as file:
        for _ in range(megabytes):
            words = rng.randbytes((1 << 20) * 3 // 7).translate(seven_bits).hex(" ", 3)
            file.write(words.encode() + b"\n")


def write_weather(path, megabytes, seed):
    """Readings of 2000 stations at random days of ten years: station,date,time,temperature."""
    rng = random.Random(seed)
    stations = [f"S{rng.randrange(10**6):06d}" for _ in range(2000)]
    days = [f"{y}-{m:02d}-{d:02d}" for y in range(2001, 2011) for m in range(1, 13) for d in range(1, 29)]
    times = [f"{h:02d}:00" for h in range(24)]
    with open(path, "w", encoding="ascii") as file:
        left = megabytes << 20
        while left > 0:
            chosen = zip(rng.choices(stations, k=20000), rng.choices(days, k=20000), rng.choices(times, k=20000),
                         rng.choices(range(-250, 400), k=20000))
            text = "".join(f"{s},{d},{t},{v / 10:.1f}\n" for s, d, t, v in chosen)
            left -= len(text)
            file.write(text)


def write_records(path, megabytes, seed):
    """Records of 100 bytes, all of them random: as many keys as records."""
    rng = random.Random(seed)
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(rng.randbytes(100 * 10486))


WRITERS = {"wordcount": write_text, "weather": write_weather, "terasort": write_records}


def known_jobs(cluster):
    done = subprocess.run([cluster.binary, "jobs", "--json"], capture_output=True, text=True, check=True)
    return {job["name"] for job in json.loads(done.stdout)["jobs"]}


def make_input(job, cluster, megabytes, seed):
    """Writes the input of a job into the cluster's directory; returns its path."""
    path = cluster.path(f"{job}.in")
    WRITERS[job](path, megabytes, seed)
    return path


def span(intervals):
    """(first start, last finish) of intervals that took place."""
    done = [i for i in intervals if i and i["finish_s"] >= i["start_s"]]
    return (min(i["start_s"] for i in done), max(i["finish_s"] for i in done)) if done else (0.0, 0.0)


def parts(report):
    """Ends of map, of the last transfer and of the last step, predicted and actual: where a difference arises."""
    found = {}
    for when in ("predicted", "actual"):
        maps = span([s.get(when) for s in report["steps"] if s["kind"] == "map"])[1]
        moved = max(maps, span([t.get(when) for t in report["transfers"]])[1])
        end = max(moved, span([s.get(when) for s in report["steps"]])[1])
        found[when] = {"map_s": maps, "shuffle_s": moved - maps, "reduce_s": end - moved}
    return found


def check(lab, report):
    """Limits of the run from its trace; sections are checked by the engine's own checksums here."""
    if report["transfer_order"] == "fetch-all":
        return trace_check.order_problems(report)
    names = [worker["name"] for worker in report["workers"]]
    racks = [{i for i, n in enumerate(names) if lab.rack(int(n[1:])) == r} for r in (0, 1)]
    cuts = [(f"from rack {r}", lab.core_channels, racks[r], racks[1 - r]) for r in (0, 1)]
    return (trace_check.order_problems(report) + trace_check.port_problems(report, 1, 1)
            + trace_check.cut_problems(report, cuts))


def run_one(lab, cluster, job, path, flags):
    status, report, _ = cluster.run_job(job, path, *flags)
    problems = check(lab, report)
    if problems:
        raise RuntimeError(f"{job}: " + "; ".join(problems[:5]))
    predicted, actual = status["predicted_makespan_s"], status["actual_makespan_s"]
    return {"predicted_s": predicted, "actual_s": actual, "error": actual / predicted - 1, "method": report["method"],
            "moved_bytes": report["moved_bytes"], "codecs": report["run_codec"], "parts": parts(report),
            "wall_s": (status["ended_unix_ms"] - status["submitted_unix_ms"]) / 1000}


def cores(options):
    """(channels, laboratory, cluster) for each core that was asked for; they live until the next one is."""
    for channels in options.channels:
        lab = Lab(hosts=HOSTS, kind="racks", rate_mbit=options.rate, core_mbit=channels * options.rate,
                  queue_bytes=QUEUES["128k"])
        network = options.networks.of(lab, network_of(lab))
        with lab, LabCluster(lab, master_args=options.master_args, network=network,
                             congestion_control=options.congestion_control) as cluster:
            yield channels, lab, cluster


def run(options, log):
    """Every job on every core; the first run of a job on a cluster is kept apart (nothing was learned yet)."""
    results = []
    for channels, lab, cluster in cores(options):
        results += run_jobs(lab, cluster, channels, options, log)
    return results


def run_jobs(lab, cluster, channels, options, log):
    results = []
    there = known_jobs(cluster)
    for job in options.jobs:
        if job not in there:
            log(f"l = {channels} {job}: SKIPPED, this build has no such job")
            results.append({"channels": channels, "job": job, "skipped": "this build has no such job"})
            continue
        path = make_input(job, cluster, options.megabytes, options.seed)
        runs = [run_one(lab, cluster, job, path, ()) for _ in range(options.repeats + 1)]
        later = runs[1:]
        error = statistics.median(abs(r["error"]) for r in later)
        results.append({"channels": channels, "job": job, "megabytes": options.megabytes, "first": runs[0],
                        "runs": later, "median_error": error})
        log(f"l = {channels} {job:10} first {runs[0]['predicted_s']:.2f} -> {runs[0]['actual_s']:.2f} s "
            f"({runs[0]['error']:+.0%}); then " + ", ".join(
                f"{r['predicted_s']:.2f} -> {r['actual_s']:.2f} s ({r['error']:+.0%})" for r in later))
    return results
