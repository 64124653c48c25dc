"""Masters that are killed, workers and masters that are told to end: scenarios master, drain and commit."""
import calendar
import json
import math
import os
import shutil
import subprocess
import time

from bench import Report, at_most, codes_of, median, none_of, shown, some_of, unmeasured
from chaos_cluster import ClusterError, wait_until
from losses import play

RESUMED_WITHIN_S = 10
MAPS_REDONE_SHARE = 0.05
DRAINED_WITHIN_S = 30
ROLLING_BAR = 1.5
COMMIT_POINTS = 100
QUEUED_JOBS = 2
TERMINAL = ("succeeded", "failed", "cancelled")


def seconds_of(stamp):
    """Unix time of a log line's "2026-11-23T04:42:46.882Z"."""
    whole, _, rest = stamp.partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + rest.rstrip("Z"))


def status_of(cluster, job_id):
    """State of a job as the master says; None when it does not answer or does not know it."""
    asked = cluster.client("status", job_id, "--json")
    return json.loads(asked.stdout).get("state") if asked.returncode == 0 else None


def master(bench):
    """kill -9 of the master at random moments; jobs wait in its queue meanwhile, and nothing acknowledged may be lost."""
    with bench.cluster() as cluster:
        report = Report("master", cluster.ground.describe())
        t0 = {w.job: bench.time_without_faults(cluster, w)[0] for w in bench.works()}
        for seed in bench.seeds(40, 3):
            report.rows.append(master_once(bench, cluster, seed, t0))
            cluster.bring_all_back()
    rows = report.rows
    report.header = ("job", "runs", "right", "median", "resumed after s, worst", "maps redone", "acknowledged lost", "errors")
    for job in sorted(t0):
        mine = [row for row in rows if row["job"] == job]
        right = [row for row in mine if row["outcome"] == "right"]
        if mine:
            report.table.append((job, len(mine), len(right), shown(median(r["seconds"] / t0[job] for r in right)),
                                 shown(max((r["resumed_s"] for r in right if r["resumed_s"]), default=None)),
                                 shown(median(r["maps_redone"] for r in right), "{:.0f}"),
                                 sum(r["lost"] for r in mine), codes_of(mine)))
    resumed = [row["resumed_s"] for row in rows if row["outcome"] == "right" and row["resumed_s"] is not None]
    report.bars.append(at_most("slowest resumption after the master's restart, s", max(resumed, default=None),
                               RESUMED_WITHIN_S))
    shares = [row["maps_redone"] / row["maps"] for row in rows if row["outcome"] == "right" and row["maps"]]
    report.bars.append(at_most("share of map steps redone, worst run", max(shares, default=None), MAPS_REDONE_SHARE))
    report.bars.append(none_of("acknowledged submits lost", sum(row["lost"] for row in rows)))
    report.bars.append(none_of("queued jobs that ended otherwise than right", sum(row["queued_bad"] for row in rows)))
    report.bars.append(some_of("kills that met a job", sum(row["met"] for row in rows)))
    report.outcome_bars()
    return report


def hand_in(cluster, job, *flags, output=None):
    """Hands a job in and waits for the answer beside us; returns (client, output)."""
    cluster.outputs += 1
    output = output or cluster.path(f"out-{cluster.outputs}")
    client = subprocess.Popen(
        cluster.ground.command("ctl", cluster.binary(), "submit", *job.flags(), "-o", output, "--json", *flags, "--master",
                               cluster.address),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=cluster.client_environment())
    return client, output


def outcome_beside(outcome, lost, torn, stuck):
    """What a run ended with, that of the jobs beside it included: numbers of those that were acknowledged and are unknown, of
    those that succeeded with another output, and of those that never ended."""
    if lost or torn:
        return "wrong"
    return "stuck" if stuck else outcome


