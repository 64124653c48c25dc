"""A Weir cluster inside a laboratory: the master in "ctl", one worker a host, each with a share of a core.

Workers get a CPU quota with a short period (CPU_SHARE of a core, 10 ms), so that eight of them on a few cores do not take
each other's time in bursts; kernel work for their packets counts towards it as far as it runs in their context. Whatever
happens, stop() ends the processes, removes the control groups and the directory.
"""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("WEIR_LAB_BUILD", os.path.join(ROOT, "build/release"))
CPU_SHARE = 0.2
CPU_PERIOD_US = 10_000
CPU_WEIGHT = 50  # times that of an ordinary group
NICE = -5


def ends_of_logs(directory):
    """The last lines of each log of a directory, for messages of failures."""
    texts = []
    for name in sorted(os.listdir(directory)):
        if name.endswith(".log"):
            with open(os.path.join(directory, name), "rb") as file:
                texts.append(f"--- {name}\n" + file.read()[-1200:].decode(errors="replace"))
    return "\n".join(texts)


class ClusterError(RuntimeError):
    pass


def program(name):
    path = os.path.join(BUILD, "tests/netlab", name)
    if not os.path.exists(path):
        raise ClusterError(f"{path} is not there: build the target {name}, or set WEIR_LAB_BUILD")
    return path


class CpuGroups:
    """Control groups with a CPU quota: version 1 or 2, whichever is mounted."""

    def __init__(self, name):
        self.one = os.path.isdir("/sys/fs/cgroup/cpu")
        self.top = os.path.join("/sys/fs/cgroup/cpu" if self.one else "/sys/fs/cgroup", name)
        self.groups = []

    def describe(self):
        return f"cgroup v{1 if self.one else 2}: {CPU_SHARE:g} of a core a worker, period {CPU_PERIOD_US} us"

    def _write(self, group, file, text):
        with open(os.path.join(group, file), "w", encoding="ascii") as out:
            out.write(text)

    def make(self, name, limited):
        """A group that goes before everything else on the machine, within its quota when `limited`."""
        group = f"{self.top}-{name}"
        os.mkdir(group)
        self.groups.append(group)
        self._write(group, *(("cpu.shares", str(CPU_WEIGHT * 1024)) if self.one else
                             ("cpu.weight", str(CPU_WEIGHT * 100))))
        if limited:
            quota = int(CPU_SHARE * CPU_PERIOD_US)
            if self.one:
                self._write(group, "cpu.cfs_period_us", str(CPU_PERIOD_US))
                self._write(group, "cpu.cfs_quota_us", str(quota))
            else:
                self._write(group, "cpu.max", f"{quota} {CPU_PERIOD_US}")
        return group

    def join(self, name):
        """Puts the calling process into a group that was made."""
        self._write(f"{self.top}-{name}", "cgroup.procs", str(os.getpid()))

    def throttled_s(self):
        """Time for which all groups together were held back so far."""
        total = 0.0
        for group in self.groups:
            with open(os.path.join(group, "cpu.stat"), encoding="ascii") as file:
                values = dict(line.split() for line in file)
            total += int(values.get("throttled_time", 0)) / 1e9 + int(values.get("throttled_usec", 0)) / 1e6
        return total

    def remove(self):
        for group in self.groups:
            for _ in range(100):
                try:
                    os.rmdir(group)
                    break
                except OSError:
                    time.sleep(0.02)
        self.groups = []


