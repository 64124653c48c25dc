"""Controlled shuffles: the same bytes moved by plan and without, in one run of one cluster, against the bound.

A cell is (topology, queue, scenario). Its variants run interleaved, `repeats` times. Every run is proved from its trace:
output right, all bytes exactly once, ports and cuts within the limits of its plan.
"""
import json
import os
import statistics
import subprocess
import sys

import bounds
import observer
import scenarios
from cluster import ROOT, LabCluster, program
from network import Lab

sys.path.insert(0, os.path.join(ROOT, "tests/integration"))
import trace_check  # noqa: E402

HOSTS = 8
TOPOLOGIES = {"racks-4": ("racks", 4), "racks-2": ("racks", 2), "racks-1": ("racks", 1), "total-3": ("total", 3)}
QUEUES = {"32k": 32 << 10, "128k": 128 << 10, "1m": 1 << 20}
VARIANTS = ("planned", "fetch-1", "fetch-5", "fetch-all")
RECORD_BYTES = 512
REDUCE_S = 0.01  # of each reducer in the plans (shuffle_plan.h)
LATENCY_S = 0.001
PACING = 0.97  # a master's default (docs/network.md)
# A grant may overlap the end of the transfer before it: bytes of the look-ahead, and the report's way to the master.
REPORT_S = 0.005


class ShuffleError(RuntimeError):
    pass


def network_of(lab):
    """The laboratory's own configuration as a network file (docs/network.md)."""
    names = [f"w{host}" for host in range(lab.hosts)]
    channel = lab.core_bytes_per_s() / lab.core_channels
    spec = {"schema": 1, "channel_bytes_per_s": min(channel, lab.port_bytes_per_s()), "latency_s": LATENCY_S,
            "port_bytes_per_s": {names[h]: lab.port_bytes_per_s(h) for h in lab.slowdown}}
    if lab.kind == "total":
        spec["total_channels"] = lab.core_channels
    else:
        racks = [[n for h, n in enumerate(names) if lab.rack(h) == r] for r in (0, 1)]
        spec["cuts"] = [{"name": f"from rack {r}", "from": racks[r], "to": "rest", "channels": lab.core_channels}
                        for r in (0, 1)]
    return spec


def make_lab(topology, queue, slowdown=None, rate_mbit=100):
    kind, channels = TOPOLOGIES[topology]
    return Lab(hosts=HOSTS, kind=kind, rate_mbit=rate_mbit, core_mbit=channels * rate_mbit, queue_bytes=QUEUES[queue],
              slowdown=slowdown)


def size_for(lab, scenario, wanted_s):
    """Bytes a unit of weight so that the bound of the shuffle is about `wanted_s` after the first release."""
    unit = 1_000_000
    end, _ = bounds.shuffle_bound(lab, scenario.scaled(unit), [0.0] * HOSTS)
    return unit * wanted_s / end


def pacing_of(cluster):
    """The share of a link that paced transfers may take: the master's."""
    if "--pacing-fraction" not in cluster.master_args:
        return PACING
    return float(cluster.master_args[cluster.master_args.index("--pacing-fraction") + 1])