def master_once(bench, cluster, seed, t0):
    draw = bench.draw("master", seed)
    works = bench.works()
    job = works[seed % len(works)]
    small = bench.small_work()
    moment, away = draw.uniform(0, t0[job.job]), draw.uniform(0.1, 3)
    running = cluster.submit(job, limit_s=bench.limit(t0[job.job]))
    asking = [hand_in(cluster, small) for _ in range(QUEUED_JOBS)]
    log_at = cluster.log_size("master")
    restarted = []

    def again():
        restarted.append(time.time())
        cluster.start_master()
    met = play(running, [(moment, lambda: cluster.kill(cluster.master_process), True), (moment + away, again, False)])
    found = running.finish()
    cluster.wait_for_workers()
    lost = stuck = torn = queued_bad = 0
    for client, output in asking:
        told, _ = client.communicate(timeout=120)
        if client.returncode != 0:
            continue  # nobody promised anything
        job_id = json.loads(told)["job_id"]
        try:
            state = wait_until(lambda j=job_id: (s := status_of(cluster, j)) in (*TERMINAL, None) and (s or "lost"),
                               bench.limit(t0[job.job]), f"{job_id} ends")
        except ClusterError:
            state = "stuck"
        wrong = small.check(output)
        lost += state == "lost"
        stuck += state == "stuck"
        torn += state == "succeeded" and wrong is not None
        queued_bad += state != "succeeded" or wrong is not None
        shutil.rmtree(output, ignore_errors=True)
    resumed = [seconds_of(line["ts"]) - restarted[0] for line in cluster.log_lines("master", log_at)
               if line.get("job") == found.get("job_id") and line["msg"] in ("Step committed", "Job changed its state")
               and seconds_of(line["ts"]) > restarted[0]]
    row = {"seed": seed, "job": job.job, "moment": moment / t0[job.job], "away_s": away, "met": met, "lost": lost,
           "queued_bad": queued_bad, "resumed_s": min(resumed, default=None), **found,
           "outcome": outcome_beside(found["outcome"], lost, torn, stuck)}
    bench.log(f"master seed {seed}: {job.job}, killed at {row['moment']:.2f} of T0 for {away:.1f} s: {row['outcome']} "
              f"{row['code'] or ''}, resumed after {shown(row['resumed_s'])} s, {lost} lost")
    return row


def drain(bench):
    """SIGTERM of one worker in the middle of a job; then of all workers and the master, one by one, under a row of jobs."""
    with bench.cluster() as cluster:
        report = Report("drain", cluster.ground.describe())
        job = bench.works()[0]
        clean_s, _ = bench.time_without_faults(cluster, job)
        for seed in bench.seeds(20, 3):
            report.rows.append(drain_once(bench, cluster, seed, job, clean_s))
            cluster.bring_all_back()
        report.rows += rolling(bench, cluster, job, clean_s)
    report.header = ("kind", "runs", "right", "median", "slowest exit s", "exits other than 0", "errors")
    for kind in ("one", "rolling"):
        rows = [row for row in report.rows if row["kind"] == kind]
        right = [row for row in rows if row["outcome"] == "right"]
        report.table.append((kind, len(rows), len(right), shown(median(r["seconds"] / clean_s for r in right)),
                             shown(max((s for row in rows for _, s in row["exits"]), default=None)),
                             sum(code != 0 for row in rows for code, _ in row["exits"]), codes_of(rows)))
    exits = [end for row in report.rows for end in row["exits"]]
    report.bars.append(at_most("slowest end after SIGTERM, s", max((s for _, s in exits), default=None), DRAINED_WITHIN_S))
    report.bars.append(none_of("ends with another status than 0", sum(code != 0 for code, _ in exits)))
    ratios = [row["seconds"] / clean_s for row in report.rows if row["kind"] == "rolling" and row["outcome"] == "right"]
    report.bars.append(at_most("median of jobs during the rolling restart, to T0", median(ratios), ROLLING_BAR))
    report.outcome_bars()
    return report


def drain_once(bench, cluster, seed, job, clean_s):
    draw = bench.draw("drain", seed)
    host, moment = draw.randrange(cluster.num_workers), draw.uniform(0, clean_s)
    exits = []
    running = cluster.submit(job, limit_s=bench.limit(clean_s))
    met = play(running, [(moment, lambda: exits.append(cluster.terminate(cluster.workers[host])), True)])
    row = {"seed": seed, "kind": "one", "host": host, "met": met, **running.finish(), "exits": exits}
    bench.log(f"drain seed {seed}: SIGTERM of w{host} at {moment / clean_s:.2f} of T0: {row['outcome']} "
              f"{row['code'] or ''}, ended with {exits[0][0]} after {exits[0][1]:.1f} s")
    return row


