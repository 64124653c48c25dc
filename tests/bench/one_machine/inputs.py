"""The inputs that jobs are measured on: which there are, how each is made, what must be reached on it.

Upstream: tests/bench/run, tests/bench/predict.py. Downstream: weir_bench_generate_input, `weir data`, texts.py.
"""
import os
import subprocess
from dataclasses import dataclass
from typing import Callable, Optional

import texts


@dataclass
class Input:
    """`bar`: the processor time of weir may be so many times that of the limit program; None = no bar."""
    job: str
    bar: Optional[float]
    describe: str
    make: Callable  # (args, bytes, path): writes the input, returns the packages that it is from
    spaces_only: bool = False
    real: bool = False  # text that others wrote


def generated(*arguments):
    """`arguments`: of weir_bench_generate_input, as functions of the size in bytes."""
    def make(args, num_bytes, path):
        words = [str(a(num_bytes)) if callable(a) else a for a in arguments]
        place = words.index("FILE")
        words[place] = path
        subprocess.run([os.path.join(args.build, "tests/bench/weir_bench_generate_input"), *words],
                       check=True, stdout=subprocess.DEVNULL)
        return []
    return make


def records(args, num_bytes, path):
    subprocess.run([args.weir, "data", "generate", "terasort", "--records", str(num_bytes // 100), "-o", path],
                   check=True, stdout=subprocess.DEVNULL)
    return []


def text(kind):
    return lambda args, num_bytes, path: texts.write(kind, num_bytes, path, args.data)


INPUTS = {
    "zipf": Input("wordcount", 1.1, "Zipf text, a distinct word a thousand bytes",
                  generated("words", lambda n: n, lambda n: n // 1000, "FILE"), spaces_only=True),
    "sources": Input("wordcount", 1.25, "sources of Linux 6.1", text("sources"), real=True),
    "prose": Input("wordcount", None, "manuals and dictionaries", text("prose"), real=True),
    "onebrc": Input("onebrc", 1.3, "rows of 413 stations", generated("rows", lambda n: n * 10 // 142, "FILE")),
    "onebrc-10k": Input("onebrc", 1.5, "rows of 10 000 stations",
                        generated("rows", lambda n: n * 10 // 165, "FILE", "10000")),
    "weather": Input("weather", 1.5, "hourly readings of 100 stations, CSV",
                     generated("weather-csv", lambda n: n // 34, "FILE")),
    "terasort": Input("terasort", 1.4, "uniform records of 100 bytes", records),
}


def is_there(name, args, path):
    """Whether an input was made before, and by no other version of what makes it."""
    if not (os.path.exists(path) and os.path.exists(path + ".from")):
        return False
    makers = [] if INPUTS[name].real else [args.weir, os.path.join(args.build, "tests/bench/weir_bench_generate_input")]
    return all(os.path.getmtime(maker) < os.path.getmtime(path) for maker in makers)


def make(name, args, num_bytes):
    """Makes an input unless it is there from before. Returns (path, packages that it is from)."""
    os.makedirs(args.data, exist_ok=True)
    path = os.path.join(args.data, f"{name}-{num_bytes}")
    note = path + ".from"
    if not is_there(name, args, path):
        if os.path.exists(path):  # an older one, which not every maker replaces
            os.remove(path)
        used = INPUTS[name].make(args, num_bytes, path)
        with open(note, "w", encoding="utf-8") as file:
            file.write("\n".join(used))
    with open(note, encoding="utf-8") as file:
        return path, file.read().split("\n") if os.path.getsize(note) else []
