"""Reduction of Weir beside Open MPI and MPICH between the same namespaces, in turns.

Each contender is a program of one process a host that carries out the same list of calls (reduce_member.cc, reduce_mpi.c). A
call's time is from the last rank's begin to the last rank's end, on the clock that all namespaces share. See README.md.
"""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import network

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("WEIR_LAB_BUILD", os.path.join(ROOT, "build/release"))
NICE = -5
LARGE_BYTES = 4 << 20  # beyond which a call takes so long that it is made less often
MPICH_TRIES = 4  # its launcher dies now and then with SIGPIPE

# Algorithms that can be forced, by what the libraries call them; "" is their own choice.
OPENMPI = {
    "reduce": {1: "linear", 2: "chain", 3: "pipeline", 4: "binary", 5: "binomial", 7: "rabenseifner"},
    "allreduce": {2: "nonoverlapping", 3: "recursive doubling", 4: "ring", 5: "segmented ring", 6: "rabenseifner"},
}
MPICH = {
    "reduce": ["binomial", "reduce_scatter_gather"],
    "allreduce": ["recursive_doubling", "reduce_scatter_allgather"],
}


class Missing(RuntimeError):
    pass


def missing_programs():
    """Returns what has to be installed or built first, or None."""
    for name in ("mpirun.openmpi", "mpicc.openmpi", "mpirun.mpich", "mpicc.mpich"):
        if shutil.which(name) is None:
            return f"{name} is not there: apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev"
    for name in ("tests/netlab/weir_lab_reduce", "runtime/app/weir"):
        if not os.path.exists(os.path.join(BUILD, name)):
            return f"{os.path.join(BUILD, name)} is not there: build the targets weir and weir_lab_reduce"
    return None


