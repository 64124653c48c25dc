"""Plans of reduction trees, made of the plan of a shuffle: what a planner would hand in with --plan-file.

Upstream: `weir plan --json`. Downstream: tests that run such plans with real processes.
"""
import json

PLACES = 1 << 30  # of a table: jobs/api/element.h
STEP_S = 0.001


class TreePlan:
    """One root on worker 0; machine i takes machine i + s for s = 1, 2, 4, ..., so operands keep their order.

    `plan`: protobuf JSON of a plan with a map step a worker and one reduce step; it is not changed.
    """

    def __init__(self, plan, segments=2):
        self.plan = json.loads(json.dumps(plan))
        self.element_bytes = 1 << 20
        self.segments = segments
        maps = [step for step in self.plan["steps"] if step["kind"] == "STEP_KIND_MAP"]
        self.reduce = next(step for step in self.plan["steps"] if step["kind"] == "STEP_KIND_REDUCE")
        self.num_workers = int(self.plan["network"]["num_workers"])
        assert [step.get("worker", 0) for step in maps] == list(range(self.num_workers)), "a map step a worker"
        assert not self.plan["network"].get("cuts"), "times below know no cuts"
        for step in maps:
            step["output_bytes"] = str(self.element_bytes)
        self.plan.update(steps=maps, sections=[], transfers=[], transfer_order="TRANSFER_ORDER_STRICT",
                         method="tree of a test", lower_bound_s=0)
        for key in ("plan_id", "channel_order", "fetch_limit", "port_lanes"):
            self.plan.pop(key, None)
        self.clock_s = max(step.get("start_s", 0) + step.get("duration_s", 0) for step in maps)
        self._write()

    def combine_steps(self):
        return [i for i, step in enumerate(self.plan["steps"]) if step["kind"] == "STEP_KIND_COMBINE"]

    def _write(self):
        # By segment: the step that holds what the machine has so far.
        held = [[machine] * self.segments for machine in range(self.num_workers)]
        stride = 1
        while stride < self.num_workers:
            for machine in range(0, self.num_workers - stride, 2 * stride):
                for segment in range(self.segments):
                    held[machine][segment] = self._message(
                        held[machine][segment], held[machine + stride][segment], machine, machine + stride, segment)
            stride *= 2
        root = self._step(dict(self.reduce, worker=0, after_steps=held[0], after_transfers=[],
                               input_bytes=str(self.element_bytes)))
        for segment, step in enumerate(held[0]):
            self._section(step, root, segment)
        self.plan["makespan_s"] = self.clock_s
        self._order()

    def _bytes(self, segment):
        return self.element_bytes * (segment + 1) // self.segments - self.element_bytes * segment // self.segments

    def _section(self, producer, consumer, segment):
        places = [PLACES * s // self.segments for s in (segment, segment + 1)]
        self.plan["sections"].append({"producer": producer, "consumer": consumer, "bytes": str(self._bytes(segment)),
                                      "indexes": {"begin": str(places[0]), "end": str(places[1])}})

    def _step(self, step):
        step.update(start_s=self.clock_s, duration_s=STEP_S)
        self.clock_s += STEP_S
        self.plan["steps"].append(step)
        return len(self.plan["steps"]) - 1

    def _message(self, left, right, receiver, sender, segment):
        network = self.plan["network"]
        duration_s = network.get("latency_s", 0) + self._bytes(segment) * network.get("seconds_per_byte", 0)
        transfer = {"producer": right, "sender": sender, "receiver": receiver, "bytes": str(self._bytes(segment)),
                    "start_s": self.clock_s, "duration_s": duration_s}
        self.clock_s += duration_s
        transfer["consumer"] = self._step({
            "kind": "STEP_KIND_COMBINE", "layer": 1, "index_in_layer": len(self.plan["transfers"]),
            "worker": receiver, "input_bytes": str(2 * self._bytes(segment)),
            "output_bytes": str(self._bytes(segment)), "after_steps": [left],
            "after_transfers": [len(self.plan["transfers"])]})
        self.plan["transfers"].append(transfer)
        # Operands, left to right.
        self._section(left, transfer["consumer"], segment)
        self._section(right, transfer["consumer"], segment)
        return transfer["consumer"]

    def _order(self):
        def by_worker(items, key):
            lists = [[] for _ in range(self.num_workers)]
            for index in sorted(range(len(items)), key=lambda i: items[i].get("start_s", 0)):
                lists[items[index].get(key, 0)].append(index)
            return [{"index": indexes} for indexes in lists]
        self.plan["compute_order"] = by_worker(self.plan["steps"], "worker")
        self.plan["send_order"] = by_worker(self.plan["transfers"], "sender")
        self.plan["receive_order"] = by_worker(self.plan["transfers"], "receiver")
