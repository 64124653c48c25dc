"""What scenarios share: grounds and clusters, works, the time without faults, tables and bars.

Upstream: scenarios, run. A scenario is a function of a Bench; it returns a Report.
"""
import contextlib
import os
import random
import statistics

import work
from chaos_cluster import ChaosCluster
from ground import Loopback

# A job that has not ended after so many times what it takes without faults, and a minute, is stuck: every promise of a
# named error is shorter.
STUCK_FACTOR, STUCK_S = 10, 60


class Bar:
    """One promise: what was measured, the limit in words, and whether it holds (None: nothing was measured)."""

    def __init__(self, name, measured, limit, held):
        self.name, self.measured, self.limit, self.held = name, measured, limit, held

    def line(self):
        words = {True: "holds", False: "MISSED", None: "not measured"}
        return f"  {words[self.held]:12} {self.name}: {self.measured} (bar: {self.limit})"

    def as_json(self):
        return {"name": self.name, "measured": self.measured, "limit": self.limit, "held": self.held}


def at_most(name, value, limit, form="{:.2f}"):
    if value is None:
        return Bar(name, "-", "<= " + form.format(limit), None)
    return Bar(name, form.format(value), "<= " + form.format(limit), value <= limit)


def unmeasured(name):
    return Bar(name, "-", "measured", None)


def missed(report, may_be_left_out):
    """Bars of a report that do not hold. One that was not measured is among them, unless its scenario is named here: what was
    not tried is no promise kept."""
    return [bar for bar in report.bars if bar.held is False or (bar.held is None and report.name not in may_be_left_out)]


def none_of(name, count):
    return Bar(name, str(count), "0", count == 0)


def some_of(name, count):
    return Bar(name, str(count), "> 0", count > 0)


class Report:
    """Rows of a scenario, the table made of them, and its bars."""

    def __init__(self, name, ground):
        self.name, self.ground = name, ground
        self.rows, self.header, self.table, self.bars, self.notes = [], None, [], [], []

    def outcome_bars(self):
        """What no run may be, whatever was done to it."""
        for outcome in ("wrong", "stuck", "failed without a name", "failed by name"):
            self.bars.append(none_of(outcome, sum(row["outcome"] == outcome for row in self.rows)))

    def text(self):
        lines = [f"== {self.name} ({self.ground['ground']})"]
        if self.header:
            widths = [max(len(str(cell)) for cell in column) for column in zip(self.header, *self.table)]
            lines += ["  " + "  ".join(str(cell).rjust(width) for cell, width in zip(row, widths)).rstrip()
                      for row in [self.header, *self.table]]
        return "\n".join([*lines, *("  " + note for note in self.notes), *(bar.line() for bar in self.bars)])

    def as_json(self):
        return {"scenario": self.name, "ground": self.ground, "rows": self.rows, "header": self.header,
                "table": self.table, "notes": self.notes, "bars": [bar.as_json() for bar in self.bars]}


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def shown(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def codes_of(rows):
    """How often each name of an error was seen."""
    counts = {}
    for row in rows:
        if row.get("code"):
            counts[row["code"]] = counts.get(row["code"], 0) + 1
    return ", ".join(f"{code} {count}" for code, count in sorted(counts.items())) or "-"


class Bench:
    """Options, the place for files, and what is made once for all scenarios."""

    def __init__(self, options, ground_class, directory, log):
        self.options, self.ground_class, self.directory, self.log = options, ground_class, directory, log
        self._works = {}
        self._clusters = 0

    def seeds(self, default, quick):
        """The seeds that a scenario runs: as many as were asked for, else its own number."""
        number = self.options.seeds or (quick if self.options.quick else default)
        return range(self.options.first_seed, self.options.first_seed + number)

    def draw(self, scenario, seed):
        """All that a run draws comes from this."""
        return random.Random(f"{scenario} {seed}")

    def work(self, job):
        """The input of a job, with what must come out of it."""
        if job not in self._works:
            size = self.options.megabytes if job == "wordcount" else self.options.rows
            self.log(f"making the input of {job} and what must come out of it ({size})")
            make = work.wordcount if job == "wordcount" else work.weather
            os.makedirs(self.options.cache, exist_ok=True)
            self._works[job] = make(self.options.cache, size, self.options.input_seed)
        return self._works[job]

    def works(self):
        return [self.work(job) for job in self.options.job]

    def small_work(self, megabytes=1):
        """A word count that takes no time to speak of."""
        key = f"small {megabytes}"
        if key not in self._works:
            os.makedirs(self.options.cache, exist_ok=True)
            self._works[key] = work.wordcount(self.options.cache, megabytes, self.options.input_seed)
        return self._works[key]

    @contextlib.contextmanager
    def ground(self, kind=None, workers=None):
        """A ground of the kind that was asked for, or of `kind`, and a directory on it that goes with it."""
        import shutil  # pylint: disable=import-outside-toplevel
        import tempfile  # pylint: disable=import-outside-toplevel
        directory = tempfile.mkdtemp(prefix="weir-chaos-", dir=self.directory)
        try:
            with (kind or self.ground_class)(workers or self.options.workers, directory) as ground:
                yield ground, directory
        finally:
            if self.options.keep:
                self.log(f"kept: {directory}")
            else:
                shutil.rmtree(directory, ignore_errors=True)

    @contextlib.contextmanager
    def cluster(self, kind=None, workers=None, **more):
        with self.ground(kind, workers) as (ground, directory):
            with ChaosCluster(ground, directory, ground.hosts, **more) as cluster:
                yield cluster

    def loopback(self, workers=None, **more):
        return self.cluster(kind=Loopback, workers=workers, **more)

    def time_without_faults(self, cluster, job_work, *flags, repeats=3):
        """T0: the median time of a job that nothing is done to, after a first run that teaches its rates; (T0, moved)."""
        runs = [cluster.run(job_work, *flags) for _ in range(repeats + 1)]
        for found in runs:
            if found["outcome"] != "right":
                raise RuntimeError(f"{job_work.job} without faults: {found['outcome']}: {found['code']} {found['detail']}")
        t0 = statistics.median(found["seconds"] for found in runs[1:])
        moved = statistics.median(found["moved_bytes"] for found in runs[1:])
        self.log(f"T0 of {job_work.job}: {t0:.2f} s, {moved / 1e6:.1f} MB moved")
        return t0, moved

    def limit(self, t0):
        return STUCK_FACTOR * t0 + STUCK_S
