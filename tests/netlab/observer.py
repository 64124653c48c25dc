"""What the network itself says of a shuffle: the kernel's counters of every link and core, read by a process that is not Weir.

Upstream: shuffle.py. Downstream: weir_lab_observe (observe_main.cc), network.Lab. judge() is pure: it takes
counters, and says what they show and where they contradict the limits, the bytes that had to move, or the trace.
"""
import collections
import contextlib
import json
import statistics
import subprocess

from cluster import program
from network import FRAME, MBIT, MSS, burst_bytes

PERIOD_MS, LOOK = 10, 2  # between samples; sockets are looked at in every second one (observe_main.cc)
ACK = 66  # bytes of a frame that only acknowledges
# A token bucket gives its burst and then its rate; a frame may be under way in the device and another one counted late.
FRAMES_LATE = 2
# A window counts as one in which data moved when a link carries this share of its rate: control messages are far less.
DATA_SHARE = 0.25
IDLE_SHARE = 0.1
# What else reaches a host meanwhile: heartbeats, orders, reports (measured: 20 to 60 KB), ARP; and what blocks add to their bytes.
CONTROL_BYTES = 300_000
BLOCKS_SHARE = 0.02
# What the trace may lag behind: a report's way to the master.
LATE_S = 0.005
# Peers that deliver within one window but one after the other count as together: one more for half the time is too much.
PEERS_OVER = 0.5


def links(lab):
    """name -> ("switch/device", "rx" | "tx", bytes of frames a second, burst) of every limited direction, named as in bounds.py."""
    found = {}
    for host in range(lab.hosts):
        mbit = lab.rate_mbit / lab.slowdown.get(host, 1)
        device = f"{lab.prefix}s{lab.rack(host)}/p{host}"
        found[f"send port {host}"] = (device, "rx", mbit * MBIT, burst_bytes(mbit))
        found[f"receive port {host}"] = (device, "tx", mbit * MBIT, burst_bytes(mbit))
    core = lab.core_mbit * MBIT, burst_bytes(lab.core_mbit)
    if lab.kind == "total":
        # An ifb counts as received what its bucket let through, and as sent what a softirq took on later, on a busy machine many at once.
        found["total"] = (f"{lab.prefix}s0/core", "rx", *core)
    else:
        for rack in (0, 1):
            found[f"core from rack {rack}"] = (f"{lab.prefix}s{rack}/core", "tx", *core)
    return found


def excess(times, series, rate):
    """The most bytes by which any window of samples passes rate x its length (arrival curve of a token bucket: its burst).

    A sample was read between `before` and `after`: a window is at most from the first's begin to the last's end."""
    most, least = 0.0, float("inf")
    for (before, after), count in zip(times, series):
        if least < float("inf"):
            most = max(most, count - rate * after / 1e9 - least)
        least = min(least, count - rate * before / 1e9)
    return max(0.0, most)


def windows(times, series):
    """(seconds, bytes) between samples."""
    return [((after - before) / 1e9, later - earlier)
            for (_, before), (_, after), earlier, later in zip(times, times[1:], series, series[1:])]


def flows(lab, seen, host):
    """Payload that a host received from each of its peers so far, by sample: messages of the master are none."""
    peers = {lab.address(peer) for peer in range(lab.hosts) if peer != host}
    return [series for address, series in sorted(seen["received"][lab.namespace(host)].items()) if address in peers]


def data_windows(lab, seen):
    """(first, last) window in which hosts sent to one another and any link carries data; None when none does.

    Sockets are looked at in every LOOK-th sample, so what they show may have come in the windows before."""
    times = seen["time_ns"]
    totals = [sum(parts) for parts in zip(*[series for host in range(lab.hosts) for series in flows(lab, seen, host)])]
    arrived = [i for i, (length, count) in enumerate(windows(times, totals)) if count > DATA_SHARE * lab.port_bytes_per_s() * length]
    if not arrived:
        return None
    moving = []
    for device, way, rate, _ in links(lab).values():
        moving += [i for i, (length, count) in enumerate(windows(times, seen["links"][device][way]))
                   if count > DATA_SHARE * rate * length and arrived[0] - LOOK < i <= arrived[-1]]
    return (min(moving), max(moving)) if moving else None