def rolling(bench, cluster, job, clean_s):
    """Restarts everything, one after the other, while one job follows the other."""
    rows = []
    for victim in [*range(cluster.num_workers), "master"]:
        running = cluster.submit(job, limit_s=bench.limit(clean_s) + DRAINED_WITHIN_S)
        time.sleep(clean_s / 4)
        if victim == "master":
            end = cluster.terminate(cluster.master_process)
            cluster.start_master()
        else:
            end = cluster.terminate(cluster.workers[victim])
            cluster.start_worker(victim)
        rows.append({"seed": 0, "kind": "rolling", "host": victim, **running.finish(), "exits": [end]})
        bench.log(f"drain: rolling restart of {victim}: {rows[-1]['outcome']} {rows[-1]['code'] or ''}, ended with {end[0]}")
        cluster.bring_all_back()
    return rows


def compiled(bench, directory):
    """kill_points.c as a library to preload."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kill_points.c")
    library = os.path.join(directory, "kill_points.so")
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    bench.log(f"crash points: {source} preloaded into the master")
    return library


def commit(bench):
    """kill -9 of the master before each of its calls that change files, from the staging of the output on.

    In turns to a new output and over an old one of many files. After its restart the output is absent (or the old one,
    whole) or complete, nothing is left beside it, and the job handed in again gives the right output.
    """
    with bench.loopback(workers=3) as cluster:
        report = Report("commit", cluster.ground.describe())
        library = compiled(bench, cluster.directory)
        if library is None:
            report.notes.append("LEFT OUT: there is no C compiler for the crash points")
            report.bars.append(unmeasured("different points at which the master died"))
            return report
        small = bench.small_work()
        points = {over: commit_points(cluster, library, small, over) for over in (False, True)}
        report.notes.append(f"calls from the staging on: {points[False]} to a new output, {points[True]} over an old one")
        wanted = bench.options.seeds or (12 if bench.options.quick else max(COMMIT_POINTS, sum(points.values())))
        for seed in range(bench.options.first_seed, bench.options.first_seed + wanted):
            report.rows.append(commit_once(bench, cluster, library, small, seed, points))
    rows = report.rows
    report.header = ("output", "killed", "absent or old", "complete", "torn", "left beside", "again not right")
    for over in (False, True):
        mine = [row for row in rows if row["over"] == over and row["met"]]
        report.table.append(("over an old one" if over else "new", len(mine),
                             *(sum(row["found"] == word for row in mine) for word in ("before", "complete", "torn")),
                             sum(bool(row["left"]) for row in mine), sum(row["again"] != "right" for row in mine)))
    struck = len({(row["over"], row["point"]) for row in rows if row["met"]})
    report.bars.append(none_of("outputs neither absent (or old) nor complete", sum(row["found"] == "torn" for row in rows)))
    report.bars.append(none_of("runs that left files beside the output", sum(bool(row["left"]) for row in rows)))
    report.bars.append(none_of("jobs handed in again that were not right", sum(row["again"] != "right" for row in rows)))
    report.bars.append(some_of("different points at which the master died", struck))
    return report


def all_ended(cluster):
    """Waits until no job is under way: one that a restarted master takes up again is still one."""
    def ended():
        listed = cluster.client("list", "jobs", "--json")
        return listed.returncode == 0 and all(job["state"] in TERMINAL for job in json.loads(listed.stdout)["jobs"])
    wait_until(ended, 60, "all jobs end")


def restart_master(cluster, library, settings):
    cluster.terminate(cluster.master_process)
    cluster.master_env = {"LD_PRELOAD": library, "WEIR_CRASH_FROM": ".weir-staging", **settings} if settings else {}
    cluster.start_master()
    cluster.wait_for_workers()


def old_output(cluster, small, output):
    """An output of Weir's with more files than a new one has."""
    done = cluster.client("submit", *small.flags(), "-o", output, "--wait", "--quiet", "--overwrite", "--reducers", "24",
                          "--plan-method", "even")
    if done.returncode != 0:
        raise ClusterError(done.stderr.decode(errors="replace"))
    return sorted(os.listdir(output))


