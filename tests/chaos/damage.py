"""Damaged bytes and full disks: scenarios flips and disk."""
import glob
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import time

from bench import Bar, Report, at_most, codes_of, none_of, shown, unmeasured
from chaos_cluster import ChaosCluster, free_port
from flip_proxy import Flips, Proxy
from ground import Loopback

HERE = os.path.dirname(os.path.abspath(__file__))
FRAME_FLIPS, RUN_FLIPS, PART_FLIPS = 1000, 200, 50
FLIPS_A_JOB = 3
FLIP_WORKERS = 3
# Runs are to lie on their disks for a while before the last of their readers comes.
SLOW_CHANNEL = "8Mbit/s"
DISK_BYTES_LEAST, DISK_LEFT = 64 << 20, 1 << 20
DISK_ERROR_WITHIN_S = 30
# What damage may be called. Of a frame that is no frame, neither end knows that it was damaged.
DAMAGE_CODES = {"DATA_LOSS", "TRANSFER_FAILED", "WORKER_UNREACHABLE", "WORKER_LOST"}


def flip():
    """The function of the program beside this file."""
    loader = importlib.machinery.SourceFileLoader("corrupt_file", os.path.join(HERE, "corrupt-file"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module.flip


class ProxiedCluster(ChaosCluster):
    """Workers on 127.0.0.1, known to all others at 127.0.1.<n>, where proxies listen."""

    def __init__(self, ground, directory, workers, flips, **more):
        super().__init__(ground, directory, workers, **more)
        self.flips = flips
        self.proxies = [[] for _ in range(workers)]

    def listeners(self, host):
        for proxy in self.proxies[host]:
            proxy.close()
        known_at = f"127.0.1.{host + 1}"
        control, data = free_port(known_at), free_port(known_at)
        self.proxies[host] = [Proxy(known_at, "127.0.0.1", control), Proxy(known_at, "127.0.0.1", data, self.flips)]
        return ["--listen", f"127.0.0.1:{control}", "--data-listen", f"127.0.0.1:{data}", "--advertise", known_at]

    def stop(self):
        try:
            super().stop()
        finally:
            for proxy in (p for pair in self.proxies for p in pair):
                proxy.close()


def flips(bench):
    """Bits turned in frames on their way, in runs on workers' disks and in parts of the output."""
    report = Report("flips", {"ground": Loopback.name, "link_mbit": None})
    wanted = [2 if bench.options.quick else number for number in (FRAME_FLIPS, RUN_FLIPS, PART_FLIPS)]
    if bench.options.seeds:
        wanted = [bench.options.seeds] * 3
    in_frames(bench, report, wanted[0])
    in_runs(bench, report, wanted[1])
    in_parts(bench, report, wanted[2])
    report.header = ("bits turned in", "wanted", "turned", "runs", "right", "named", "wrong", "errors")
    for place, number in zip(("frames", "runs", "parts"), wanted):
        rows = [row for row in report.rows if row["place"] == place]
        struck = sum(row["struck"] for row in rows)
        report.table.append((place, number, struck, len(rows), sum(row["outcome"] == "right" for row in rows),
                             sum(row["outcome"] == "failed by name" for row in rows),
                             sum(row["outcome"] == "wrong" for row in rows), codes_of(rows)))
        report.bars.append(Bar(f"bits turned in {place}", str(struck), f">= {number}", struck >= number))
    # The last resort of these faults is a name: RECOVERY makes jobs go on, and --check of kills demands that.
    for outcome in ("wrong", "stuck", "failed without a name"):
        report.bars.append(none_of(outcome, sum(row["outcome"] == outcome for row in report.rows)))
    named = [row for row in report.rows if row["outcome"] == "failed by name"]
    report.bars.append(none_of("ends by a name that is none of damage's",
                               sum(row["code"] not in DAMAGE_CODES for row in named)))
    return report


def in_frames(bench, report, wanted):
    turned = Flips()
    with bench.ground(Loopback, FLIP_WORKERS) as (ground, directory):
        with ProxiedCluster(ground, directory, FLIP_WORKERS, turned) as cluster:
            job = bench.small_work(8)
            clean_s, _ = bench.time_without_faults(cluster, job, "--mappers", "3", "--reducers", "3", repeats=1)
            turned.arm([], bench.draw("frames", "clean"))
            cluster.run(job, "--mappers", "3", "--reducers", "3")
            size = turned.passed
            bench.log(f"flips: {size} bytes pass between workers in one job")
            struck, seed = 0, bench.options.first_seed
            while struck < wanted and seed < bench.options.first_seed + 3 * wanted:
                draw = bench.draw("frames", seed)
                turned.arm([draw.randrange(size) for _ in range(FLIPS_A_JOB)], draw)
                found = cluster.run(job, "--mappers", "3", "--reducers", "3", limit_s=bench.limit(clean_s))
                row = {"seed": seed, "place": "frames", **found, "struck": turned.struck}
                report.rows.append(row)
                struck += turned.struck
                bench.log(f"flips seed {seed}: {turned.struck} in frames: {row['outcome']} {row['code'] or ''}")
                seed += 1


def in_runs(bench, report, wanted):
    turn = flip()
    with bench.loopback(workers=FLIP_WORKERS, master_args=["--channel-rate", SLOW_CHANNEL]) as cluster:
        job = bench.small_work(8)
        clean_s, _ = bench.time_without_faults(cluster, job, "--mappers", "3", "--reducers", "3", repeats=1)
        struck, seed = 0, bench.options.first_seed
        while struck < wanted and seed < bench.options.first_seed + 3 * wanted:
            draw = bench.draw("runs", seed)
            running = cluster.submit(job, "--mappers", "3", "--reducers", "3", limit_s=bench.limit(clean_s))
            damaged = damage_a_run(cluster, running, draw, turn, seed)
            row = {"seed": seed, "place": "runs", **running.finish(), "struck": int(damaged is not None), "file": damaged}
            # It was turned behind the back of its reader, or in what nobody reads: then it did no harm, and counts as none.
            if row["outcome"] == "right" and not row["steps_redone"] and not row["steps_edited"]:
                row["struck"] = 0
            report.rows.append(row)
            struck += row["struck"]
            bench.log(f"flips seed {seed}: {damaged}: {row['outcome']} {row['code'] or ''}")
            seed += 1


def damage_a_run(cluster, running, draw, turn, seed):
    """Turns a bit of one published run as soon as there is one on the worker that was drawn."""
    host = draw.randrange(cluster.num_workers)
    while not running.ended():
        # One that is not whole yet is added to, and what it has stays as it is.
        for path in sorted(glob.glob(os.path.join(cluster.work_dir(host), "*", "jobs", "*", "runs", "*.run"))):
            try:
                offset, bit = turn(path, seed)
                return f"{os.path.relpath(path, cluster.work_dir(host))} byte {offset} bit {bit}"
            except (OSError, ValueError):
                continue
        time.sleep(0.002)
    return None


def in_parts(bench, report, wanted):
    turn = flip()
    with bench.loopback(workers=FLIP_WORKERS) as cluster:
        job = bench.small_work()
        running = cluster.submit(job, "--reducers", "5", "--plan-method", "even")
        running.process.communicate(timeout=120)
        parts = sorted(glob.glob(os.path.join(running.output, "part-*")))
        for seed in range(bench.options.first_seed, bench.options.first_seed + wanted):
            path = bench.draw("parts", seed).choice(parts)
            offset, bit = turn(path, seed)
            said = cluster.verify(running.output)
            turn(path, seed)
            named = said is not None and os.path.basename(path) in said
            report.rows.append({"seed": seed, "place": "parts", "struck": 1, "code": "DATA_LOSS" if named else None,
                                "outcome": "failed by name" if named else "wrong", "detail": said})
            bench.log(f"flips seed {seed}: byte {offset} bit {bit} of {os.path.basename(path)}: {said or 'NOT FOUND'}")
        clean = cluster.verify(running.output)
        if clean:
            report.rows.append({"seed": None, "place": "parts", "struck": 0, "code": None, "outcome": "wrong",
                                "detail": f"undamaged, and {clean}"})


def disk(bench):
    """The work directory of one worker, then of all, on a file system that is all but full.

    It has 64 MiB, or half of the input: a worker of eight keeps an eighth of what is mapped, and receives as much."""
    if os.geteuid() != 0:
        report = Report("disk", {"ground": bench.ground_class.name})
        report.notes.append("LEFT OUT: mounting a tmpfs needs root")
        report.bars.append(unmeasured("one disk full: not rerouted"))
        return report
    with bench.ground() as (ground, directory):
        report = Report("disk", ground.describe())
        mounted = []
        size = max(DISK_BYTES_LEAST, bench.options.megabytes * 1_000_000 // 2)
        try:
            for host in range(ground.hosts):
                place = os.path.join(directory, "work", f"w{host}")
                os.makedirs(place)
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place], check=True)
                mounted.append(place)
            with ChaosCluster(ground, directory, ground.hosts) as cluster:
                disk_runs(bench, cluster, mounted, report)
        finally:
            for place in mounted:
                subprocess.run(["umount", "-l", place], check=False)
    report.header = ("full", "runs", "right", "named", "slowest s", "errors")
    for kind in ("one", "all"):
        rows = [row for row in report.rows if row["kind"] == kind]
        report.table.append((kind, len(rows), sum(row["outcome"] == "right" for row in rows),
                             sum(row["outcome"] == "failed by name" for row in rows),
                             shown(max((row["seconds"] for row in rows), default=None)), codes_of(rows)))
    one, everyone = ([row for row in report.rows if row["kind"] == kind] for kind in ("one", "all"))
    report.bars.append(none_of("one disk full: not rerouted", sum(row["outcome"] != "right" for row in one)))
    report.bars.append(none_of("all full: ends otherwise than by DISK_FULL", sum(row["code"] != "DISK_FULL" for row in everyone)))
    report.bars.append(none_of("all full: an error without numbers",
                               sum("bytes free" not in (row.get("detail") or "") for row in everyone)))
    report.bars.append(at_most("all full: slowest end, s", max((row["seconds"] for row in everyone), default=None),
                               DISK_ERROR_WITHIN_S))
    report.bars.append(none_of("daemons that died", sum(row["dead"] for row in report.rows)))
    report.bars.append(none_of("files left in work directories", sum(row["left"] for row in report.rows)))
    return report


def disk_runs(bench, cluster, disks, report):
    job = bench.work("wordcount")
    clean_s, _ = bench.time_without_faults(cluster, job, repeats=1)
    for seed in bench.seeds(10, 2):
        draw = bench.draw("disk", seed)
        kind = ("one", "all")[seed % 2]
        full = [draw.choice(disks)] if kind == "one" else disks
        for place in full:
            with open(os.path.join(place, "ballast"), "wb") as file:
                free = shutil.disk_usage(place).free
                os.posix_fallocate(file.fileno(), 0, max(1, free - DISK_LEFT))
        row = {"seed": seed, "kind": kind, **cluster.run(job, limit_s=bench.limit(clean_s))}
        row["dead"] = sum(process.poll() is not None for process in cluster.workers)
        time.sleep(1)
        row["left"] = len(cluster.left_in_work_dirs())
        for place in full:
            os.unlink(os.path.join(place, "ballast"))
        bench.log(f"disk seed {seed}: {kind} full: {row['outcome']} {row['code'] or ''} after {row['seconds']:.1f} s")
        report.rows.append(row)
        cluster.bring_all_back()
        # The next job is to find the disks as they are now, and not as their last heartbeats told.
        cluster.wait_for_room()