class Session:
    """One laboratory with a master in it, and the three programs."""

    def __init__(self, hosts, rate_mbit, latency_s, master_args=(), spins=False):
        self.lab = network.Lab(hosts=hosts, kind="racks", rate_mbit=rate_mbit, core_mbit=rate_mbit * max(2, hosts))
        self.hosts, self.latency_s, self.master_args = hosts, latency_s, master_args
        self.directory = tempfile.mkdtemp(prefix="weir-reduce-lab-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.spins = spins  # MPI as it comes
        self.master, self.groups = None, 0

    def path(self, name):
        return os.path.join(self.directory, name)

    def __enter__(self):
        try:
            self.lab.__enter__()
            for name in ("openmpi", "mpich"):
                subprocess.run([f"mpicc.{name}", "-O2", "-o", self.path(name), os.path.join(HERE, "reduce_mpi.c")], check=True)
            subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", self.path("wait.so"),
                            os.path.join(HERE, "reduce_wait.c")], check=True)
            self._write_agent()
            with open(self.path("network.json"), "w", encoding="utf-8") as file:
                json.dump({"schema": 1, "channel_bytes_per_s": self.lab.port_bytes_per_s(), "latency_s": self.latency_s}, file)
            self.address = f"{self.lab.address('ctl')}:7117"
            with open(self.path("master.log"), "wb") as log:
                self.master = subprocess.Popen(
                    self.lab.command("ctl", os.path.join(BUILD, "runtime/app/weir"), "master", "--listen", self.address,
                                     "--insecure", "--journal", self.path("journal.db"), "--network",
                                     self.path("network.json"), *self.master_args),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=lambda: os.nice(NICE))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.master is not None:
            self.master.send_signal(signal.SIGTERM)
            try:
                self.master.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.master.kill()
                self.master.wait()
        self.lab.__exit__()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _write_agent(self):
        """What the launchers take for ssh: enters the namespace of an address, under a host name of its own."""
        with open(self.path("agent"), "w", encoding="ascii") as file:
            file.write("#!/bin/bash\nset -u\nwhile [[ $1 == -* ]]; do shift; done\naddress=$1; shift\n"
                       "n=$(( ${address##*.} - 1 ))\n"
                       f"exec nsenter --net=/var/run/netns/{self.lab.prefix}h$n unshare --uts "
                       "bash -c \"hostname lab$n; $*\"\n")
        os.chmod(self.path("agent"), 0o755)

    # -- contenders ---------------------------------------------------------------------------------------------
    def run(self, contender, calls, timeout):
        """Runs the calls with 'weir', 'openmpi', 'mpich', or one of the two with ':kind:algorithm'. Returns its lines."""
        name, _, forced = contender.partition(":")
        if name == "weir":
            return self._weir(calls, timeout)
        for _ in range(MPICH_TRIES):
            lines = self._mpi(name, forced, calls, timeout)
            if lines is not None:
                return lines
        raise RuntimeError(f"{contender} ended without results {MPICH_TRIES} times:\n{self.last_error[-2000:]}")

    def _weir(self, calls, timeout):
        self.groups += 1
        running = []
        for host in range(self.hosts):
            running.append(subprocess.Popen(
                self.lab.command(host, os.path.join(BUILD, "tests/netlab/weir_lab_reduce"), self.address,
                                 f"g{self.groups}", str(self.hosts), str(host), self.lab.address(host), *calls),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                preexec_fn=lambda: os.nice(NICE)))
        lines, errors = [], []
        try:
            for process in running:
                out, error = process.communicate(timeout=timeout)
                lines += out.splitlines()
                if process.returncode != 0:
                    errors.append(error)
        finally:
            for process in running:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        if errors:
            raise RuntimeError("weir:\n" + "".join(errors)[-2000:])
        return [json.loads(line) for line in lines]

    def _mpi(self, name, forced, calls, timeout):
        addresses = [self.lab.address(host) for host in range(self.hosts)]
        kind, _, algorithm = forced.partition(":")
        env = dict(os.environ)
        if name == "openmpi":
            command = ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "-np", str(self.hosts), "--host",
                       ",".join(f"{a}:1" for a in addresses)]
            settings = {"plm_rsh_agent": self.path("agent"), "plm_rsh_no_tree_spawn": "1", "pml": "ob1", "btl": "tcp,self",
                        "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0", "mpi_yield_when_idle": "1"}
            if forced:
                settings["coll_tuned_use_dynamic_rules"] = "1"
                settings[f"coll_tuned_{kind}_algorithm"] = algorithm
                if algorithm in ("2", "3", "4", "5"):  # those that know segments
                    settings[f"coll_tuned_{kind}_algorithm_segmentsize"] = "65536"
            for key, value in settings.items():
                command += ["--mca", key, value]
        else:
            command = ["mpirun.mpich", "-launcher", "rsh", "-launcher-exec", self.path("agent"), "-iface", "eth0", "-np",
                       str(self.hosts), "-hosts", ",".join(addresses)]
            env.update(UCX_TLS="tcp,self", UCX_NET_DEVICES="eth0", MPIR_CVAR_NOLOCAL="1")
            if forced:
                env[f"MPIR_CVAR_{kind.upper()}_INTRA_ALGORITHM"] = algorithm
        program = [self.path(name)] if self.spins else ["env", f"LD_PRELOAD={self.path('wait.so')}", self.path(name)]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
            # A group of its own: whatever the launcher leaves behind ends with it.
            process = subprocess.Popen(self.lab.command("ctl", *command, *program, *calls), env=env,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=error, start_new_session=True,
                                       preexec_fn=lambda: os.nice(NICE))
            finished = 0
            end = time.monotonic() + timeout
            try:
                while finished < self.hosts and process.poll() is None and time.monotonic() < end:
                    time.sleep(0.05)
                    finished = os.pread(out.fileno(), 1 << 22, 0).count(b'"finished"')
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
                self._end_rest(name)
            out.seek(0)
            error.seek(0)
            self.last_error = error.read()
            text = out.read()
            lines = []
            for line in text.splitlines():
                try:
                    lines.append(json.loads(line))
                except ValueError:
                    pass
        if text.count('"finished"') < self.hosts:
            return None
        return [line for line in lines if "call" in line]

    def _end_rest(self, name):
        """Ranks and launch daemons that outlived their launcher: those inside this laboratory's namespaces."""
        if not any(True for _ in self._pids_inside()):
            return
        time.sleep(0.3)
        for pid in self._pids_inside():
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                command = file.read()
            if self.path(name).encode() in command or b"orted" in command or b"hydra" in command:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def _pids_inside(self):
        for host in range(self.hosts):
            listed = subprocess.run(["ip", "netns", "pids", self.lab.namespace(host)], capture_output=True, text=True)
            for pid in listed.stdout.split():
                if os.path.exists(f"/proc/{pid}"):
                    yield int(pid)


