"""Real weir processes for tests: embedded runs, clusters, fault injection, and what must be gone afterwards.

Upstream: the tests beside this file. WEIR_BINARY (set by ctest) or the release build.
"""
import collections
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from daemon_ends import bad_ends_of, crashes_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("WEIR_BINARY", os.path.join(ROOT, "build/release/runtime/app/weir"))

Result = collections.namedtuple("Result", "code out err seconds")


def free_port(*also_at):
    """A port that nobody has here, nor at the addresses `also_at`, below those that the system gives to whoever asks for any:
    another test, or a connection, would take one of these before it is used."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        given_from = int(file.read().split()[0])
    while True:
        with contextlib.ExitStack() as held:
            port = random.randrange(10_000, given_from) if given_from > 20_000 else 0
            try:
                for address in ("127.0.0.1", *also_at):
                    probe = held.enter_context(socket.socket())
                    probe.bind((address, port))
                    port = probe.getsockname()[1]
            except OSError:
                continue  # somebody has it
            return port


def write_words(path, megabytes, distinct=5000, seed=7):
    """Random words with a skew, about `megabytes` of them."""
    rng = random.Random(seed)
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(1, 9)))
             for _ in range(distinct)]
    chunk = []
    size = 0
    while size < 1 << 20:
        line = " ".join(words[int(rng.paretovariate(0.8)) % distinct] for _ in range(12)) + "\n"
        chunk.append(line)
        size += len(line)
    text = "".join(chunk)
    with open(path, "w", encoding="ascii") as file:
        for _ in range(megabytes):
            file.write(text)


def count_words(paths):
    """The oracle: sequential, nothing shared with the product. Lines that are there several times are split once."""
    lines = collections.Counter()
    for path in paths:
        with open(path, "rb") as file:
            lines.update(file)
    lines_by_times = collections.defaultdict(list)
    for line, times in lines.items():
        lines_by_times[times].append(line)
    counts = collections.Counter()
    for times, same in lines_by_times.items():
        for word, count in collections.Counter(re.split(rb"[ \t\n\v\f\r]+", b"\n".join(same))).items():
            counts[word] += times * count
    counts.pop(b"", None)
    return counts


def lines_of(path):
    """Lines of a file; one that nothing ends is a line too, since nobody should have written it."""
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    return lines if lines[-1] else lines[:-1]


def read_parts(output):
    """Lines of all parts of an output directory, in part order."""
    return [line for name in sorted(os.listdir(output)) if name.startswith("part-") for line in lines_of(os.path.join(output, name))]


def processes_mentioning(text):
    """Pids (not ours) whose command line or environment names `text`, and their children's groups."""
    found = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                cmdline = file.read()
            with open(f"/proc/{pid}/environ", "rb") as file:
                environ = file.read()
            with open(f"/proc/{pid}/stat", "rb") as file:
                state = file.read().rsplit(b")", 1)[1].split()[0]
        except OSError:
            continue
        if state != b"Z" and (text.encode() in cmdline or text.encode() in environ):
            found.append((int(pid), cmdline.replace(b"\0", b" ").decode(errors="replace")))
    return found


def task_pids(text):
    return [pid for pid, cmdline in processes_mentioning(text) if " task " in cmdline + " "]


def parent_of(pid):
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rsplit(b")", 1)[1].split()[1])


def task_to_kill(text):
    """A task that a daemon started: what that starts itself has the same name, and does not end it."""
    tasks = set(task_pids(text))
    return next(pid for pid in sorted(tasks) if parent_of(pid) not in tasks)


def has_open(pid, path):
    """True when a process has the file open or mapped."""
    try:
        if any(os.readlink(f"/proc/{pid}/fd/{fd}") == path for fd in os.listdir(f"/proc/{pid}/fd")):
            return True
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            return path in file.read()
    except OSError:
        return False


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")


