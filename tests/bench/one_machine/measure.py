"""Runs programs in turns and says what each took: processor time, wall time, memory.

Upstream: tests/bench/run. Downstream: the operating system's accounting.
"""
import os
import subprocess
import sys
import tempfile
import time

PAGE = os.sysconf("SC_PAGE_SIZE")
SAMPLE_S = 0.05
TOUCH_MEMORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "touch_memory.py")
INPUTS_TOUCHED = 4  # a result, that of the turn before, what lies between input and result, and buffers


def with_descendants(pid):
    """Processes that stem from `pid`, itself the first. Asks each for its children: a look at all processes costs more."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children", encoding="ascii") as file:
                    found += map(int, file.read().split())
        except OSError:
            pass  # it ended meanwhile
    return found


def resident_bytes(pid):
    """Sum of the resident sets of a process and its descendants; pages that two of them share count twice."""
    total = 0
    for one in with_descendants(pid):
        try:
            with open(f"/proc/{one}/statm", encoding="ascii") as file:
                total += int(file.read().split()[1]) * PAGE
        except (OSError, IndexError):
            pass
    return total


def measure(command, environment=None):
    """Runs a command. Returns processor seconds (user and system, of all that it waited for), wall seconds, peak bytes."""
    with tempfile.TemporaryFile() as output:
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   env={**os.environ, **(environment or {})})
        peak, pause = 0, 0.005
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, resident_bytes(process.pid))
            time.sleep(pause)
            pause = min(SAMPLE_S, pause * 1.3)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            text = output.read().decode(errors="replace")[-2000:]
            sys.exit(f"tests/bench/run: exit status {process.returncode} of {' '.join(command)}\n{text}")
    return {"cpu_s": round(usage.ru_utime + usage.ru_stime, 4), "wall_s": round(wall, 4),
            "peak_bytes": max(peak, usage.ru_maxrss * 1024)}


def read_through(path):
    """Brings a file into the page cache."""
    block = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(block):
            pass


def in_turns(programs, turns, slow, after_first, source=None):
    """Runs each program once a turn, every second turn the other way round. Returns {name: one measurement a turn}.

    With the input of all of them, `source`, free memory is touched and the input is read before each program: neither a host
    nor a disk is measured.
    `after_first(program)` is called once a program, for its output. Whatever needs more than `slow` times the wall time of
    the first program runs in the first turn only: its ratio is far from any bar, and all others would wait for it.
    """
    taken = {program.name: [] for program in programs}
    first = programs[0].name
    for turn in range(turns):
        for program in programs if turn % 2 == 0 else reversed(programs):
            if turn > 0 and taken[program.name][0]["wall_s"] > slow * taken[first][0]["wall_s"]:
                continue
            if source:
                subprocess.run([sys.executable, TOUCH_MEMORY, str(INPUTS_TOUCHED * os.path.getsize(source))], check=True)
                read_through(source)
            taken[program.name].append({"turn": turn, **measure(program.command, program.environment)})
            if turn == 0:
                after_first(program)
    return taken
