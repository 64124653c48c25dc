"""What a shuffle moves and when its mappers are ready: the scenarios, sized for a wanted duration."""
import random

NAMES = ("equal", "waves", "slow-host", "heavy-reducer", "random", "small-pieces")
FIRST_READY_S = 0.3    # mappers have written their runs by then, whatever the quota
WAVE_S = 0.3
SLOWDOWN = 4
SMALL_PIECE_BYTES = 128 << 10


class Scenario:
    """bytes[j][k] that mapper j makes for reducer k; ready_s[j]; slow hosts; size of pieces (0 = the planner's)."""

    def __init__(self, name, weights, ready_s, slowdown=None, piece_bytes=0):
        self.name, self.weights, self.ready_s = name, weights, ready_s
        self.slowdown, self.piece_bytes = slowdown or {}, piece_bytes

    def scaled(self, bytes_per_weight):
        return [[max(1024, int(w * bytes_per_weight)) for w in row] for row in self.weights]


def make(name, hosts, seed):
    rng = random.Random(f"{name} {seed}")
    ones = [[1.0] * hosts for _ in range(hosts)]
    ready = [FIRST_READY_S] * hosts
    if name == "equal":
        return Scenario(name, ones, ready)
    if name == "waves":
        return Scenario(name, ones, [FIRST_READY_S + WAVE_S * (j // (hosts // 4)) for j in range(hosts)])
    if name == "slow-host":
        return Scenario(name, ones, ready, slowdown={hosts - 1: SLOWDOWN})
    if name == "heavy-reducer":
        heavy = 0.4 * (hosts - 1) / 0.6  # 40 % of all bytes go to reducer 0
        return Scenario(name, [[heavy if k == 0 else 1.0 for k in range(hosts)] for _ in range(hosts)],
                        ready)
    if name == "random":
        return Scenario(name, [[rng.uniform(0.2, 1.8) for _ in range(hosts)] for _ in range(hosts)], ready)
    if name == "small-pieces":
        return Scenario(name, ones, ready, piece_bytes=SMALL_PIECE_BYTES)
    raise ValueError(f"scenario '{name}': use one of {', '.join(NAMES)}")
