"""Proves from the trace of a run (weir explain --json, or DIR/_weir/plan.json) that it kept the limits of its plan.

Upstream: tests here and in tests/netlab. The trace is the master's: a transfer holds its ports from its grant to the
report that frees them.
"""


def overlapping(intervals, weights=None):
    """Largest sum of weights (default: 1 each) of half-open intervals that share a moment."""
    weights = weights or [1] * len(intervals)
    events = sorted([(start, weight) for (start, _), weight in zip(intervals, weights)]
                    + [(finish, -weight) for (_, finish), weight in zip(intervals, weights)])
    most = now = 0
    for _, change in events:
        now += change
        most = max(most, now)
    return most


def moved(report):
    return [t for t in report["transfers"] if t.get("actual") and t["actual"]["finish_s"] >= t["actual"]["start_s"]]


def _held(transfer, early_s):
    """The time for which a transfer holds its ports; it may give them back `early_s` before its last byte arrives."""
    actual = transfer["actual"]
    return actual["start_s"], max(actual["start_s"], actual["finish_s"] - early_s)


def port_problems(report, per_sender, per_receiver, early_s=0.0):
    """More transfers at once than allowed at one end; None = no limit."""
    problems = []
    for end, most in (("sender", per_sender), ("receiver", per_receiver)):
        for worker in sorted({t[end] for t in moved(report)}) if most else ():
            found = overlapping([_held(t, early_s) for t in moved(report) if t[end] == worker])
            if found > most:
                problems.append(f"{end} {worker} has {found} transfers at once, allowed {most}")
    return problems


def cut_problems(report, cuts, early_s=0.0, slowdown=None):
    """`cuts`: (name, channels, senders, receivers), workers by index. A transfer counts by its rate, that of the slower
    of its ports; `slowdown`: {worker: how many times slower than a channel}, default 1."""
    slowdown = slowdown or {}
    problems = []
    for name, channels, senders, receivers in cuts:
        crossing = [t for t in moved(report) if t["sender"] in senders and t["receiver"] in receivers]
        rates = [1 / max(slowdown.get(t["sender"], 1), slowdown.get(t["receiver"], 1)) for t in crossing]
        found = overlapping([_held(t, early_s) for t in crossing], rates)
        if found > channels + 1e-6:
            problems.append(f"cut {name} carries {found:g} channels' rate at once, allowed {channels}")
    return problems


def _rates_together(transfers):
    """The most that the rates of these add up to at any moment."""
    intervals, rates = [], []
    for transfer in transfers:
        start, end = _held(transfer, 0)
        changes = transfer.get("actual_rates") or [{"at_s": start, "bytes_per_s": transfer.get("rate_bytes_per_s", 0)}]
        for change, until in zip(changes, [c["at_s"] for c in changes[1:]] + [end]):
            intervals.append((change["at_s"], max(change["at_s"], until)))
            rates.append(change["bytes_per_s"])
    return overlapping(intervals, rates)


def rate_problems(report, port_bytes_per_s, cuts, channel_bytes_per_s):
    """Of a plan by rates: what is under way together never adds up to more than a port or a cut carries. Where rates
    change over time, what each transfer may have been sent at: a lower rate counts once its sender has confirmed it.

    `port_bytes_per_s`: a function of a worker; `cuts`: as in cut_problems. All of them what paced transfers may take."""
    transfers = moved(report)
    problems = [f"transfer of step {t['producer']} to {t['consumer']} has no rate" for t in transfers
                if not t.get("rate_bytes_per_s")]
    uses = [(f"{end} {worker}", port_bytes_per_s(worker), [t for t in transfers if t[end] == worker])
            for end in ("sender", "receiver") for worker in sorted({t[end] for t in transfers})]
    uses += [(f"cut {name}", channels * channel_bytes_per_s,
              [t for t in transfers if t["sender"] in senders and t["receiver"] in receivers])
             for name, channels, senders, receivers in cuts]
    for name, carries, using in uses:
        found = _rates_together(using)
        if found > carries * (1 + 1e-6):
            problems.append(f"{name} carries rates of {found:g} bytes/s at once, allowed {carries:g}")
    return problems


def byte_problems(report, section_bytes):
    """Every byte of every section exactly once. `section_bytes`: {(producer, consumer): bytes}, local ones left out."""
    problems, got = [], {}
    for t in moved(report):
        pair = (t["producer"], t["consumer"])
        got[pair] = got.get(pair, 0) + t["actual_bytes"]
    for pair in sorted(set(got) | set(section_bytes)):
        if got.get(pair, 0) != section_bytes.get(pair, 0):
            problems.append(f"section {pair} moved {got.get(pair, 0)} bytes of {section_bytes.get(pair, 0)}")
    return problems


def order_problems(report):
    """No transfer begins before its producer has finished, no step before its transfers have."""
    problems = []
    steps = report["steps"]
    for index, t in enumerate(report["transfers"]):
        producer = steps[t["producer"]].get("actual")
        consumer = steps[t["consumer"]].get("actual")
        if t not in moved(report) or not producer or not consumer:
            continue
        if t["actual"]["start_s"] < producer["finish_s"]:
            problems.append(f"transfer {index} begins before step {t['producer']} has finished")
        if consumer["start_s"] < t["actual"]["finish_s"]:
            problems.append(f"step {t['consumer']} begins before transfer {index} has finished")
    return problems


def strict_order_problems(report):
    """Of a plan in strict order (trees): the transfers of every port begin in the order of the plan."""
    problems = []
    for end in ("sender", "receiver"):
        for worker in sorted({t[end] for t in moved(report)}):
            planned = sorted((t for t in moved(report) if t[end] == worker), key=lambda t: t["predicted"]["start_s"])
            for before, after in zip(planned, planned[1:]):
                # Plans of equal start have no order that a trace could show.
                if before["predicted"]["start_s"] == after["predicted"]["start_s"]:
                    continue
                if after["actual"]["start_s"] < before["actual"]["start_s"]:
                    problems.append(f"{end} {worker}: step {after['producer']} is sent before step {before['producer']}")
    return problems
