"""The time that no schedule of a shuffle can beat: every port and cut must carry its bytes after their release.

Computed from payload bytes per second, apart from the planner's own bounds, so that the two check each other.
"""


def resources(lab):
    """(name, bytes per second, sender set, receiver set) of every port and cut of the laboratory."""
    everyone = set(range(lab.hosts))
    found = []
    for host in everyone:
        rate = lab.port_bytes_per_s(host)
        found.append((f"send port {host}", rate, {host}, everyone))
        found.append((f"receive port {host}", rate, everyone, {host}))
    if lab.kind == "total":
        found.append(("total", lab.core_bytes_per_s(), everyone, everyone))
    else:
        for rack in (0, 1):
            inside = {h for h in everyone if lab.rack(h) == rack}
            found.append((f"core from rack {rack}", lab.core_bytes_per_s(), inside, everyone - inside))
    return found


def earliest_end(lab, rate, volumes, ready_s):
    """When a resource of `rate` can have carried volumes[j] of each sender j at the earliest: until then it works at
    most at the rate of the send ports that are released."""
    senders = sorted((j for j in volumes if volumes[j]), key=lambda j: ready_s[j])
    left = sum(volumes.values())
    released = 0.0
    for position, j in enumerate(senders):
        released += lab.port_bytes_per_s(j)
        able = min(rate, released)
        following = ready_s[senders[position + 1]] if position + 1 < len(senders) else float("inf")
        if left <= able * (following - ready_s[j]):
            return ready_s[j] + left / able
        left -= able * (following - ready_s[j])
    return 0.0


def shuffle_bound(lab, matrix, ready_s):
    """Returns (end of the shuffle at the earliest, in the clock of ready_s; name of what limits it)."""
    best = (min(ready_s), "nothing")
    for name, rate, senders, receivers in resources(lab):
        for release in sorted({ready_s[j] for j in senders}):
            volumes = {j: sum(matrix[j][k] for k in receivers if k != j) for j in senders if ready_s[j] >= release}
            best = max(best, (earliest_end(lab, rate, volumes, ready_s), name))
    for j, row in enumerate(matrix):
        for k, volume in enumerate(row):
            if j != k and volume:
                rate = min(lab.port_bytes_per_s(j), lab.port_bytes_per_s(k))
                best = max(best, (ready_s[j] + volume / rate, f"transfer {j} to {k}"))
    return best
