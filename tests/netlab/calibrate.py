"""Does `weir calibrate` find what the laboratory was configured with: the channel rate, the racks, the cuts."""
import json

import shuffle
from cluster import LabCluster

RATE_OFF_MAX = 0.1


def expected(lab, names):
    """Channel rate and the cuts as {workers that send: channels}."""
    if lab.kind == "total":
        return {frozenset(names): lab.core_channels}
    racks = [frozenset(n for h, n in enumerate(names) if lab.rack(h) == r) for r in (0, 1)]
    # Four transfers are all that four hosts can send: such a core limits nothing.
    return {rack: lab.core_channels for rack in racks if lab.core_channels < len(rack)}


def found_cuts(spec, names):
    """The same from a network file (docs/network.md)."""
    def side(value, other=()):
        if value == "all":
            return frozenset(names)
        return frozenset(names) - frozenset(other) if value == "rest" else frozenset(value)

    cuts = {}
    if spec.get("total_channels"):
        cuts[frozenset(names)] = spec["total_channels"]
    for rack in spec.get("racks", []):
        if rack.get("up_channels"):
            cuts[frozenset(rack["workers"])] = rack["up_channels"]
    for cut in spec.get("cuts", []):
        cuts[side(cut["from"], cut["to"] if isinstance(cut["to"], list) else ())] = cut["channels"]
    return cuts


def shown(cuts):
    return "; ".join(f"{'+'.join(sorted(s))}: {c}" for s, c in sorted(cuts.items(), key=lambda x: sorted(x[0]))) or "none"


def calibrate_one(topology, options):
    with shuffle.make_lab(topology, "128k", None, options.rate) as lab, \
            LabCluster(lab, congestion_control=options.congestion_control) as cluster:
        names = cluster.names()
        found = json.loads(cluster.client("calibrate", "--json", timeout=300).stdout)["network"]
        rate, wanted = found["channel_bytes_per_s"], lab.port_bytes_per_s()
        cuts, right = found_cuts(found["network_file"], names), expected(lab, names)
        return {"topology": topology, "configured": f"{wanted / 1e6:.2f} MB/s, {shown(right)}",
                "found": f"{rate / 1e6:.2f} MB/s, {shown(cuts)}", "rate_error": rate / wanted - 1,
                "cuts_right": cuts == right, "within": abs(rate / wanted - 1) <= RATE_OFF_MAX and cuts == right,
                "seconds": found["seconds"], "network": found}


def run(options, log):
    results = []
    if not options.has_calibrate:
        log("calibrate SKIPPED: this build has no such command")
        return [{"topology": "all", "skipped": "this build has no such command"}]
    for topology in options.topologies:
        results.append(calibrate_one(topology, options))
        r = results[-1]
        log(f"{topology:8} configured {r['configured']}; found {r['found']}: "
            f"{'within 10 %' if r['within'] else 'NOT within 10 %'} ({r['seconds']:.0f} s)")
    return results