def make_plan(lab, cluster, matrix, scenario, method, piece_bytes=None):
    """Plans one shuffle; returns the plan's file and what the planner says of it."""
    names = cluster.names()
    request = {"network": cluster.network or network_of(lab), "workers": names, "bytes": matrix, "ready_s": scenario.ready_s,
               "record_bytes": RECORD_BYTES, "method": method,
               "piece_bytes_max": scenario.piece_bytes if piece_bytes is None else piece_bytes,
               "pacing_fraction": pacing_of(cluster)}
    with open(cluster.path("request.json"), "w", encoding="utf-8") as file:
        json.dump(request, file)
    plan_file = cluster.path(f"plan-{method}.json")
    done = subprocess.run([program("weir_lab_plan"), cluster.path("request.json"), plan_file], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise ShuffleError(done.stderr.strip())
    return plan_file, json.loads(done.stdout)


def write_input(cluster, matrix, scenario):
    """One record a mapper: when it is ready and what it makes (blobs.h)."""
    with open(cluster.path("blobs.txt"), "w", encoding="ascii") as file:
        for ready_s, row in zip(scenario.ready_s, matrix):
            words = " ".join(str(word) for word in [round(ready_s * 1000), *row])
            file.write(words.ljust(RECORD_BYTES - 1) + "\n")
    return cluster.path("blobs.txt")


def check_output(output, matrix):
    """Reducers write a line a section: consumer, record, bytes, blocks."""
    found, twice = {}, 0
    for name in os.listdir(output):
        if name.startswith("part-"):
            with open(os.path.join(output, name), encoding="ascii") as file:
                for line in file:
                    consumer, record, stored, _ = map(int, line.split())
                    section = (record // RECORD_BYTES, consumer)
                    twice += section in found
                    found[section] = stored
    wanted = {(j, k): matrix[j][k] for j in range(HOSTS) for k in range(HOSTS)}
    return [] if found == wanted and not twice else [
        f"output differs: {len(found)} sections of {len(wanted)}, {twice} of them twice, with the right bytes "
        f"{sum(found.get(p) == b for p, b in wanted.items())}"]


def check_trace(lab, report, matrix, method, look_ahead_bytes, pacing):
    early_s = look_ahead_bytes / lab.port_bytes_per_s() + REPORT_S if look_ahead_bytes else 0.0
    sections = {(j, HOSTS + k): matrix[j][k] for j in range(HOSTS) for k in range(HOSTS) if j != k}
    problems = trace_check.byte_problems(report, sections) + trace_check.order_problems(report)
    everyone = set(range(HOSTS))
    racks = [{h for h in everyone if lab.rack(h) == r} for r in (0, 1)]
    cuts = ([("total", lab.core_channels, everyone, everyone)] if lab.kind == "total" else
            [(f"from rack {r}", lab.core_channels, racks[r], racks[1 - r]) for r in (0, 1)])
    if report["transfer_order"] == "rates":
        pacing = pacing or 1
        problems += trace_check.rate_problems(report, lambda host: pacing * lab.port_bytes_per_s(host), cuts,
                                              pacing * lab.core_bytes_per_s() / lab.core_channels)
    elif report["transfer_order"] != "fetch-all":
        problems += trace_check.port_problems(report, 1, 1, early_s)
        problems += trace_check.cut_problems(report, cuts, early_s, lab.slowdown)
    elif method.startswith("fetch-") and method != "fetch-all":
        problems += trace_check.port_problems(report, None, int(method.split("-")[1]), early_s)
    return problems


def measure(lab, report, matrix):
    """Times of one run from its trace; the bound starts from when the mappers really were ready."""
    steps, moved = report["steps"], trace_check.moved(report)
    ready = [steps[j]["actual"]["finish_s"] for j in range(HOSTS)]
    bound_s, limit = bounds.shuffle_bound(lab, matrix, ready)
    # A transfer may give its ports back before its last bytes arrive; a reducer starts when all have.
    end = max([t["actual"]["finish_s"] for t in moved] + [steps[HOSTS + k]["actual"]["start_s"] for k in range(HOSTS)])
    reducers = [steps[HOSTS + k]["actual"]["finish_s"] - min(ready) for k in range(HOSTS)]
    return {"shuffle_s": end - min(ready), "bound_s": bound_s - min(ready), "limit": limit,
            "ratio": (end - min(ready)) / (bound_s - min(ready)), "first_reducer_s": min(reducers),
            "last_reducer_s": max(reducers), "predicted_s": report["predicted_s"], "actual_s": report["actual_s"],
            "transfers": len(moved)}


def run_variant(lab, cluster, matrix, scenario, method, input_file, look_ahead_bytes=0, piece_bytes=None):
    plan_file, planned = make_plan(lab, cluster, matrix, scenario, method, piece_bytes)
    before, throttled = lab.retransmits(), cluster.cpu.throttled_s()
    with observer.watch(lab, cluster) as watched:
        status, report, output = cluster.run_job("blobs", input_file, "--plan-file", plan_file)
    result = measure(lab, report, matrix)
    result.update(retransmits=lab.retransmits() - before, throttled_s=cluster.cpu.throttled_s() - throttled,
                  planning_s=planned["planning_s"], planned_s=planned["makespan_s"], job_id=status["job_id"],
                  transfer_order=report["transfer_order"],
                  predicted_shuffle_s=planned["makespan_s"] - min(scenario.ready_s) - REDUCE_S)
    problems = check_output(output, matrix) + check_trace(lab, report, matrix, method, look_ahead_bytes,
                                                           pacing_of(cluster))
    result["observed"], contradictions = observer.judge(lab, watched.seen, matrix, trace_check.moved(report), result)
    result["observed"]["dropped"] = watched.dropped
    problems += [f"observer: {problem}" for problem in contradictions]
    if problems:
        raise ShuffleError(f"{method}: " + "; ".join(problems[:5]))
    return result


def summary(runs):
    """Medians of the runs of one variant."""
    keys = ("ratio", "shuffle_s", "bound_s", "first_reducer_s", "last_reducer_s", "retransmits", "throttled_s",
            "planning_s", "predicted_s", "actual_s", "predicted_shuffle_s")
    return {**{key: statistics.median(run[key] for run in runs) for key in keys},
            "observed": observer.summary([run["observed"] for run in runs])}


def run_cell(lab, cluster, scenario, variants, repeats, wanted_s, seed=1, **options):
    """Runs all variants of one cell, interleaved; returns its result."""
    matrix = scenario.scaled(size_for(lab, scenario, wanted_s))
    input_file = write_input(cluster, matrix, scenario)
    runs = {variant: [] for variant in variants}
    for repeat in range(repeats):
        order = list(variants[repeat % len(variants):]) + list(variants[:repeat % len(variants)])
        for variant in order:
            runs[variant].append(run_variant(lab, cluster, matrix, scenario, variant, input_file, **options))
    section = statistics.median(b for row in matrix for b in row)
    return {"scenario": scenario.name, "section_bytes": section, "piece_bytes": scenario.piece_bytes or section,
            "limit": runs[variants[0]][0]["limit"], "seed": seed,
            "variants": {v: {"median": summary(r), "runs": r} for v, r in runs.items()}}


def cells(topologies, queues, names, all_queues=False):
    """Queue 128 KB with all scenarios; the other queues with the two that stress them most, unless asked for."""
    for topology in topologies:
        for queue in queues:
            chosen = names if queue == "128k" or all_queues else [n for n in names if n in ("equal", "random")]
            if chosen:
                yield topology, queue, chosen


def run(options, log):
    """All cells; returns a list of results."""
    results = []
    for topology, queue, names in cells(options.topologies, options.queues, options.scenarios, options.all_queues):
        # Hosts of another rate need a laboratory of their own.
        plain = [n for n in names if n != "slow-host"]
        for group in [plain, [n for n in names if n == "slow-host"]]:
            if not group:
                continue
            made = [scenarios.make(name, HOSTS, options.seed) for name in group]
            lab = make_lab(topology, queue, made[0].slowdown, options.rate)
            network = options.networks.of(lab, network_of(lab))
            with lab, LabCluster(lab, master_args=options.master_args, network=network,
                                 congestion_control=options.congestion_control) as cluster:
                for scenario in made:
                    cell = run_cell(lab, cluster, scenario, options.variants, options.repeats, options.seconds,
                                    options.seed, look_ahead_bytes=options.look_ahead)
                    results.append({"topology": topology, "queue": queue, **cell, "lab": lab.describe(),
                                    "network": network})
                    log_cell(results[-1], log)
    return results


def log_cell(cell, log):
    ratios = "  ".join(f"{v} {r['median']['ratio']:.3f} ({r['median']['retransmits']:.0f} again)"
                       for v, r in cell["variants"].items())
    log(f"{cell['topology']:8} {cell['queue']:5} {cell['scenario']:14} bound "
        f"{next(iter(cell['variants'].values()))['median']['bound_s']:.2f} s ({cell['limit']}): {ratios}")
