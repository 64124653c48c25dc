"""weir calibrate against emulated networks whose rates are known: two racks behind a core, one limited total, a slow host.

Passes when the channel rate and every limit are within 10 % of what was configured, and the racks are the racks. Prints
one JSON object a network. Needs what network.py needs; else it is SKIPPED with the reason (exit code 77).

  python3 tests/netlab/calibrate_test.py [--rate 50] [--hosts 8] [--only NAME]
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import network  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("WEIR_BINARY", os.path.join(ROOT, "build/release/runtime/app/weir"))
PORT, TOLERANCE = 7117, 0.10
GAP_MAX_S, SHARE_MIN, RESENT_MANY = 0.03, 0.5, 0.002
QUEUE_OVER = 1.5  # round trips are longer by more than one queue, and smoothed ones lag behind


class Cluster:
    """A master on the control host and a worker on every other, as processes in their namespaces."""

    def __init__(self, lab, directory):
        self.lab, self.directory, self.processes = lab, directory, []
        self.master = f"{lab.address('ctl')}:{PORT}"

    def __enter__(self):
        # Slot counts are given: eight workers share this machine's cores.
        self._start("ctl", "master", "--listen", self.master, "--insecure", "--journal",
                    os.path.join(self.directory, "journal.db"))
        for host in range(self.lab.hosts):
            address = self.lab.address(host)
            self._start(host, "worker", "--master", self.master, "--listen", f"{address}:7118", "--data-listen",
                        f"{address}:7119", "--name", f"host{host}", "--work-dir", self.directory, "--slots", "1",
                        "--no-measure", "--insecure")
        end = time.monotonic() + 30
        while time.monotonic() < end:
            done = self.weir("list", "workers", "--json")
            if done.returncode == 0 and len(json.loads(done.stdout)["workers"]) == self.lab.hosts:
                return self
            time.sleep(0.2)
        self.__exit__()
        raise RuntimeError(f"the workers did not register: {self.logs()[-2000:]}")

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()

    def _start(self, host, *args):
        log = open(os.path.join(self.directory, f"{args[0]}-{host}.log"), "ab")
        self.processes.append(subprocess.Popen(["nice", "-n", "-5", *self.lab.command(host, BINARY, *args)],
                                               stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def weir(self, *args):
        return subprocess.run(self.lab.command("ctl", BINARY, *args, "--master", self.master), capture_output=True,
                              text=True, timeout=300)

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.directory)):
            if name.endswith(".log"):
                with open(os.path.join(self.directory, name), encoding="utf-8", errors="replace") as file:
                    text += f"--- {name}\n{file.read()}"
        return text


def off(measured, configured):
    return measured / configured - 1


def check(lab, found):
    """Returns what is wrong, as sentences."""
    wrong = []
    channel = found["channel_bytes_per_s"]
    if abs(off(channel, lab.port_bytes_per_s())) > TOLERANCE:
        wrong.append(f"channel rate is off by {100 * off(channel, lab.port_bytes_per_s()):+.1f} %")
    slow = sorted(p["worker"] for p in found["ports"] if p["slow"])
    if slow != sorted(f"host{h}" for h in lab.slowdown):
        wrong.append(f"slow ports {slow}")
    most = lab.hosts // 2 if lab.kind == "racks" else lab.hosts
    visible = lab.core_mbit < lab.rate_mbit * most
    racks = sorted(sorted(rack["workers"]) for rack in found["racks"])
    expected = [] if not visible or lab.kind == "total" else \
        [[f"host{h}" for h in range(lab.hosts) if lab.rack(h) == r and h not in lab.slowdown] for r in (0, 1)]
    # A slow port hides on which side of the core it is; it must be named, and stand alone.
    alone = [[f"host{h}"] for h in lab.slowdown] if expected else []
    if any(f"the rack of {host} is not determined" not in " ".join(found["notes"]) for [host] in alone):
        wrong.append("a slow host's rack is not named as unknown")
    if racks != sorted(expected + alone):
        wrong.append(f"racks {racks}")
    if not visible and found["cuts"]:
        wrong.append(f"limits where there is none: {[c['name'] for c in found['cuts']]}")
    if visible and len(found["cuts"]) != (1 if lab.kind == "total" else 4):
        wrong.append(f"limits {[c['name'] for c in found['cuts']]}")
    for cut in found["cuts"] if visible else []:
        if abs(off(cut["bytes_per_s"], lab.core_bytes_per_s())) > TOLERANCE:
            wrong.append(f"{cut['name']} is off by {100 * off(cut['bytes_per_s'], lab.core_bytes_per_s()):+.1f} %")
        if cut["channels"] != max(1, round(lab.core_mbit / lab.rate_mbit)):
            wrong.append(f"{cut['name']} has {cut['channels']} channels")
    return wrong + check_sharing(lab, found, visible)


def check_sharing(lab, found, visible):
    """What order and sharing cost: nobody configured it, but there are limits to what can be true."""
    wrong = []
    sharing, spec = found["sharing"], found["network_file"]
    if not 0 < sharing["transfer_gap_s"] <= GAP_MAX_S:
        wrong.append(f"a gap of {1e3 * sharing['transfer_gap_s']:.2f} ms")
    fractions = {"port": sharing["port_fraction"], **({"cut": sharing["cut_fraction"]} if visible else {})}
    wrong += [f"{name}s carry {share:.3f} of their rate without order" for name, share in fractions.items()
              if not SHARE_MIN <= share <= 1]
    again = sharing["segments_resent"] / max(1, sharing["segments_sent"])
    # Eight senders begin with ten segments each: more than 32 KB hold, less than 1 MB.
    if lab.queue_bytes >= 1 << 20 and again > RESENT_MANY or lab.queue_bytes <= 32 << 10 and again < RESENT_MANY:
        wrong.append(f"{sharing['segments_resent']} of {sharing['segments_sent']} segments sent again with queues of "
                     f"{lab.queue_bytes >> 10} KB")
    # A port's queue may not be filled, but no more can be in it (and in the core's before it).
    if sharing["port_queue_bytes"] > QUEUE_OVER * 2 * lab.queue_bytes:
        wrong.append(f"queues of {sharing['port_queue_bytes'] / 1024:.0f} KB")
    for field, value in (("transfer_gap_s", sharing["transfer_gap_s"]), ("sharing_fraction", sharing["port_fraction"])):
        if abs(spec.get(field, 0) - value) > 1e-12:
            wrong.append(f"the network file has {field} {spec.get(field)}")
    return wrong


def run(name, rate_mbit, hosts, **options):
    directory = tempfile.mkdtemp(prefix="weir-calibrate-")
    try:
        with network.Lab(hosts=hosts, rate_mbit=rate_mbit, **options) as lab, Cluster(lab, directory) as cluster:
            done = cluster.weir("calibrate", "--json", "--quiet")
            if done.returncode != 0:
                return {"name": name, "wrong": [f"exit code {done.returncode}: {done.stderr}"], "logs": cluster.logs()}
            found = json.loads(done.stdout)["network"]
            result = {"name": name, "lab": lab.describe(), "wrong": check(lab, found),
                      "channel_off": round(off(found["channel_bytes_per_s"], lab.port_bytes_per_s()), 4),
                      "latency_ms": round(1e3 * found["latency_s"], 3), "seconds": round(found["seconds"], 1),
                      "cuts": {c["name"]: round(c["measured_channels"], 2) for c in found["cuts"]},
                      "racks": [r["workers"] for r in found["racks"]],
                      "slow": [p["worker"] for p in found["ports"] if p["slow"]], "notes": found["notes"],
                      "sharing": {k: round(v, 5) for k, v in found["sharing"].items()}}
            if result["wrong"]:
                result["found"] = found
            return result
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=50, help="Mbit/s of a port")
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--only", help="run networks whose name matches this expression")
    parser.add_argument("--times", type=int, default=1)
    args = parser.parse_args()
    reason = network.check()
    if reason is not None:
        print(f"SKIPPED: {reason}")
        return 77
    rate = args.rate
    networks = {f"racks-{l}": {"kind": "racks", "core_mbit": l * rate} for l in (4, 2, 1)}
    networks.update({f"total-{l}": {"kind": "total", "core_mbit": l * rate} for l in (4, 2, 1)})
    networks.update({f"racks-2-{k}k": {"kind": "racks", "core_mbit": 2 * rate, "queue_bytes": k << 10}
                     for k in (32, 1024)})
    networks["racks-2-slow"] = {"kind": "racks", "core_mbit": 2 * rate, "slowdown": {3: 4}}
    failed = []
    for name, options in networks.items():
        if args.only and not re.search(args.only, name):
            continue
        for _ in range(args.times):
            result = run(name, rate, args.hosts, **options)
            print(json.dumps(result), flush=True)
            if result["wrong"]:
                failed.append(name)
    print("calibrate_test:", f"FAILED: {', '.join(failed)}" if failed else "OK")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