def seconds_of(lines, call, size):
    """By repeat: (seconds, predicted, method); None when a rank's line is missing."""
    by_repeat = {}
    for line in lines:
        if line["call"] == call:
            by_repeat.setdefault(line["repeat"], []).append(line)
    found = []
    for repeat in sorted(by_repeat):
        ranks = by_repeat[repeat]
        if len(ranks) != size:
            return None
        if not all(line["right"] for line in ranks):
            raise RuntimeError(f"a wrong result: {ranks[0]}")
        found.append({"s": max(l["end_s"] for l in ranks) - max(l["begin_s"] for l in ranks),
                      "skew_s": max(l["begin_s"] for l in ranks) - min(l["begin_s"] for l in ranks),
                      "predicted_s": max(l.get("predicted_s", 0) for l in ranks),
                      "plan_s": max(l.get("plan_s", 0) for l in ranks), "method": ranks[0].get("method", "")})
    return found


def calls_of(kinds, sizes, operations, bytes_per_s):
    """The calls of one run: small ones several times, of which the first does not count."""
    calls = []
    for kind in kinds:
        for size in sizes:
            for operation in operations:
                repeats = 6 if size <= 65536 else 2 if size <= 1 << 20 else 1
                cost = 8 / bytes_per_s if operation == "costly" else 0
                calls.append({"kind": kind, "bytes": size, "operation": operation, "seconds_per_element": cost,
                              "repeats": repeats, "dropped": 1 if repeats > 1 else 0})
    return calls


def argument(call):
    return f"{call['kind']}:{call['bytes']}:{call['operation']}:{call['seconds_per_element']:.9g}:{call['repeats']}"


def measure(hosts, args, kinds, sizes, operations, rows):
    """Runs all contenders in turns on one laboratory and appends a row a call and contender. Returns what failed of weir's: what a
    library cannot do here is left out, weir is to do all."""
    failed = []
    with Session(hosts, args.rate, args.latency, spins=args.spins) as session:
        # Both ends of a link pay for acknowledgements too: what a full transfer is paced at.
        bytes_per_s = session.lab.port_bytes_per_s() * 0.97
        # Connections, and the kernel's idea of each, are warm before anything counts.
        warm = [{"kind": k, "bytes": 65536, "operation": "sum", "seconds_per_element": 0, "repeats": 2, "dropped": 2}
                for k in kinds]
        found = {}
        for turn in range(args.repeats):
            for contender in args.contenders:
                name, _, forced = contender.partition(":")
                mine = [k for k in kinds if not forced or forced.startswith(k + ":")]
                calls = [c for c in warm + calls_of(kinds, sizes, operations, bytes_per_s) if c["kind"] in mine]
                if forced:
                    if turn >= args.forced_repeats:
                        continue
                    calls = [c for c in calls if c["bytes"] >= 65536]
                if turn >= args.large_repeats:
                    calls = [c for c in calls if c["bytes"] <= LARGE_BYTES]
                if not calls:
                    continue
                begin = time.monotonic()
                try:
                    lines = session.run(contender, [argument(c) for c in calls], args.timeout)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    print(f"p={hosts} {contender}: {str(error)[-600:]}", file=sys.stderr)
                    if name == "weir":
                        failed.append(f"p={hosts} turn {turn}: {str(error)[-600:]}")
                    continue
                for index, call in enumerate(calls):
                    seconds = seconds_of(lines, index, hosts)
                    if name == "weir" and (seconds is None or len(seconds) != call["repeats"]):
                        failed.append(f"p={hosts} turn {turn}: not all ranks told of all repeats of {argument(call)}")
                    if seconds is None:
                        continue
                    key = (contender, call["kind"], call["bytes"], call["operation"])
                    found.setdefault(key, []).extend(seconds[call["dropped"]:])
                print(f"p={hosts} turn {turn} {contender}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
        for (contender, kind, size, operation), runs in found.items():
            if runs:
                rows.append({"p": hosts, "contender": contender, "kind": kind, "bytes": size, "operation": operation,
                             "median_s": statistics.median(r["s"] for r in runs), "seconds": [round(r["s"], 6) for r in runs],
                             "skew_s": round(statistics.median(r["skew_s"] for r in runs), 6),
                             # Each turn is a group of its own, which has measured its own network.
                             "predicted_s": statistics.median(r["predicted_s"] for r in runs), "plan_s": runs[0]["plan_s"], "method": runs[-1]["method"]})
    return failed


def forced_contenders(kinds):
    names = [f"openmpi:{k}:{a}" for k in kinds for a in OPENMPI[k]]
    return names + [f"mpich:{k}:{a}" for k in kinds for a in MPICH[k]]
