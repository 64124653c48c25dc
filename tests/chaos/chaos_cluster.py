"""A master and workers as real processes on a ground; killed, stopped and started again as a scenario says.

Upstream: scenarios. Downstream: ground.py. Whatever happens, leave() ends every process that was started here.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from ground import ROOT, netlab, process_tree  # and where daemon_ends is found
from daemon_ends import crashes_of

sys.path.insert(0, os.path.join(ROOT, "tests/integration"))
from weir_process import free_port  # noqa: E402

BUILD = os.environ.get("WEIR_BUILD_DIR", os.path.join(ROOT, "build/release"))
BINARY = os.environ.get("WEIR_BINARY", os.path.join(BUILD, "runtime/app/weir"))
# What this needs to kill and to start again must come before what it disturbs.
NICE = -5
REGISTERED_WITHIN_S = 60
STOPPED_WITHIN_S = 30
# A namespace has all of its ports to itself.
NAMESPACE_PORT = 7117
# Others write to the disk while workers look at it.
ROOM_TOLD = 0.9


class ClusterError(RuntimeError):
    pass


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise ClusterError(f"not within {seconds} s: {what() if callable(what) else what}")


class Running:
    """A job that was handed in, and its client, which waits for the end."""

    def __init__(self, cluster, work, output, process, limit_s):
        self.cluster, self.work, self.output, self.process = cluster, work, output, process
        self.limit_s = limit_s
        self.began = time.monotonic()
        self.moved = cluster.ground.bytes_moved()
        self.log_at = cluster.log_size("master")

    def ended(self):
        return self.process.poll() is not None

    def finish(self):
        """Waits; returns what became of it as a dictionary (see `outcome`)."""
        try:
            out, err = self.process.communicate(timeout=max(0.1, self.limit_s - (time.monotonic() - self.began)))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return {"outcome": "stuck", "seconds": time.monotonic() - self.began, "code": None,
                    "detail": self.cluster.log_text()}
        seconds = time.monotonic() - self.began
        try:
            status = json.loads(out)
        except ValueError:
            status = {}
        found = {"seconds": seconds, "code": status.get("error", {}).get("code"), "job_id": status.get("job_id"),
                 "moved_bytes": self.cluster.ground.bytes_moved() - self.moved,
                 "worker": status.get("error", {}).get("worker")}
        found.update(self.steps())
        if self.process.returncode == 0:
            wrong = self.work.check(self.output) or self.cluster.verify(self.output)
            found.update(outcome="wrong" if wrong else "right", detail=wrong)
            self.add_plan(found)
        elif os.path.exists(self.output):
            found.update(outcome="wrong", detail=f"ended with {found['code']} and left an output")
        elif found["code"]:
            found.update(outcome="failed by name", detail=err.decode(errors="replace").strip()[-400:])
        else:
            found.update(outcome="failed without a name", detail=(out + err).decode(errors="replace")[-600:])
        shutil.rmtree(self.output, ignore_errors=True)
        if found["detail"]:  # results are kept: not where this machine had its files
            found["detail"] = found["detail"].replace(self.cluster.directory + "/", "")
        return found

    def steps(self):
        """Steps that the master saw done, how many of them more than once, and how many edits had made again, from its log."""
        seen, maps, again, maps_again, told = set(), 0, 0, 0, 0
        for line in self.cluster.log_lines("master", self.log_at):
            # Of a map of which some have their sections, reruns with numbers of their own make what the others lack.
            if line.get("msg") == "A plan was edited":
                told += int(line["steps_redone"])
            if line.get("msg") != "Step committed":
                continue
            step = (line["job"], line["step"])
            is_map = line["step"].startswith("map")
            again += step in seen
            maps_again += is_map and step in seen
            maps += is_map and step not in seen
            seen.add(step)
        return {"steps": len(seen), "steps_redone": again, "maps": maps, "maps_redone": maps_again, "steps_edited": told}

    def add_plan(self, found):
        """What the plan itself tells of its edits, where it does."""
        try:
            with open(os.path.join(self.output, "_weir", "plan.json"), encoding="utf-8") as file:
                plan = json.load(file)
        except (OSError, ValueError):
            return
        found["plan_moved_bytes"] = plan.get("moved_bytes")
        for key in ("edits", "epochs", "moved_again_bytes", "redone_steps"):
            if key in plan:
                found[f"plan_{key}"] = plan[key]


class ChaosCluster:
    """Use inside a ground. Worker i is called w<i> and has a work directory of its own, which outlives it."""

    def __init__(self, ground, directory, workers, master_args=(), slots=1, worker_args=()):
        self.ground, self.directory, self.num_workers = ground, directory, workers
        self.slots, self.master_args, self.worker_args = slots, list(master_args), list(worker_args)
        self.master_env = {}
        self.master_process = None
        self.workers = [None] * workers
        self.spawned = []  # those that were started again included
        self.outputs = 0
        port = NAMESPACE_PORT if ground.name == "namespaces" else free_port()
        self.address = f"{ground.address('ctl')}:{port}"
        network = ground.network_file()
        if network is not None:
            with open(self.path("network.json"), "w", encoding="utf-8") as file:
                json.dump(network, file)
            self.master_args += ["--network", self.path("network.json")]

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def work_dir(self, host):
        return self.path("work", f"w{host}")

    def __enter__(self):
        try:
            self.start_master()
            for host in range(self.num_workers):
                self.start_worker(host)
            self.wait_for_workers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    # -- processes -----------------------------------------------------------------------------------------------
    def _spawn(self, host, name, args, env=None):
        def enter():
            os.setsid()
            if self.ground.name == "namespaces":
                os.nice(NICE)
            self.ground.enter(host)

        full = dict(os.environ, TMPDIR=self.directory, XDG_STATE_HOME=self.path("state"), **(env or {}))
        with open(self.path(f"{name}.log"), "ab") as log:
            process = subprocess.Popen(self.ground.command(host, BINARY, *args), stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log, env=full, preexec_fn=enter)
        self.spawned.append(process)
        return process

    def start_master(self):
        self.master_process = self._spawn("ctl", "master", ["master", "--listen", self.address, "--journal",
                                                           self.path("journal.db"), *self.ground.security,
                                                           *self.master_args], self.master_env)

    def start_worker(self, host):
        os.makedirs(self.work_dir(host), exist_ok=True)
        self.workers[host] = self._spawn(host, f"w{host}", [
            "worker", "--master", self.address, "--name", f"w{host}", *self.listeners(host), "--slots", str(self.slots),
            "--work-dir", self.work_dir(host), *self.ground.security, *self.worker_args])

    def listeners(self, host):
        """Flags that say where a worker listens."""
        address = self.ground.address(host)
        return ["--listen", f"{address}:0", "--data-listen", f"{address}:0"]

    def kill(self, process):
        """kill -9 of one process alone."""
        process.kill()
        process.wait()

    def kill_worker(self, host):
        self.kill(self.workers[host])

    def terminate(self, process, seconds=STOPPED_WITHIN_S):
        """SIGTERM; returns (exit status, seconds that it took); None when it had to be killed."""
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(timeout=seconds), time.monotonic() - begin
        except subprocess.TimeoutExpired:
            self.kill(process)
            return None, time.monotonic() - begin

    def stop_worker(self, host, sign):
        """SIGSTOP or SIGCONT for a worker and its tasks: the whole host stands still."""
        for pid in process_tree(self.workers[host].pid):
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                pass

    def fail_on(self, wrong):
        """Ends the scenario where a daemon did what none may do, whatever is done to it: jobs go on without it, and show nothing."""
        for process in self.spawned:
            process.poll()
        wrong = wrong + crashes_of(self.spawned)
        self.spawned = [process for process in self.spawned if process.returncode is None]  # each is judged once
        if wrong:
            raise ClusterError("\n".join([*wrong, self.log_text()]))

    def bring_all_back(self):
        """Starts what does not run any more, and waits until all have registered. Raises where a daemon had crashed."""
        self.fail_on([])
        if self.master_process.poll() is not None:
            self.start_master()
        for host, process in enumerate(self.workers):
            if process.poll() is not None:
                self.start_worker(host)
        self.wait_for_workers()

    def stop(self):
        """Ends all. Raises where a daemon crashed, or does not end in time."""
        processes = [p for p in [*self.workers, self.master_process] if p is not None and p.poll() is None]
        groups = [member for process in processes for member in process_tree(process.pid)]
        for process in processes:
            self.stop_signal(process.pid, signal.SIGCONT)
            process.send_signal(signal.SIGTERM)
        end = time.monotonic() + STOPPED_WITHIN_S
        wrong = []
        for process in processes:
            try:
                process.wait(timeout=max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.kill(process)
                wrong.append(f"did not end on SIGTERM within {STOPPED_WITHIN_S} s: {process.args}")
        for pid in groups:  # tasks of a daemon that had to be killed; their guardians need a moment
            self.stop_signal(pid, signal.SIGKILL)
        self.fail_on(wrong)

    @staticmethod
    def stop_signal(pid, sign):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"weir" in file.read():
                    os.kill(pid, sign)
        except (OSError, ProcessLookupError):
            pass

    # -- questions -----------------------------------------------------------------------------------------------
    def client(self, *args, timeout=60):
        return subprocess.run(self.ground.command("ctl", BINARY, *args, "--master", self.address),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, env=self.client_environment())

    @staticmethod
    def binary():
        return BINARY

    def client_environment(self):
        env = dict(os.environ, TMPDIR=self.directory, XDG_STATE_HOME=self.path("state"))
        env.pop("WEIR_MASTER", None)
        return env

    def worker_states(self):
        """State by name of worker; None when the master does not answer."""
        listed = self.client("list", "workers", "--json")
        if listed.returncode != 0:
            return None
        return {row["name"]: row["state"] for row in json.loads(listed.stdout)["workers"]}

    def wait_for_workers(self):
        def all_alive():
            for process in [*self.workers, self.master_process]:
                if process.poll() is not None:
                    raise ClusterError(f"a daemon ended at once:\n{self.log_text()}")
            states = self.worker_states() or {}
            return sum(state == "alive" for state in states.values()) >= self.num_workers
        wait_until(all_alive, REGISTERED_WITHIN_S, lambda: f"all workers register:\n{self.log_text()}")

    def wait_for_room(self):
        """Until the master has been told of the room that there is by now on the workers' disks."""
        def told():
            listed = self.client("list", "workers", "--json")
            if listed.returncode != 0:
                return False
            known = {row["name"]: row["free_disk_bytes"] for row in json.loads(listed.stdout)["workers"]
                     if row["state"] == "alive"}
            return all(known.get(f"w{host}", 0) >= ROOM_TOLD * shutil.disk_usage(self.work_dir(host)).free
                       for host in range(self.num_workers))
        wait_until(told, REGISTERED_WITHIN_S, lambda: f"the master knows of free disks:\n{self.log_text()}")

    def verify(self, output):
        """None when `weir verify` finds nothing, else what it says."""
        done = subprocess.run([BINARY, "verify", output], capture_output=True, timeout=120, env=self.client_environment())
        return None if done.returncode == 0 else done.stderr.decode(errors="replace").strip()[-300:]

    def submit(self, work, *flags, limit_s=300):
        """Hands a job in; its client waits beside us."""
        self.outputs += 1
        output = self.path(f"out-{self.outputs}")
        process = subprocess.Popen(
            self.ground.command("ctl", BINARY, "submit", *work.flags(), "-o", output, "--wait", "--json", "--quiet",
                                *flags, "--master", self.address),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.client_environment())
        return Running(self, work, output, process, limit_s)

    def run(self, work, *flags, limit_s=300):
        return self.submit(work, *flags, limit_s=limit_s).finish()

    # -- logs ----------------------------------------------------------------------------------------------------
    def log_size(self, name):
        try:
            return os.path.getsize(self.path(f"{name}.log"))
        except OSError:
            return 0

    def log_lines(self, name, begin=0):
        """What a daemon logged since its log had `begin` bytes, as dictionaries."""
        with open(self.path(f"{name}.log"), "rb") as file:
            file.seek(begin)
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue

    def log_text(self):
        return netlab.ends_of_logs(self.directory)

    def left_in_work_dirs(self):
        """Files of jobs that no worker should keep any more."""
        left = []
        for host in range(self.num_workers):
            for folder, _, files in os.walk(self.work_dir(host)):
                if re.search(r"/jobs/", folder + "/"):
                    left += [os.path.join(folder, file) for file in files]
        return left

    def task_processes(self):
        """Processes of user code that still run."""
        return [pid for process in self.workers if process.poll() is None for pid in process_tree(process.pid)[1:]]
