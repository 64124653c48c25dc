"""The rules of the data plane one by one: the same planned shuffle with one rule changed at a time.

Flags of the master that this build does not know are reported as skipped, with the reason.
"""
import statistics

import scenarios
import shuffle
from cluster import ClusterError, LabCluster
from network import LabError

BASE = {"pacing": None, "look_ahead": 16 << 10, "congestion_control": None, "piece_bytes": 0,
        "method": "planned-pieces"}
TOPOLOGY, QUEUE = "racks-2", "128k"


def changes():
    """(rule, value as shown, settings)."""
    yield "base", "the defaults, whole sections", {}
    yield "pacing", "off", {"pacing": 0}
    for part in (0.9, 0.94, 0.99):
        yield "pacing", str(part), {"pacing": part}
    for size in (0, 32 << 10, 64 << 10):
        yield "look-ahead", f"{size >> 10} KB", {"look_ahead": size}
    for control in ("reno", "cubic"):
        yield "congestion control", control, {"congestion_control": control}
    for size in (256 << 10, 128 << 10):
        yield "piece", f"{size >> 10} KB, a grant each", {"piece_bytes": size}
        yield "piece", f"{size >> 10} KB, coalesced", {"piece_bytes": size, "method": "planned"}


def master_args(settings, known_flags):
    """Flags of the master for these settings. Raises LookupError for one that it does not have."""
    args = []
    for name, flag in (("pacing", "--pacing-fraction"), ("look_ahead", "--look-ahead")):
        if settings[name] is None:
            continue
        if flag not in known_flags and settings[name] != BASE[name]:
            raise LookupError(f"this master has no flag {flag}")
        if flag not in known_flags:
            continue
        args += [flag, str(settings[name])]
    return args


def run(options, log):
    """Each change on a cluster of its own, with a base run beside it before and after."""
    results = []
    flags = options.known_flags
    scenario = scenarios.make("equal", shuffle.HOSTS, options.seed)
    for rule, value, change in changes():
        settings = {**BASE, **change}
        try:
            args = master_args(settings, flags)
        except LookupError as error:
            log(f"{rule:20} {value:12} SKIPPED: {error}")
            results.append({"rule": rule, "value": value, "skipped": str(error)})
            continue
        try:
            with shuffle.make_lab(TOPOLOGY, QUEUE, None, options.rate) as lab, \
                    LabCluster(lab, master_args=args, network=shuffle.network_of(lab),
                               congestion_control=settings["congestion_control"]) as cluster:
                matrix = scenario.scaled(shuffle.size_for(lab, scenario, options.seconds))
                input_file = shuffle.write_input(cluster, matrix, scenario)
                runs = [shuffle.run_variant(lab, cluster, matrix, scenario, settings["method"], input_file,
                                            settings["look_ahead"], settings["piece_bytes"])
                        for _ in range(options.repeats)]
        except (ClusterError, LabError, shuffle.ShuffleError) as error:
            log(f"{rule:20} {value:12} FAILED: {error}")
            results.append({"rule": rule, "value": value, "failed": str(error)})
            continue
        median = shuffle.summary(runs)
        log(f"{rule:20} {value:12} ratio {median['ratio']:.3f}, {median['retransmits']:.0f} segments again, "
            f"{statistics.median(r['transfers'] for r in runs):.0f} transfers")
        results.append({"rule": rule, "value": value, "settings": settings, "topology": TOPOLOGY, "queue": QUEUE,
                        "median": median, "runs": runs})
    return results
