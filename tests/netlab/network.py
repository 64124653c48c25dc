"""Hosts as network namespaces on one machine, with links and a core of limited rate.

Topologies:
  racks   two switches joined by a core link limited per direction; hosts are split evenly over both
  total   one switch; all traffic together limited (through an ifb device)
Every host has one port limited in both directions. One more namespace, "ctl", is on the first switch without a limit:
master and client run there, so that control messages do not queue behind data.

Needs root and: ip netns, veth, bridge, tbf; for "total" also ifb and mirred. netem is not used. check() says what is
missing, so that a test can be reported as skipped with the reason.
"""
import os
import subprocess
import uuid

MBIT = 1_000_000 / 8
MSS, FRAME = 1448, 1514  # payload and size on the wire of a full segment: what a rate in bytes of frames carries

SOCKET_TABLE = 1024  # entries of a host's table of connected sockets


class LabError(RuntimeError):
    pass


def _run(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"{' '.join(args)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def burst_bytes(mbit):
    """Bytes of a quarter millisecond, at least two frames: small, so that the limit is smooth."""
    return max(3200, int(mbit * MBIT / 4000))


def check():
    """Returns None when a laboratory can be built here, else the reason."""
    if os.geteuid() != 0:
        return "needs root to make network namespaces"
    try:
        with Lab(hosts=2, kind="racks", rate_mbit=100, core_mbit=100):
            pass
    except (LabError, FileNotFoundError) as error:
        return str(error)
    return None


class Lab:
    """Builds on entry, removes on exit. Host i has address(i); names carry a random prefix, so two can coexist."""

    def __init__(self, hosts=8, kind="racks", rate_mbit=100, core_mbit=400, queue_bytes=131072, slowdown=None,
                 congestion_control="reno"):
        if kind not in ("racks", "total"):
            raise ValueError(f"kind '{kind}': use racks or total")
        self.hosts, self.kind = hosts, kind
        self.rate_mbit, self.core_mbit, self.queue_bytes = rate_mbit, core_mbit, queue_bytes
        self.slowdown = slowdown or {}
        self.congestion_control = congestion_control
        self.prefix = "w" + uuid.uuid4().hex[:4]
        self.namespaces = []

    # -- names --------------------------------------------------------------------------------------------------
    def namespace(self, host):
        return f"{self.prefix}h{host}"

    def address(self, host):
        return "10.77.0.250" if host == "ctl" else f"10.77.0.{host + 1}"

    def rack(self, host):
        return 0 if self.kind == "total" or host == "ctl" or host < self.hosts // 2 else 1

    def command(self, host, *args):
        """The command line that runs `args` on a host."""
        # Not "ip netns exec": that hides the control groups, and workers look up their CPU quota there.
        return ["nsenter", f"--net=/var/run/netns/{self.namespace(host)}", *args]

    # -- limits in payload bytes per second ---------------------------------------------------------------------
    def port_bytes_per_s(self, host=None):
        return self.rate_mbit * MBIT * MSS / FRAME / self.slowdown.get(host, 1)

    def core_bytes_per_s(self):
        return self.core_mbit * MBIT * MSS / FRAME

    @property
    def core_channels(self):
        """l: full-rate transfers that the core carries at once, per direction (racks) or in all (total)."""
        return max(1, round(self.core_mbit / self.rate_mbit))

    # -- building -----------------------------------------------------------------------------------------------
    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.namespaces:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        self.namespaces = []

    def _add_namespace(self, name):
        # A host made by a switch has a socket table of its own, where the kernel can (6.1): of the machine's, which is long,
        # all is walked each time the observer asks for a host's sockets. "ip netns exec" would hide the new name.
        made_by = ["nsenter", f"--net=/var/run/netns/{self.namespaces[0]}"] if self.namespaces else []
        _run(*made_by, "ip", "netns", "add", name)
        self.namespaces.append(name)
        self._in(name, "ip", "link", "set", "lo", "up")

    def _in(self, namespace, *args):
        return _run("ip", "netns", "exec", namespace, *args)

    def _tbf(self, namespace, device, mbit, limit):
        self._in(namespace, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{mbit}mbit", "burst",
                 str(burst_bytes(mbit)), "limit", str(limit))

    def _no_offload(self, namespace, device):
        # Segments must reach the token bucket one by one, or a burst of 64 KB hides the queue.
        self._in(namespace, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off")

    def _build(self):
        switches = [f"{self.prefix}s0"] + ([f"{self.prefix}s1"] if self.kind == "racks" else [])
        for switch in switches:
            self._add_namespace(switch)
            if os.path.exists("/proc/sys/net/ipv4/tcp_child_ehash_entries"):
                self._in(switch, "sysctl", "-qw", f"net.ipv4.tcp_child_ehash_entries={SOCKET_TABLE}")
            self._in(switch, "ip", "link", "add", "br0", "type", "bridge")
            self._in(switch, "ip", "link", "set", "br0", "up")
        if self.kind == "racks":
            self._join_racks(switches)
        else:
            self._in(switches[0], "ip", "link", "add", "core", "type", "ifb")
            self._in(switches[0], "ip", "link", "set", "core", "up")
            self._tbf(switches[0], "core", self.core_mbit, self.queue_bytes)
        for host in [*range(self.hosts), "ctl"]:
            self._add_host(host, switches[self.rack(host)])

    def _join_racks(self, switches):
        _run("ip", "link", "add", "core", "netns", switches[0], "type", "veth", "peer", "name", "core", "netns",
             switches[1])
        for switch in switches:
            self._in(switch, "ip", "link", "set", "core", "master", "br0", "up")
            self._no_offload(switch, "core")
            self._tbf(switch, "core", self.core_mbit, self.queue_bytes)

    def _add_host(self, host, switch):
        name, port = self.namespace(host), f"p{host}"
        self._add_namespace(name)
        _run("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", port, "netns", switch)
        self._in(name, "ip", "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
        self._in(name, "ip", "link", "set", "eth0", "up")
        self._in(switch, "ip", "link", "set", port, "master", "br0", "up")
        self._no_offload(name, "eth0")
        self._no_offload(switch, port)
        self._in(name, "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={self.congestion_control}",
                 "net.ipv4.tcp_no_metrics_save=1")
        if host == "ctl":
            return
        mbit = self.rate_mbit / self.slowdown.get(host, 1)
        self._tbf(name, "eth0", mbit, 1_000_000)
        self._tbf(switch, port, mbit, self.queue_bytes)
        if self.kind == "total":
            self._in(switch, "tc", "qdisc", "add", "dev", port, "ingress")
            self._in(switch, "tc", "filter", "add", "dev", port, "parent", "ffff:", "protocol", "ip", "prio", "1",
                     "u32", "match", "u32", "0", "0", "action", "mirred", "egress", "redirect", "dev", "core")

    # -- measuring ----------------------------------------------------------------------------------------------
    def retransmits(self):
        """Segments sent again so far, all hosts together."""
        total = 0
        for host in range(self.hosts):
            lines = [l.split() for l in self._in(self.namespace(host), "cat", "/proc/net/snmp").split("\n")
                     if l.startswith("Tcp:")]
            total += int(lines[1][lines[0].index("RetransSegs")])
        return total

    def describe(self):
        return {"kind": self.kind, "hosts": self.hosts, "rate_mbit": self.rate_mbit, "core_mbit": self.core_mbit, "core_channels": self.core_channels,
                "queue_bytes": self.queue_bytes, "slowdown": {str(k): v for k, v in self.slowdown.items()},
                "congestion_control": self.congestion_control, "rate_limiter": "tbf"}