def commit_points(cluster, library, small, over):
    """How many calls change files from the first one at the staging directory to the end of the job."""
    log = cluster.path(f"points-{over}")
    output = cluster.path(f"counted-{over}")
    restart_master(cluster, library, {})
    if over:
        old_output(cluster, small, output)
    restart_master(cluster, library, {"WEIR_CRASH_LOG": log})
    done = cluster.client("submit", *small.flags(), "-o", output, "--wait", "--quiet", "--overwrite")
    if done.returncode != 0:
        raise ClusterError(done.stderr.decode(errors="replace"))
    with open(log, encoding="utf-8", errors="replace") as file:
        number = sum(1 for _ in file)
    restart_master(cluster, library, {})
    shutil.rmtree(output)
    return number


def stride_of(number):
    """Steps through 0..number-1 that meet each once, and spread early ones."""
    return next(stride for stride in range(max(1, round(0.382 * number)), 2 * number) if math.gcd(stride, number) == 1)


def commit_once(bench, cluster, library, small, seed, points):
    over = seed % 2 == 1
    point = seed // 2 * stride_of(points[over]) % points[over] + 1
    output = cluster.path(f"commit-{seed}")
    before = old_output(cluster, small, output) if over else None
    restart_master(cluster, library, {"WEIR_CRASH_AT": str(point)})
    client, _ = hand_in(cluster, small, *(["--overwrite"] if over else []), output=output)
    def over_or_dead():
        return cluster.master_process.poll() is not None or (client.poll() is not None and os.path.exists(
            os.path.join(output, "manifest.json")) and not beside(cluster, seed))
    try:
        wait_until(over_or_dead, 20, "the master dies, or the job ends")
        time.sleep(0.2)
        wait_until(lambda: cluster.master_process.poll() is not None, 2, "the master dies")
        met = True
    except ClusterError:
        met = False  # this run made fewer calls
    cluster.master_env = {}
    if met:
        cluster.start_master()
    cluster.wait_for_workers()
    told, _ = client.communicate(timeout=60)
    try:
        job_id = json.loads(told)["job_id"]
    except (ValueError, KeyError):
        job_id = None  # it died before it could answer
    all_ended(cluster)
    found, detail = what_is_there(cluster, small, output, before)
    state = job_id and status_of(cluster, job_id)
    if state == "succeeded" and found != "complete":
        found, detail = "torn", f"the job succeeded, and the output is {found}"
    again = cluster.client("submit", *small.flags(), "-o", output, "--wait", "--quiet", "--overwrite")
    right = again.returncode == 0 and small.check(output) is None and cluster.verify(output) is None
    left = beside(cluster, seed)
    shutil.rmtree(output, ignore_errors=True)
    bench.log(f"commit seed {seed}: point {point} of {points[over]}{' over an old output' if over else ''}: "
              f"{'' if met else 'not met, '}{found} {detail or ''}{left or ''}")
    outcome = outcome_of_commit(found, right, lost=job_id is not None and state is None)
    return {"seed": seed, "outcome": outcome, "over": over, "point": point, "met": met, "found": found,
            "detail": detail, "state": state, "left": left, "again": "right" if right else "not right"}


def outcome_of_commit(found, again_right, lost):
    """`found`: what_is_there; `lost`: the submit was acknowledged, and the restarted master does not know the job."""
    return "wrong" if found == "torn" or lost or not again_right else "right"


def beside(cluster, seed):
    """What stands beside the output of a seed and should not."""
    return [name for name in os.listdir(cluster.directory) if name.startswith(f"commit-{seed}.")]


def what_is_there(cluster, small, output, before):
    """("before" | "complete" | "torn", why): what a reader finds at the output's path."""
    if not os.path.exists(output):
        return ("before", None) if before is None else ("torn", "the old output is gone")
    wrong = small.check(output) or cluster.verify(output)
    if wrong:
        return "torn", wrong
    # Old and new hold the same lines; the number of parts tells them apart.
    return ("before" if sorted(os.listdir(output)) == before else "complete"), None
