"""Workers that die, stand still, are slow or cut off: scenarios kills, pause, slow and partition."""
import signal
import time

from bench import Report, at_most, codes_of, median, none_of, shown, some_of, unmeasured
from ground import NotHere

# Ratios to T0 that the median of right runs may reach, by (workers killed, started again).
KILL_BARS = {(1, True): 1.3, (1, False): 1.5, (3, False): 2.0}
SLOW_BAR = 1.35
SLOW_SHARE = 0.1
PARTITION_KINDS = ("full", "to worker", "from worker", "pair")
PARTITION_LENGTHS_S = (2, 5, 30, 120, None)
# A named error comes within a minute of what the job may take.
NAMED_WITHIN_S = 60


def play(running, events):
    """Does each (moment in s after the job was handed in, action, whether it is a fault) in order.

    Returns: how many faults came before the job's end.
    """
    met = 0
    for moment, action, fault in sorted(events, key=lambda event: event[0]):
        while time.monotonic() - running.began < moment and not running.ended():
            time.sleep(0.005)
        met += fault and not running.ended()
        action()
    return met


def kills(bench):
    """kill -9 of 1 to 3 workers at random moments, half of them started again."""
    with bench.cluster() as cluster:
        report = Report("kills", cluster.ground.describe())
        t0 = {w.job: bench.time_without_faults(cluster, w) for w in bench.works()}
        for seed in bench.seeds(200, 6):
            works = bench.works()
            job = works[seed // 6 % len(works)]
            before_s, clean_moved = t0[job.job]
            row = kill_once(bench, cluster, seed, job, before_s)
            cluster.bring_all_back()
            # A machine that others use is now faster, now slower: what counts is the time without faults right before
            # and right after.
            found = cluster.run(job)
            after_s = found["seconds"] if found["outcome"] == "right" else before_s
            t0[job.job] = after_s, clean_moved
            row["clean_s"] = (before_s + after_s) / 2
            right = row["outcome"] == "right"
            row["ratio"] = row["seconds"] / row["clean_s"] if right else None
            row["moved_ratio"] = row.get("moved_bytes", 0) / max(1, clean_moved) if right else None
            report.rows.append(row)
            bench.log(f"kills seed {seed}: {job.job}, {row['killed']} killed at {row['moments']} of T0"
                      f"{', started again' if row['back'] else ''}: {row['outcome']} {row['code'] or ''} "
                      f"{row['seconds']:.2f} s, without {before_s:.2f} and {after_s:.2f} s, ratio {shown(row['ratio'])}")
    kill_table(report)
    return report


def kill_once(bench, cluster, seed, job, clean_s):
    draw = bench.draw("kills", seed)
    number, back = 1 + seed % 3, seed // 3 % 2 == 0
    victims = draw.sample(range(cluster.num_workers), min(number, cluster.num_workers - 1))
    moments = [draw.uniform(0, clean_s) for _ in victims]
    events = [(moment, lambda v=victim: cluster.kill_worker(v), True) for moment, victim in zip(moments, victims)]
    if back:
        events += [(moment + draw.uniform(0.2, 1.0), lambda v=victim: cluster.start_worker(v), False)
                   for moment, victim in zip(moments, victims)]
    running = cluster.submit(job, limit_s=bench.limit(clean_s))
    met = play(running, events)
    return {"seed": seed, "job": job.job, "killed": number, "back": back, "met": met,
            "moments": [round(moment / clean_s, 3) for moment in moments], **running.finish()}


def kill_table(report):
    report.header = ("job", "killed", "again", "runs", "right", "named", "wrong", "stuck", "median", "worst", "maps redone",
                     "steps redone", "moved", "errors")
    for job in sorted({row["job"] for row in report.rows}):
        for number in (1, 2, 3):
            for back in (True, False):
                rows = [r for r in report.rows if (r["job"], r["killed"], r["back"]) == (job, number, back)]
                if rows:
                    report.table.append(kill_line(job, number, back, rows))
    for (number, back), limit in KILL_BARS.items():
        ratios = [r["ratio"] for r in report.rows if (r["killed"], r["back"]) == (number, back) and r["met"] == number]
        words = f"median of {number} killed{', started again' if back else ''}, to T0"
        report.bars.append(at_most(words, median(ratios), limit))
    late = [r for r in report.rows if min(r["moments"]) >= 0.9 and r["ratio"]]
    report.notes.append(f"all kills in the last tenth: {len(late)} runs, median ratio {shown(median(r['ratio'] for r in late))}")
    report.bars.append(some_of("runs that a kill met", sum(r["met"] > 0 for r in report.rows)))
    report.outcome_bars()


def kill_line(job, number, back, rows):
    right = [r for r in rows if r["outcome"] == "right"]
    return (job, number, "yes" if back else "no", len(rows), len(right),
            sum(r["outcome"] == "failed by name" for r in rows), sum(r["outcome"] == "wrong" for r in rows),
            sum(r["outcome"] == "stuck" for r in rows), shown(median(r["ratio"] for r in right)),
            shown(max((r["ratio"] for r in right), default=None)),
            shown(median(r.get("maps_redone") for r in right), "{:.0f}"),
            shown(median(r.get("steps_redone") for r in right), "{:.0f}"),
            shown(median(r["moved_ratio"] for r in right)), codes_of(rows))


def slow(bench):
    """One worker at a tenth of its processor time, or its link at a tenth, while nobody has told the master."""
    with bench.cluster() as cluster:
        report = Report("slow", cluster.ground.describe())
        job = bench.works()[0]
        clean = [bench.time_without_faults(cluster, job, repeats=1)[0]]
        for seed in bench.seeds(10, 2):
            kind = ("cpu", "link")[seed % 2]
            row = slow_once(bench, cluster, seed, kind, job, median(clean), report)
            if row is None:
                continue
            report.rows.append(row)
            # Between any two of them one without faults: what was learned of the slow one goes, and T0 keeps up.
            found = cluster.run(job)
            if found["outcome"] == "right":
                clean.append(found["seconds"])
    report.header = ("kind", "runs", "right", "median", "worst", "errors")
    for kind in ("cpu", "link"):
        rows = [row for row in report.rows if row["kind"] == kind]
        ratios = [row["seconds"] / median(clean) for row in rows if row["outcome"] == "right" and row["met"]]
        if rows:
            report.table.append((kind, len(rows), len(ratios), shown(median(ratios)),
                                 shown(max(ratios, default=None)), codes_of(rows)))
        report.bars.append(at_most(f"median with one worker's {kind} at a tenth, to T0", median(ratios), SLOW_BAR))
    met = "runs that a slow worker met"
    report.bars.append(some_of(met, sum(row["met"] for row in report.rows)) if report.rows else unmeasured(met))
    report.outcome_bars()
    return report


def slow_once(bench, cluster, seed, kind, job, clean_s, report):
    draw = bench.draw("slow", seed)
    host, moment = draw.randrange(cluster.num_workers), draw.uniform(0, 0.3 * clean_s)
    ground = cluster.ground
    if kind == "cpu":
        begin = lambda: ground.slow_cpu(host, SLOW_SHARE, cluster.workers[host].pid)  # noqa: E731
        end = lambda: ground.full_cpu(host)  # noqa: E731
    else:
        begin = lambda: ground.link_rate(host, SLOW_SHARE)  # noqa: E731
        end = lambda: ground.link_rate(host, 1)  # noqa: E731
    running = cluster.submit(job, limit_s=bench.limit(clean_s))
    try:
        met = play(running, [(moment, begin, True)])
    except NotHere as reason:
        report.notes.append(f"LEFT OUT {kind}: {reason}")
        running.finish()
        return None
    found = running.finish()
    end()
    row = {"seed": seed, "kind": kind, "host": host, "moment_s": moment, "met": met, **found}
    bench.log(f"slow seed {seed}: {kind} of w{host} at a tenth: {row['outcome']} {row['seconds']:.2f} s, T0 {clean_s:.2f} s")
    return row


def pause(bench):
    """Hosts that stand still: for 3 s, which is no death, and for longer than their lease, after which they are fenced."""
    long_s = 12 if bench.options.quick else 60
    with bench.cluster() as cluster:
        report = Report("pause", cluster.ground.describe())
        job = bench.works()[0]
        clean_s, _ = bench.time_without_faults(cluster, job, repeats=1)
        for seed in bench.seeds(100, 4):
            pause_s = (3, long_s)[seed % 2]
            report.rows.append(pause_once(bench, cluster, seed, pause_s, job, clean_s))
            cluster.bring_all_back()
    report.header = ("stopped", "runs", "met", "right", "false deaths", "refused as stale", "errors")
    for pause_s in sorted({row["pause_s"] for row in report.rows}):
        rows = [row for row in report.rows if row["pause_s"] == pause_s]
        deaths = sum(row["deaths"] for row in rows) if pause_s == 3 else "-"
        report.table.append((f"{pause_s} s", len(rows), sum(row["met"] for row in rows),
                             sum(row["outcome"] == "right" for row in rows), deaths,
                             sum(row["refused"] for row in rows), codes_of(rows)))
    short = [row for row in report.rows if row["pause_s"] == 3]
    zombies = [row for row in report.rows if row["pause_s"] != 3]
    report.bars.append(none_of("false deaths in pauses of 3 s", sum(row["deaths"] for row in short)))
    report.bars.append(some_of("pauses that met a job", sum(row["met"] for row in report.rows)))
    if zombies:
        report.bars.append(some_of("zombies fenced: leases lost and messages refused", sum(r["refused"] for r in zombies)))
    report.outcome_bars()
    return report


def pause_once(bench, cluster, seed, pause_s, job, clean_s):
    draw = bench.draw("pause", seed)
    host, moment = draw.randrange(cluster.num_workers), draw.uniform(0, clean_s)
    master_log, worker_log = cluster.log_size("master"), cluster.log_size(f"w{host}")
    running = cluster.submit(job, limit_s=bench.limit(clean_s) + pause_s)
    met = play(running, [(moment, lambda: cluster.stop_worker(host, signal.SIGSTOP), True)])
    stopped = time.monotonic()
    while time.monotonic() - stopped < pause_s:
        time.sleep(0.02)
    cluster.stop_worker(host, signal.SIGCONT)
    found = running.finish()
    time.sleep(1)  # what it still had to say is on its way
    deaths = sum(line.get("msg") == "Worker lost" for line in cluster.log_lines("master", master_log))
    fenced = ("Lease lost; jobs dropped", "Report refused by the master")
    refused = sum(line.get("msg") in fenced for line in cluster.log_lines(f"w{host}", worker_log))
    bench.log(f"pause seed {seed}: w{host} stopped for {pause_s} s: {found['outcome']} {found['code'] or ''}, "
              f"{deaths} lost, {refused} refused")
    return {"seed": seed, "pause_s": pause_s, "host": host, "met": met, "deaths": deaths, "refused": refused, **found}


def partition(bench):
    """Hosts that do not hear each other: one of all others, one way, or two of each other."""
    with bench.cluster() as cluster:
        report = Report("partition", cluster.ground.describe())
        job = bench.works()[0]
        clean_s, _ = bench.time_without_faults(cluster, job, repeats=1)
        try:
            for seed in bench.seeds(120, 4):
                report.rows.append(partition_once(bench, cluster, seed, job, clean_s))
                cluster.bring_all_back()
        except NotHere as reason:
            report.notes.append(f"LEFT OUT: {reason}")
            report.bars.append(unmeasured("partitions that met a job"))
            return report
        finally:
            cluster.ground.heal()
    report.header = ("kind", "runs", "met", "right", "named", "slowest s", "errors")
    for kind in PARTITION_KINDS:
        rows = [row for row in report.rows if row["kind"] == kind]
        if rows:
            report.table.append((kind, len(rows), sum(row["met"] for row in rows),
                                 sum(row["outcome"] == "right" for row in rows),
                                 sum(row["outcome"] == "failed by name" for row in rows),
                                 shown(max(row["seconds"] for row in rows), "{:.1f}"), codes_of(rows)))
    # Both ends are legal here; none may come late.
    for outcome in ("wrong", "stuck", "failed without a name"):
        report.bars.append(none_of(outcome, sum(row["outcome"] == outcome for row in report.rows)))
    late = sum(row["seconds"] > clean_s + (row["length_s"] or 0) + NAMED_WITHIN_S for row in report.rows)
    report.bars.append(none_of(f"ends later than {NAMED_WITHIN_S} s after the partition and T0", late))
    report.bars.append(some_of("partitions that met a job", sum(row["met"] for row in report.rows)))
    return report


def partition_once(bench, cluster, seed, job, clean_s):
    draw = bench.draw("partition", seed)
    kind = PARTITION_KINDS[seed % len(PARTITION_KINDS)]
    lengths = PARTITION_LENGTHS_S[:2] if bench.options.quick else PARTITION_LENGTHS_S
    length_s = lengths[seed // len(PARTITION_KINDS) % len(lengths)]
    a, b = draw.sample(range(cluster.num_workers), 2)
    moment = draw.uniform(0, clean_s)
    ground = cluster.ground
    others = [host for host in range(cluster.num_workers) if host != a] + ["ctl"]

    def cut():
        if kind in ("full", "to worker"):
            ground.drop(a)
        if kind in ("full", "from worker"):
            for other in others:
                ground.drop(other, a)
        if kind == "pair":
            ground.drop(a, b)
            ground.drop(b, a)

    running = cluster.submit(job, limit_s=bench.limit(clean_s) + (length_s or 0))
    met = play(running, [(moment, cut, True)])
    began = time.monotonic()
    while not running.ended() and (length_s is None or time.monotonic() - began < length_s):
        if time.monotonic() - running.began > running.limit_s:
            break
        time.sleep(0.02)
    if length_s is not None:
        ground.heal()
    found = running.finish()
    ground.heal()
    bench.log(f"partition seed {seed}: {kind} of w{a} for {length_s} s: {found['outcome']} {found['code'] or ''} "
              f"after {found['seconds']:.1f} s")
    return {"seed": seed, "kind": kind, "length_s": length_s, "hosts": [a, b], "met": met, **found}
