"""Where a chaos run takes place: hosts as network namespaces with links of a limited rate, or plain loopback.

Upstream: chaos_cluster.py. Downstream: tests/netlab (Lab, CpuGroups). A ground says what it can do to a host, and every
scenario that needs more than it has is reported as left out, with the reason.
"""
import os
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/integration"))
sys.path.insert(0, os.path.join(ROOT, "tests/netlab"))
import cluster as netlab  # noqa: E402
import network  # noqa: E402

LINK_MBIT, CORE_MBIT, QUEUE_BYTES = 100, 400, 128 << 10
# The smallest quota that a kernel takes is 1 ms, so a tenth of a share needs a longer period.
SLOW_PERIOD_US = 50_000
NOBODYS_CARD = "02:de:ad:00:00:01"


class NotHere(Exception):
    """What a scenario needs is not to be had on this ground."""


def quietly(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(args)}: {(done.stderr or done.stdout).strip()}")


def process_tree(pid):
    """A process and all that descend from it."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rsplit(b")", 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


class Namespaces:
    """Hosts with links of 100 Mbit/s in two racks, each worker with a share of a core. Needs root."""

    name = "namespaces"
    security = ("--insecure",)

    def __init__(self, hosts, directory):
        self.hosts = hosts
        self.lab = network.Lab(hosts=hosts, kind="racks", rate_mbit=LINK_MBIT, core_mbit=CORE_MBIT,
                               queue_bytes=QUEUE_BYTES)
        self.cpu = netlab.CpuGroups(os.path.basename(directory))
        self.groups = {}
        self.cut = set()

    def __enter__(self):
        self.lab.__enter__()
        try:
            for host in [*range(self.hosts), "ctl"]:
                self.groups[host] = self.cpu.make(str(host), limited=host != "ctl")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.cpu.remove()
        self.lab.__exit__()

    def describe(self):
        return {"ground": self.name, "link_mbit": LINK_MBIT, "core_mbit": CORE_MBIT, "cpu": self.cpu.describe(),
                "congestion_control": "reno", "rate_limiter": "tbf"}

    def network_file(self):
        import shuffle  # pylint: disable=import-outside-toplevel
        return shuffle.network_of(self.lab)

    def command(self, host, *args):
        return self.lab.command(host, *args)

    def enter(self, host):
        """What a process of a host does before it becomes that."""
        with open(os.path.join(self.groups[host], "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def address(self, host):
        return self.lab.address(host)

    def bytes_moved(self):
        """Bytes that all workers' hosts have received so far."""
        total = 0
        for host in range(self.hosts):
            out = subprocess.run(["ip", "netns", "exec", self.lab.namespace(host), "cat",
                                  "/sys/class/net/eth0/statistics/rx_bytes"], capture_output=True, text=True, check=True)
            total += int(out.stdout)
        return total

    def slow_cpu(self, host, share, _pid):
        """Gives a host `share` of the processor time that it had."""
        quota = int(netlab.CPU_SHARE * share * SLOW_PERIOD_US)
        self._quota(host, SLOW_PERIOD_US, quota)

    def full_cpu(self, host):
        self._quota(host, netlab.CPU_PERIOD_US, int(netlab.CPU_SHARE * netlab.CPU_PERIOD_US))

    def _quota(self, host, period_us, quota_us):
        values = ([("cpu.cfs_quota_us", "-1"), ("cpu.cfs_period_us", str(period_us)), ("cpu.cfs_quota_us", str(quota_us))]
                  if self.cpu.one else [("cpu.max", f"{quota_us} {period_us}")])
        for file, text in values:
            with open(os.path.join(self.groups[host], file), "w", encoding="ascii") as out:
                out.write(text)

    def link_rate(self, host, share):
        """Sets both directions of a host's link to `share` of their rate."""
        mbit = LINK_MBIT * share
        burst = str(max(3200, int(mbit * network.MBIT / 4000)))
        switch = f"{self.lab.prefix}s{self.lab.rack(host)}"
        for space, device, limit in ((self.lab.namespace(host), "eth0", 1_000_000), (switch, f"p{host}", QUEUE_BYTES)):
            quietly("ip", "netns", "exec", space, "tc", "qdisc", "change", "dev", device, "root", "tbf", "rate",
                    f"{mbit}mbit", "burst", burst, "limit", str(limit))

    def drop(self, host, sender=None):
        """From now on nothing that `sender` (None: anybody) sends reaches the host; nobody is told.

        The sender's table of neighbours gets an address that no card has: needs no firewall and no module.
        """
        others = [other for other in [*range(self.hosts), "ctl"] if other != host]
        for other in (others if sender is None else [sender]):
            self._neighbour(other, "replace", host, "lladdr", NOBODYS_CARD, "nud", "permanent")
            self.cut.add((other, host))

    def _neighbour(self, host, verb, other, *what):
        quietly("ip", "-n", self.lab.namespace(host), "neigh", verb, self.lab.address(other), *what, "dev", "eth0")

    def heal(self):
        for sender, host in self.cut:
            self._neighbour(sender, "del", host)
        self.cut = set()


class Loopback:
    """All on 127.0.0.1, without limits: what is left where root is not at hand. Also what a proxy between workers needs."""

    name = "loopback"
    security = ()

    def __init__(self, hosts, _directory):
        self.hosts = hosts
        self.slowed = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in list(self.slowed):
            self.full_cpu(host)

    def describe(self):
        return {"ground": self.name, "link_mbit": None}

    def network_file(self):
        return None

    def command(self, _host, *args):
        return list(args)

    def enter(self, _host):
        pass

    def address(self, _host):
        return "127.0.0.1"

    def bytes_moved(self):
        with open("/sys/class/net/lo/statistics/rx_bytes", encoding="ascii") as file:
            return int(file.read())

    def slow_cpu(self, host, share, pid):
        """Stops and continues the worker and its tasks, so that they run for `share` of the time."""
        over = threading.Event()

        def beat():
            while not over.is_set():
                for sign, pause in (("STOP", (1 - share) / 10), ("CONT", share / 10)):
                    for member in process_tree(pid):
                        try:
                            os.kill(member, getattr(__import__("signal"), "SIG" + sign))
                        except ProcessLookupError:
                            pass
                    time.sleep(pause)

        thread = threading.Thread(target=beat, daemon=True)
        self.slowed[host] = (over, thread)
        thread.start()

    def full_cpu(self, host):
        over, thread = self.slowed.pop(host)
        over.set()
        thread.join()

    def link_rate(self, _host, _share):
        raise NotHere("a link of its own for each host needs network namespaces, and those need root")

    def drop(self, _host, _sender=None):
        raise NotHere("cutting hosts off needs network namespaces, and those need root")

    def heal(self):
        pass


def choose(wanted):
    """The ground that was asked for, or the best there is, and why it is not a better one."""
    if wanted == "loopback":
        return Loopback, "asked for"
    reason = network.check()
    if reason is None:
        return Namespaces, "root is at hand"
    if wanted == "namespaces":
        sys.exit(f"tests/chaos/run: no namespaces here: {reason}")
    return Loopback, reason