def busy(lab, seen, name, span):
    """Of one link during the shuffle: share of its rate that was carried, and share of the time in which it stood idle."""
    device, way, rate, _ = links(lab)[name]
    part = windows(seen["time_ns"], seen["links"][device][way])[span[0]:span[1] + 1]
    length = sum(one for one, _ in part)
    idle = sum(one for one, count in part if count < IDLE_SHARE * rate * one)
    return sum(count for _, count in part) / (rate * length), idle / length


def peers_at_a_time(lab, seen):
    """How many peers a port received from at a time, in the mean over bytes: (sum b)^2 / sum b^2 of each window's bytes b by peer."""
    weighed = total = 0.0
    for host in range(lab.hosts):
        counts = list(zip(*flows(lab, seen, host)))
        for earlier, later in zip(counts, counts[1:]):
            parts = [b - a for a, b in zip(earlier, later)]
            if sum(parts):
                weighed += sum(parts) ** 3 / sum(part * part for part in parts)
                total += sum(parts)
    return weighed / total if total else 0.0


def peers_of_trace(transfers, hosts):
    """The same from the trace: senders from which a receiver holds transfers at a time, in the mean over these senders' time."""
    weighed = total = 0.0
    for host in range(hosts):
        marks = sorted((when, change, t["sender"]) for t in transfers if t["receiver"] == host
                       for when, change in ((t["actual"]["start_s"], 1), (t["actual"]["finish_s"], -1)))
        held, since = collections.Counter(), 0.0
        for when, change, sender in marks:
            senders = sum(1 for count in held.values() if count)
            weighed += senders ** 2 * (when - since)
            total += senders * (when - since)
            held[sender] += change
            since = when
    return weighed / total if total else 0.0


def limit_problems(lab, seen):
    """Links that carried more than a token bucket of their rate and burst lets through, in whatever window."""
    problems, most = [], 0.0
    for name, (device, way, rate, burst) in links(lab).items():
        over = excess(seen["time_ns"], seen["links"][device][way], rate)
        most = max(most, over)
        if over > burst + FRAMES_LATE * FRAME:
            problems.append(f"{name} carried {over:.0f} bytes more than its rate allows, its burst is {burst}")
    return problems, most


def matrix_problems(lab, seen, matrix, retransmits):
    """Whether what arrived at each host is what had to: by sender as its kernel received it, and in frames on its link."""
    problems, frames, overhead = [], FRAME / MSS, []
    for k in range(lab.hosts):
        received = seen["received"][lab.namespace(k)]
        for j in range(lab.hosts):
            counts = received.get(lab.address(j), [0])
            got = counts[-1] - counts[0]
            if j != k and not matrix[j][k] <= got <= matrix[j][k] * (1 + BLOCKS_SHARE) + CONTROL_BYTES / 10:
                problems.append(f"host {k} received {got} bytes from host {j}, not {matrix[j][k]}")
        into, out = (sum(matrix[j][k] for j in range(lab.hosts) if j != k), sum(matrix[k][j] for j in range(lab.hosts) if j != k))
        device, way, _, _ = links(lab)[f"receive port {k}"]
        series = seen["links"][device][way]
        carried = series[-1] - series[0]
        # Each frame that the host sends is acknowledged at most once.
        most = into * frames * (1 + BLOCKS_SHARE) + out / MSS * ACK + retransmits * FRAME + CONTROL_BYTES
        if not into * frames <= carried <= most:
            problems.append(f"the link to host {k} carried {carried} bytes, not {into * frames:.0f} to {most:.0f}")
        overhead.append(carried / (into * frames) - 1 if into else 0.0)
    return problems, max(overhead)


