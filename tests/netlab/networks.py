"""What the planner is told of a laboratory's network: what `weir calibrate` finds there, or what it was configured with."""
import json
import os
import sys

from cluster import LabCluster
from network import Lab

CALIBRATED, CONFIGURED = "calibrated", "configured"


def key_of(lab):
    return f"{lab.kind}-{lab.core_channels} {lab.queue_bytes >> 10}k {lab.rate_mbit:g}"


class Networks:
    """Calibrates each topology and queue once. `file` keeps what was found, for later runs at the same rate."""

    def __init__(self, kind=CONFIGURED, file=None, master_args=(), congestion_control=None):
        self.kind, self.file, self.found = kind, file, {}
        self.master_args, self.congestion_control = list(master_args), congestion_control
        if file and os.path.exists(file):
            with open(file, encoding="utf-8") as text:
                self.found = json.load(text)

    def of(self, lab, configured):
        """The network file of a laboratory that has not been entered yet. Hosts of another rate are no part of what is
        calibrated: their ports are added as they were configured, since a calibration cannot tell their racks."""
        if self.kind == CONFIGURED:
            return configured
        key = key_of(lab)
        if key not in self.found:
            self.found[key] = self.calibrate(lab)
            self.save()
        spec = dict(self.found[key])
        if lab.slowdown:
            spec["port_bytes_per_s"] = configured["port_bytes_per_s"]
        return spec

    def calibrate(self, lab):
        plain = Lab(hosts=lab.hosts, kind=lab.kind, rate_mbit=lab.rate_mbit, core_mbit=lab.core_mbit,
                    queue_bytes=lab.queue_bytes)
        with plain, LabCluster(plain, master_args=self.master_args,
                               congestion_control=self.congestion_control) as cluster:
            found = json.loads(cluster.client("calibrate", "--json", "--quiet", timeout=300).stdout)["network"]
        sharing = found["sharing"]
        print(f"calibrated {key_of(lab)}: {found['channel_bytes_per_s'] / 1e6:.3f} MB/s, gap "
              f"{1e3 * sharing['transfer_gap_s']:.2f} ms, without order {sharing['port_fraction']:.3f} of ports and "
              f"{sharing['cut_fraction']:.3f} of cuts, {sharing['segments_resent']} of {sharing['segments_sent']} segments "
              f"sent again, {found['seconds']:.0f} s", file=sys.stderr, flush=True)
        return found["network_file"]

    def save(self):
        if self.file:
            with open(self.file, "w", encoding="utf-8") as text:
                json.dump(self.found, text, indent=1)