class LabCluster:
    """Use as a context manager inside a Lab. Worker names are "w0", "w1", ... by host."""

    def __init__(self, lab, binary=None, master_args=(), worker_args=(), slots=1, network=None,
                 congestion_control=None):
        """`network`: what the master is told of the network (docs/network.md); None = nothing. `congestion_control`: of
        all data sockets; None = what workers choose by kind of send."""
        self.congestion_control = congestion_control
        self.lab, self.network = lab, network
        self.binary = binary or program("weir_lab")
        self.master_args, self.worker_args, self.slots = list(master_args), list(worker_args), slots
        self.directory = tempfile.mkdtemp(prefix="weir-netlab-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.cpu = CpuGroups(os.path.basename(self.directory))
        self.processes = []
        if network is not None:
            with open(self.path("network.json"), "w", encoding="utf-8") as file:
                json.dump(network, file)
            self.master_args += ["--network", self.path("network.json")]
        self.address = f"{lab.address('ctl')}:7117"

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def go_first(self):
        """For preexec_fn: what is started beside the master goes before everything else on the machine, as it does."""
        os.nice(NICE)
        self.cpu.join("ctl")

    def names(self):
        return [f"w{host}" for host in range(self.lab.hosts)]

    def __enter__(self):
        try:
            self._start("ctl", "master", "--listen", self.address, "--insecure", "--journal", self.path("journal.db"),
                        *self.master_args)
            for host in range(self.lab.hosts):
                work = self.path(f"work{host}")
                os.mkdir(work)
                address = self.lab.address(host)
                self._start(host, "worker", "--master", self.address, "--name", f"w{host}", "--listen", f"{address}:0",
                            "--data-listen", f"{address}:0", "--slots", str(self.slots), "--work-dir", work,
                            *(("--congestion-control", self.congestion_control) if self.congestion_control else ()),
                            "--insecure", *self.worker_args)
            self._wait_for_workers()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self, host, *args):
        self.cpu.make(str(host), limited=host != "ctl")

        def enter():
            os.setsid()
            os.nice(NICE)
            self.cpu.join(str(host))

        with open(self.path(f"{args[0]}-{host}.log"), "wb") as log:
            self.processes.append(subprocess.Popen(
                self.lab.command(host, self.binary, *args), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, TMPDIR=self.directory), preexec_fn=enter))

    def _wait_for_workers(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            dead = [p for p in self.processes if p.poll() is not None]
            if dead:
                raise ClusterError(f"a daemon ended at once:\n{self.log_text()}")
            listed = self.client("list", "workers", "--json", check=False)
            if listed.returncode == 0:
                rows = json.loads(listed.stdout)["workers"]
                if sum("ALIVE" in row["state"].upper() for row in rows) == self.lab.hosts:
                    return
            time.sleep(0.1)
        raise ClusterError(f"the workers did not register within 60 s:\n{self.log_text()}")

    def client(self, *args, check=True, timeout=300):
        """Runs a command of weir beside the master."""
        done = subprocess.run(self.lab.command("ctl", self.binary, *args, "--master", self.address),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                              env=dict(os.environ, TMPDIR=self.directory), preexec_fn=lambda: os.nice(NICE))
        if check and done.returncode != 0:
            raise ClusterError(f"weir {' '.join(args)}: {done.stderr.strip()[-2000:]}")
        return done

    def run_job(self, *args, timeout=300):
        """Submits, waits; returns (status, explained plan) as JSON and the output directory."""
        output = tempfile.mkdtemp(prefix="out-", dir=self.directory)
        os.rmdir(output)
        done = self.client("submit", *args, "-o", output, "--wait", "--json", "--quiet", timeout=timeout)
        with open(os.path.join(output, "_weir", "plan.json"), encoding="utf-8") as file:
            return json.loads(done.stdout), json.load(file), output

    def log_text(self):
        return ends_of_logs(self.directory)

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 15
        for process in self.processes:
            try:
                process.wait(timeout=max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.processes = []
        for group in self.cpu.groups:
            self._kill_rest(group)
        self.cpu.remove()
        shutil.rmtree(self.directory, ignore_errors=True)

    @staticmethod
    def _kill_rest(group):
        """What a daemon left behind (its task guards itself, but may take a moment)."""
        try:
            with open(os.path.join(group, "cgroup.procs"), encoding="ascii") as file:
                for pid in file.read().split():
                    os.kill(int(pid), signal.SIGKILL)
        except (OSError, ProcessLookupError):
            pass