def judge(lab, seen, matrix, transfers, result):
    """What the counters show of one run, and their contradictions.

    `transfers`: those of the trace that moved; `result`: of shuffle.measure, with `retransmits`.
    Returns ({"span_s", "limit_busy", "limit_idle", "peers", "trace_peers", "over_limit_bytes", "overhead"}, problems)."""
    span = data_windows(lab, seen)
    if span is None:
        return {}, ["the observer saw no data"]
    times = seen["time_ns"]
    span_s = (times[span[1] + 1][1] - times[span[0]][1]) / 1e9
    # Something moved before the first such window had ended, and after the last had begun.
    least_s = (times[span[1]][0] - times[span[0] + 1][1]) / 1e9
    problems, over = limit_problems(lab, seen)
    wrong, overhead = matrix_problems(lab, seen, matrix, result["retransmits"])
    problems += wrong
    if least_s > result["shuffle_s"] + LATE_S:
        problems.append(f"data moved for {least_s:.3f} s at least, the trace says {result['shuffle_s']:.3f} s")
    peers, said = peers_at_a_time(lab, seen), peers_of_trace(transfers, lab.hosts)
    if peers > said + PEERS_OVER:
        problems.append(f"a port received from {peers:.2f} peers at a time, the trace says {said:.2f}")
    found = {"span_s": span_s, "peers": peers, "trace_peers": said, "over_limit_bytes": over, "overhead": overhead,
             "samples": len(times), "cpu_s": seen["cpu_s"], "longest_window_s": max(length for length, _ in windows(times, [0] * len(times)))}
    limit = result["limit"]
    if limit.startswith("transfer "):
        limit = f"receive port {limit.split()[-1]}"
    if limit in links(lab):
        found["limit_busy"], found["limit_idle"] = busy(lab, seen, limit, span)
    return found, problems


def summary(runs):
    """Of several runs of one way: medians, and the most where a limit is meant."""
    keys = [key for key in ("span_s", "peers", "trace_peers", "limit_busy", "limit_idle") if all(key in run for run in runs)]
    found = {key: statistics.median(run[key] for run in runs) for key in keys}
    found.update({key: max(run[key] for run in runs) for key in ("over_limit_bytes", "overhead", "longest_window_s")})
    found["dropped"] = {where: statistics.median(run["dropped"][where] for run in runs) for where in ("ports", "core")}
    return found


def drops(lab):
    """Packets that the queues in front of ports and core have dropped so far: {"ports": n, "core": n}."""
    found = {"ports": 0, "core": 0}
    for name in [n for n in lab.namespaces if n.startswith(f"{lab.prefix}s")]:
        done = subprocess.run(["ip", "netns", "exec", name, "tc", "-s", "-j", "qdisc", "show"], capture_output=True, text=True,
                              check=True)
        for qdisc in json.loads(done.stdout):
            if qdisc["kind"] == "tbf":
                found["core" if qdisc["dev"] == "core" else "ports"] += qdisc["drops"]
    return found


class Watch:
    """What was seen, once it has ended."""

    def __init__(self):
        self.seen, self.dropped = None, None


@contextlib.contextmanager
def watch(lab, cluster, period_ms=PERIOD_MS):
    """Samples all links while its body runs; then `seen` and `dropped` of what it gives are there."""
    switches = [f"switch:{n}" for n in lab.namespaces if n.startswith(f"{lab.prefix}s")]
    hosts = [f"host:{lab.namespace(host)}" for host in range(lab.hosts)]
    watched, before = Watch(), drops(lab)
    # Beside the master, before everything else on the machine, or windows grow.
    process = subprocess.Popen([program("weir_lab_observe"), str(period_ms), *switches, *hosts], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, preexec_fn=cluster.go_first)
    try:
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("weir_lab_observe did not start")
        yield watched
        text, _ = process.communicate("")
        if process.returncode != 0:
            raise RuntimeError(f"weir_lab_observe ended with {process.returncode}")
        watched.seen = json.loads(text)
        watched.dropped = {where: count - before[where] for where, count in drops(lab).items()}
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