class WeirTest(unittest.TestCase):
    """A temporary directory per test; nothing of it may be in use or left when the test ends."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="weir-test-")
        self.work = os.path.join(self.dir, "work")
        os.mkdir(self.work)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, data):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def text(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def start(self, *args, env=None, **options):
        # What runs teach stays inside the test.
        full_env = dict(os.environ, TMPDIR=self.work, WEIR_TEST_DIR=self.dir,
                        **{"XDG_STATE_HOME": os.path.join(self.dir, "state"), **(env or {})})
        full_env.pop("WEIR_MASTER", None) if not (env or {}).get("WEIR_MASTER") else None
        return subprocess.Popen([BINARY, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=full_env, **options)

    def end_and_hear(self, process):
        """What a started process wrote to its standard error; for messages of failures, it is killed."""
        process.kill()
        return process.communicate()[1].decode(errors="replace")

    def finish(self, process, timeout=60):
        begin = time.monotonic()
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f"did not end within {timeout} s\nstdout: {out[-2000:]}\nstderr: {err[-4000:]}")
        return Result(process.returncode, out, err.decode(errors="replace"), time.monotonic() - begin)

    def weir(self, *args, timeout=60, env=None, **options):
        return self.finish(self.start(*args, env=env, **options), timeout)

    def run_job(self, *args, timeout=120):
        return self.weir("run", *args, "--work-dir", self.work, timeout=timeout)

    def assert_ok(self, result):
        self.assertEqual(result.code, 0, f"stderr:\n{result.err[-4000:]}")

    def assert_fails(self, result, code, *needles):
        self.assertEqual(result.code, code, f"stdout: {result.out[-500:]}\nstderr:\n{result.err[-4000:]}")
        for needle in needles:
            if needle not in result.err:
                self.fail(f"'{needle}' is not in stderr, which ends:\n{result.err[-1500:]}")

    def assert_nothing_left(self, output=None):
        """No process of this test, no temporary file, no staging directory."""
        wait_for(lambda: not processes_mentioning(self.dir), 5,
                 lambda: f"processes gone: {processes_mentioning(self.dir)}")
        left = [os.path.join(d, f) for d, _, files in os.walk(self.work) for f in files]
        self.assertEqual(left, [], "temporary files left")
        staging = [name for name in os.listdir(self.dir) if "staging" in name]
        self.assertEqual(staging, [], "staging directory left")
        if output is not None:
            self.assertFalse(os.path.exists(output), "output must be absent after a failure")


class Cluster:
    """A master and workers as processes of one test; `journal` is a file that the master's own begins as, and
    `preexec_fn` is called in each of them before it becomes one."""

    def __init__(self, test, workers=2, master_args=(), worker_args=(), journal=None, client_args=(), preexec_fn=None):
        self.test = test
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.journal = test.path(f"journal-{self.port}.db")
        if journal:
            shutil.copy(journal, self.journal)
        self.master_args = list(master_args)
        self.client_args = list(client_args)
        self.preexec_fn = preexec_fn
        self.logs = []
        self.spawned = []  # those that were started again included
        self.master = self.start_master()
        self.workers = [self.start_worker(i, worker_args) for i in range(workers)]
        test.addCleanup(self.stop)
        self.wait_for_workers(workers)

    def _spawn(self, name, *args, before=()):
        log = open(self.test.path(f"{name}.log"), "ab")
        self.logs.append(log)
        # The token that the test's own clients show.
        env = dict(os.environ, TMPDIR=self.test.work, WEIR_TEST_DIR=self.test.dir,
                   XDG_STATE_HOME=os.path.join(self.test.dir, "state"))
        process = subprocess.Popen([*before, BINARY, *args], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                                   preexec_fn=self.preexec_fn)
        self.spawned.append(process)
        return process

    def start_master(self):
        return self._spawn("master", "master", "--listen", self.address, "--journal",
                           self.journal, *self.master_args)

    def start_worker(self, index, extra=(), work=None, before=()):
        work = work or os.path.join(self.test.work, f"worker{index}")
        os.makedirs(work, exist_ok=True)
        return self._spawn(f"worker{index}", "worker", "--master", self.address, "--name", f"worker{index}",
                           "--work-dir", work, *extra, before=before)

    def wait_for_workers(self, count):
        def alive():
            result = self.test.weir("list", "workers", "--json", "--master", self.address, *self.client_args)
            if result.code != 0:
                return False
            rows = json.loads(result.out)["workers"]
            return sum(1 for row in rows if "ALIVE" in json.dumps(row).upper()) >= count
        wait_for(alive, 20, lambda: f"{count} workers registered: {self.log_text()}")

    def log_text(self):
        texts = []
        for log in self.logs:
            with open(log.name, "rb") as file:
                texts.append(f"--- {log.name}\n" + file.read()[-1500:].decode(errors="replace"))
        return "\n".join(texts)

    def submit(self, *args, timeout=120):
        return self.test.weir("submit", *args, "--wait", "--master", self.address, timeout=timeout)

    def stop(self):
        """Ends all daemons. Fails the test where one does not end within 15 s, or with an error, or crashed at any time before."""
        told = [process for process in [*self.workers, self.master] if process.poll() is None]
        for process in told:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        wrong = []
        for process in told:
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                wrong.append(f"did not end on SIGTERM within 15 s: {process.args}")
        wrong += bad_ends_of(told)
        for process in self.spawned:
            process.poll()
        wrong += crashes_of({*self.spawned, *told})
        self.spawned.clear()  # each is judged once, however often this is called
        if wrong:
            wrong.append(self.log_text())
        for log in self.logs:
            log.close()
        if wrong:
            self.test.fail("\n".join(wrong))
