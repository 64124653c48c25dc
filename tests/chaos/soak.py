"""Many jobs in a row on one cluster, nothing done to them: what grows that should not. Scenario soak."""
import glob
import os
import time

from bench import Bar, Report, none_of

# Three hundred, twice, behind those that fill caches, pools and what the master remembers.
SOAK_JOBS = 900
SAMPLE_EVERY = 10
RSS_SLOPE_MB_PER_H = 1.0
# What the master remembers is full, and forgotten again, well before the half whose slopes count.
JOBS_KEPT = 50
# The journal keeps what it was told to; beyond that it may not grow with the number of jobs.
JOURNAL_BYTES_A_JOB = 256 << 10


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    return 0


def slope(points):
    """Least squares through (seconds, bytes): (MB an hour, its standard error)."""
    number = len(points)
    if number < 3:
        return 0.0, float("inf")
    mean_t = sum(t for t, _ in points) / number
    mean_b = sum(b for _, b in points) / number
    spread = sum((t - mean_t) ** 2 for t, _ in points)
    rate = sum((t - mean_t) * (b - mean_b) for t, b in points) / spread
    rest = sum((b - mean_b - rate * (t - mean_t)) ** 2 for t, b in points) / (number - 2)
    to_mb_h = 3600 / 1e6
    return rate * to_mb_h, (rest / spread) ** 0.5 * to_mb_h


def soak(bench):
    """N small jobs: file descriptors and memory of the daemons, work directories, the journal."""
    number = bench.options.seeds or (20 if bench.options.quick else SOAK_JOBS)
    with bench.cluster(master_args=["--keep-jobs", str(JOBS_KEPT)]) as cluster:
        report = Report("soak", cluster.ground.describe())
        small = bench.small_work()
        daemons = {"master": cluster.master_process, **{f"w{i}": p for i, p in enumerate(cluster.workers)}}
        samples, begin = [], time.monotonic()
        for job in range(number):
            row = {"seed": job, **cluster.run(small)}
            report.rows.append(row)
            if row["outcome"] != "right":
                bench.log(f"soak job {job}: {row['outcome']} {row['code']}")
            if (job + 1) % SAMPLE_EVERY == 0:
                time.sleep(1)  # connections of the last job close
                samples.append(take_sample(cluster, daemons, begin, job + 1))
                bench.log(f"soak: {job + 1} jobs, {sum(samples[-1]['fds'].values())} descriptors, "
                          f"{sum(samples[-1]['rss'].values()) / 1e6:.1f} MB, journal {samples[-1]['journal_bytes']} B")
    soak_table(report, samples)
    return report


def take_sample(cluster, daemons, begin, jobs):
    return {"jobs": jobs, "at_s": time.monotonic() - begin,
            "fds": {name: descriptors(process.pid) for name, process in daemons.items()},
            "rss": {name: resident_bytes(process.pid) for name, process in daemons.items()},
            "left": len(cluster.left_in_work_dirs()), "tasks": len(cluster.task_processes()),
            "journal_bytes": sum(os.path.getsize(f) for f in glob.glob(cluster.path("journal.db*")))}


def soak_table(report, samples):
    report.header = ("daemon", "descriptors first", "last", "most", "RSS MB first", "last", "slope MB/h", "error of it")
    later = samples[len(samples) // 2:]  # caches and pools are filled in the first half
    steep = grown = 0
    for name in samples[0]["fds"] if samples else ():
        counts = [sample["fds"][name] for sample in samples]
        rate, error = slope([(sample["at_s"], sample["rss"][name]) for sample in later])
        # As far as the measure can tell: two standard errors.
        steep += rate - 2 * error > RSS_SLOPE_MB_PER_H
        grown += max(sample["fds"][name] for sample in later) > max(counts[:max(1, len(counts) // 2)])
        report.table.append((name, counts[0], counts[-1], max(counts), f"{samples[0]['rss'][name] / 1e6:.1f}",
                             f"{samples[-1]['rss'][name] / 1e6:.1f}", f"{rate:.2f}", f"{error:.2f}"))
    report.notes.append("slopes of the later half; a daemon is too steep when its slope less two standard errors is above the bar")
    report.bars.append(none_of("daemons whose descriptors grew in the later half", grown))
    report.bars.append(Bar(f"daemons whose RSS grows by more than {RSS_SLOPE_MB_PER_H:g} MB an hour", str(steep), "0",
                           steep == 0 if len(later) >= 3 else None))
    report.bars.append(none_of("files left in work directories", sum(sample["left"] for sample in samples)))
    report.bars.append(none_of("tasks left", sum(sample["tasks"] for sample in samples)))
    if samples:
        last = samples[-1]
        bound = JOURNAL_BYTES_A_JOB * min(last["jobs"], JOBS_KEPT) + (32 << 20)
        report.bars.append(Bar("bytes of the journal", str(last["journal_bytes"]), f"<= {bound}", last["journal_bytes"] <= bound))
    report.outcome_bars()
