"""Databases and data frames that are measured beside weir: how they are installed, found and called.

Upstream: tests/bench/run. Downstream: a virtual environment of Python packages from PyPI, with_*.py (one an engine).
"""
import os
import shutil
import subprocess
import sys

from programs import Program

HERE = os.path.dirname(os.path.abspath(__file__))
# name: (package, jobs that it has a sensible way to do). Records of 100 bytes are no table that DuckDB, Polars or Spark read.
ENGINES = {
    "duckdb": ("duckdb", {"wordcount", "onebrc", "weather"}),
    "chdb": ("chdb", {"wordcount", "onebrc", "weather", "terasort"}),
    "polars": ("polars", {"wordcount", "onebrc", "weather"}),
    "spark": ("pyspark", {"wordcount", "onebrc", "weather"}),
}
THREADS = "2"


def python_of(args):
    """The interpreter that has the engines."""
    own = os.path.join(args.competitors, "bin/python3")
    return own if os.path.exists(own) else sys.executable


def install(args):
    """Makes the virtual environment. Spark needs a Java runtime beside it, from Debian."""
    subprocess.run([sys.executable, "-m", "venv", args.competitors], check=True)
    subprocess.run([os.path.join(args.competitors, "bin/pip"), "install", "--quiet",
                    *[package for package, _ in ENGINES.values()]], check=True)


def versions(args):
    """{engine: version} of those that can be imported."""
    code = ("import importlib.metadata as m, sys\n"
            "for name in sys.argv[1:]:\n try: print(name, m.version(name))\n except m.PackageNotFoundError: pass")
    done = subprocess.run([python_of(args), "-c", code, *[package for package, _ in ENGINES.values()]],
                          capture_output=True, text=True, check=True)
    of_package = dict(line.split() for line in done.stdout.splitlines())
    if not shutil.which("java"):
        of_package.pop("pyspark", None)
    return {name: of_package[package] for name, (package, _) in ENGINES.items() if package in of_package}


def programs(args, found, job, source, spaces_only, folder):
    """One program for each engine found that does the job. `spaces_only`: no other white space divides words."""
    for name in found:
        if job in ENGINES[name][1]:
            output = os.path.join(folder, name + ".out")
            # Java takes its scratch folder from Spark, Polars its threads from the environment.
            yield Program(name, [python_of(args), os.path.join(HERE, f"with_{name}.py"), job, source, output,
                                 "spaces" if spaces_only else "any", THREADS], output,
                          {"POLARS_MAX_THREADS": THREADS, "SPARK_LOCAL_DIRS": folder, "PYTHONWARNINGS": "ignore"})
