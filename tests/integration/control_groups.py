"""Control groups of tests, version 1 or 2, below the group in which the test itself runs."""
import os
import time

ROOT = "/sys/fs/cgroup"


def own_group(controller):
    """Directory of the group of this process that limits `controller`, and the version; None where there is none."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        rows = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, path in rows:
        if controller in controllers.split(","):
            directory = os.path.join(ROOT, controllers, path.lstrip("/"))
            return (directory, 1) if os.path.isdir(directory) else None
    for _, controllers, path in rows:
        directory = os.path.join(ROOT, path.lstrip("/"))
        if not controllers and os.path.exists(os.path.join(directory, "cgroup.controllers")):
            return directory, 2
    return None


class ControlGroup:
    def __init__(self, directory, version):
        self.directory = directory
        self.version = version

    @staticmethod
    def make(test, controller):
        """A group that goes with the test, or the test is skipped with the reason."""
        if os.geteuid() != 0:
            test.skipTest("control groups need root")
        found = own_group(controller)
        if found is None:
            test.skipTest(f"no control group with {controller} is mounted here")
        parent, version = found
        group = ControlGroup(os.path.join(parent, f"weir-test-{os.getpid()}-{time.monotonic_ns()}"), version)
        try:
            os.mkdir(group.directory)
        except OSError as error:
            test.skipTest(f"cannot make a control group: {error}")
        test.addCleanup(group.remove)
        if version == 2 and not os.path.exists(group.file("cpu.max" if controller == "cpu" else "memory.max")):
            test.skipTest(f"{parent} does not hand {controller} on to groups below it")
        return group

    def file(self, name):
        return os.path.join(self.directory, name)

    def set(self, name, value):
        with open(self.file(name), "w", encoding="ascii") as file:
            file.write(str(value))

    def enter(self):
        """For preexec_fn."""
        self.set("cgroup.procs", os.getpid())

    def limit_cpu(self, cores, period_us=100_000):
        quota_us = int(cores * period_us)
        if self.version == 2:
            self.set("cpu.max", f"{quota_us} {period_us}")
        else:
            self.set("cpu.cfs_period_us", period_us)
            self.set("cpu.cfs_quota_us", quota_us)

    def limit_memory(self, limit_bytes):
        self.set("memory.max" if self.version == 2 else "memory.limit_in_bytes", limit_bytes)
        swap = "memory.swap.max" if self.version == 2 else "memory.memsw.limit_in_bytes"
        if os.path.exists(self.file(swap)):
            self.set(swap, 0 if self.version == 2 else limit_bytes)

    def remove(self):
        end = time.monotonic() + 10
        while True:
            try:
                return os.rmdir(self.directory)
            except OSError:
                # Processes that were killed take a moment to go.
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
