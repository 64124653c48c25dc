"""kmeans as a plan has it, one step after the other: the same sums in the same order give the same bits.

Upstream: kmeans_test.py, with the plan that a run leaves beside its result. One slot a worker.
"""
import struct

MASK = (1 << 64) - 1


def mixed(bits):
    """SplitMix64's, as SeedOrder of jobs/kmeans has it."""
    bits = (bits + 0x9e3779b97f4a7c15) & MASK
    bits = ((bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    bits = ((bits ^ (bits >> 27)) * 0x94d049bb133111eb) & MASK
    return bits ^ (bits >> 31)


def seed_order(point, seed):
    value = mixed(seed)
    for number in point:
        value = mixed(value ^ struct.unpack("<Q", struct.pack("<d", number))[0])
    return (value >> 12) + 1


def squared_distance(point, centroid):
    total = 0.0
    for a, b in zip(point, centroid):
        total += (a - b) * (a - b)
    return total


class PlannedKmeans:
    """`plan`: protobuf JSON; `text`: the bytes of the only input file."""

    def __init__(self, plan, text, k, seed=1):
        self.steps = plan["steps"]
        self.sections = plan["sections"]
        self.rows = []  # (first byte, point)
        at = 0
        for line in text.splitlines(keepends=True):
            self.rows.append((at, [float(field) for field in line.split(b",")]))
            at += len(line)
        distinct = sorted({(seed_order(point, seed), tuple(point)) for _, point in self.rows})
        self.seeds = [list(point) for _, point in distinct[:k]]
        self.mapped = {int(step.get("index_in_layer", 0)): step for step in self.of_kind("MAP")}

    def of_kind(self, kind):
        return [step for step in self.steps if step["kind"] == f"STEP_KIND_{kind}"]

    def rows_of(self, mapper):
        step = self.mapped[mapper]
        begin, end = int(step.get("input_begin", 0)), int(step.get("input_end", 0))
        return [point for at, point in self.rows if begin <= at < end]

    def sums(self, points, centroids):
        """Count, inertia, then count and sums a cluster."""
        width = 1 + len(centroids[0])
        element = [float(len(points)), 0.0] + [0.0] * (len(centroids) * width)
        for point in points:
            apart = [squared_distance(point, centroid) for centroid in centroids]
            nearest = apart.index(min(apart))
            element[1] += apart[nearest]
            row = 2 + nearest * width
            element[row] += 1
            for i, number in enumerate(point):
                element[row + 1 + i] += number
        return element

    def folded(self, iteration, centroids):
        """What the update of an iteration gets, along the sections of its combine steps."""
        held = {}
        for index, step in enumerate(self.steps):
            kind, layer = step["kind"], int(step.get("layer", 0))
            if kind == "STEP_KIND_ITERATE" and layer == iteration:
                held[index] = self.sums(self.rows_of(int(step.get("index_in_layer", 0))), centroids)
                continue
            update = kind == "STEP_KIND_UPDATE" and layer == iteration
            if not update and not (kind == "STEP_KIND_COMBINE" and layer == iteration + 1):
                continue
            element = {}
            for section in self.sections:
                producer = int(section.get("producer", 0))
                if int(section.get("consumer", 0)) != index or producer not in held:
                    continue
                places = section["indexes"]
                for place in range(int(places.get("begin", 0)), int(places["end"])):
                    value = held[producer][place]
                    element[place] = element[place] + value if place in element else value
            if update:
                return [element[place] for place in range(len(element))]
            if element:
                held[index] = element
        raise AssertionError(f"iteration {iteration} has no update")

    def run(self, iterations):
        """(counts, centroids, inertia) after so many iterations."""
        centroids = [list(seed) for seed in self.seeds]
        counts, inertia = [0] * len(centroids), None
        for iteration in range(1, iterations + 1):
            element = self.folded(iteration, centroids)
            inertia = element[1]
            width = 1 + len(centroids[0])
            for c, centroid in enumerate(centroids):
                row = 2 + c * width
                counts[c] = int(element[row])
                if counts[c]:
                    centroids[c] = [total / element[row] for total in element[row + 1:row + width]]
                else:
                    centroids[c] = list(centroid)
        return counts, centroids, inertia
