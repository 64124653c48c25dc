"""What the version before made, and how: inputs, plans, clusters, and the questions about its journal.

Upstream: compatibility_test.py, which asks the present binary the same; record_compatibility.py, which made
tests/golden/before with the binary of the version before.
"""
import collections
import hashlib
import json
import os

from weir_process import ROOT, Cluster

GOLDEN = os.path.join(ROOT, "tests/golden/before")
JOURNAL = os.path.join(GOLDEN, "journal.db")
# Nothing of a plan is left to the machine that it is made on: nothing measured, sampled or learned.
FIXED = ["--no-sample"]
FIXED_EMBEDDED = [*FIXED, "--slots", "1", "--no-history"]

# A plan that is kept whole and run from its file, on N workers.
Case = collections.namedtuple("Case", "name job input workers flags")
PLANS = [
    Case("wordcount", "wordcount", "words.txt", 3, ["--mappers", "3", "--reducers", "3"]),
    Case("weather-two-layers", "weather", "readings.csv", 4, ["--mappers", "4", "--reducers", "4,2"]),
    Case("terasort", "terasort", "records", 3, ["--mappers", "3", "--reducers", "3"]),
    Case("write-one", "wordcount", "words.txt", 3, ["--mappers", "3", "--reducers", "3", "--write", "one"]),
    Case("write-parallel-2", "weather", "readings.csv", 4,
         ["--mappers", "3", "--reducers", "3,4", "--write", "parallel:2"]),
    Case("fetch-all", "wordcount", "words.txt", 4, ["--reducers", "4", "--plan-method", "fetch-all"]),
    Case("fetch-2", "wordcount", "words.txt", 4, ["--reducers", "4", "--plan-method", "fetch-2"]),
    Case("even-zstd", "wordcount", "words.txt", 2, ["--reducers", "3", "--plan-method", "even", "--codec", "zstd"]),
]

# A cluster whose network is given and whose workers have these rates, with a plan that is kept whole and run.
Network = collections.namedtuple("Network", "name rates master_args file case")
RACKS = {
    "schema": 1, "channel_bytes_per_s": 1.2e7, "latency_s": 0.0005, "port_bytes_per_s": {"worker3": 4e6},
    "racks": [
        {"name": "a", "workers": ["worker0", "worker1"], "up_channels": 1, "down_channels": 1},
        {"name": "b", "workers": ["worker2", "worker3"], "up_channels": 1, "down_channels": 2},
    ],
    "cuts": [{"name": "backup link", "from": ["worker0"], "to": "rest", "channels": 1}],
}
NETWORKS = [
    Network("racks", [1, 2, 1, 0.5], [], RACKS,
            Case("racks", "wordcount", "words.txt", 4, ["--mappers", "4", "--reducers", "4"])),
    Network("one-switch", [1] * 5, ["--channel-rate", "100Mbit/s", "--latency", "500us", "--bisection-channels", "2"],
            None, Case("one-switch", "weather", "readings.csv", 5,
                       ["--mappers", "5", "--reducers", "5,2", "--codec", "none"])),
]

# Directories that runs made, which are kept whole.
OUTPUTS = [
    Case("weather", "weather", "readings.csv", 3, ["--mappers", "2", "--reducers", "3,2"]),
    Case("terasort", "terasort", "few-records", 2, ["--reducers", "2"]),
]

# Inputs of plans that are not run: holes of these sizes, which the planner takes for data.
HOLES = {"small": 3 << 20, "large": 5 << 30, "cut/one": 700 << 20, "cut/two.gz": 150 << 20, "cut/three.gz": 20 << 20}


def embedded_grid():
    """Arguments of plans of which only the checksum is kept."""
    for job in ("wordcount", "weather", "terasort", "sessions", "onebrc"):
        for workers in (1, 5, 24):
            yield [job, "large", "--workers", str(workers)]
        yield [job, "small", "--workers", "8"]
    for flags in (["--mappers", "7"], ["--reducers", "3"], ["--write", "one"], ["--write", "parallel:3"],
                  ["--codec", "none"], ["--codec", "lz4"], ["--plan-method", "even"], ["--plan-method", "fetch-all"],
                  ["--plan-method", "fetch-3"], ["--memory", "64MiB"]):
        yield ["wordcount", "large", "--workers", "12", *flags]
    for flags in ([], ["--reducers", "9,4"], ["--reducers", "1,12", "--write", "parallel:2"],
                  ["--plan-method", "even"]):
        yield ["weather", "large", "--workers", "12", *flags]
    for workers in (2, 6):
        yield ["wordcount", "cut", "--workers", str(workers)]
        yield ["wordcount", "cut", "--workers", str(workers), "--mappers", "5", "--plan-method", "even"]


def network_grid():
    """The same for each cluster of NETWORKS."""
    for job in ("wordcount", "weather", "terasort"):
        for hole in ("small", "large"):
            yield [job, hole]
    for flags in (["--write", "one"], ["--write", "parallel:2"], ["--codec", "zstd"], ["--plan-method", "even"],
                  ["--plan-method", "fetch-all"], ["--plan-method", "fetch-2"], ["--reducers", "3"]):
        yield ["wordcount", "large", *flags]


def words_text():
    return "".join(f"w{(i * i * 7 + i) % 1999}{' ' if i % 10 else chr(10)}" for i in range(30_000))


def readings_text():
    return "".join(f"S{i % 11},20{i % 3 + 19}-{i % 12 + 1:02d}-{i % 28 + 1:02d},12:00,{i * 7 % 40}.{i % 10}\n"
                   for i in range(9_000))


def make_inputs(test):
    """Writes the inputs of what is run, the same bytes everywhere."""
    test.write("words.txt", words_text())
    test.write("readings.csv", readings_text())
    for name, count in (("records", "3000"), ("few-records", "40")):
        test.assert_ok(test.weir("data", "generate", "terasort", "--records", count, "--seed", "5", "-o",
                                 test.path(name)))


def make_holes(test):
    for name, size in HOLES.items():
        with open(test.write(name, ""), "wb") as file:
            file.truncate(size)


def start_one_by_one(test, cluster, worker_args):
    """Starts workers with these arguments each; they register in this order, which is that of a plan."""
    for index, args in enumerate(worker_args):
        cluster.workers.append(cluster.start_worker(index, ["--slots", "1", *args]))
        cluster.wait_for_workers(index + 1)


def start_network(test, network):
    args = list(network.master_args)
    if network.file:
        args += ["--network", test.write(f"{network.name}.json", json.dumps(network.file))]
    cluster = Cluster(test, workers=0, master_args=args)
    start_one_by_one(test, cluster, [["--compute-rate", str(rate)] for rate in network.rates])
    return cluster


def start_on_journal(test):
    """A master that has the kept journal, and the workers that its jobs ran on."""
    # However old it is.
    cluster = Cluster(test, workers=0, journal=JOURNAL, master_args=["--keep-jobs-for", "87600h"])
    start_one_by_one(test, cluster, [["--no-measure"]] * 2)
    return cluster


def plan_text(test, *args, env=None):
    """What `weir plan --json` prints."""
    planned = test.weir("plan", *args, "--json", cwd=test.dir, env=env, timeout=120)
    test.assert_ok(planned)
    return planned.out.decode()


def embedded_plan(test, case):
    return plan_text(test, case.job, case.input, *case.flags, "--workers", str(case.workers), *FIXED_EMBEDDED,
                     "--work-dir", test.work)


def network_plan(test, case, cluster):
    return plan_text(test, case.job, case.input, *case.flags, *FIXED, "--master", cluster.address)


def plan_after_shapes(test, shapes_home):
    """A plan by what an embedded run of the job has left in this place for the state of programs."""
    return plan_text(test, "weather", "readings.csv", *FIXED, "--slots", "1", "--workers", "2", "--work-dir", test.work,
                     env={"XDG_STATE_HOME": shapes_home})


def plan_after_journal(test, cluster):
    """A plan by what the kept journal holds of earlier runs and of the network."""
    return plan_text(test, "wordcount", "words.txt", "--set", "top=3", "--mappers", "2", "--reducers", "2",
                     "--master", cluster.address)


def plan_without_tree(test, *args):
    """What `weir plan --json` prints; where a reduction tree is predicted to end sooner, which the version before did not
    know, that of the shuffle which lost."""
    chosen = plan_text(test, *args)
    if "STEP_KIND_COMBINE" not in chosen:
        return chosen
    shuffle = plan_text(test, *args, "--combine", "shuffle")
    makespans = [json.loads(text)["plan"]["makespan_s"] for text in (chosen, shuffle)]
    test.assertLess(makespans[0], 0.95 * makespans[1], args)
    return shuffle


def checksums(test, grid, where):
    """Checksum of each plan of a grid, by its arguments."""
    return {" ".join(args): hashlib.sha256(plan_without_tree(test, *args, *where).encode()).hexdigest() for args in grid}


def embedded_checksums(test):
    return checksums(test, embedded_grid(), [*FIXED_EMBEDDED, "--work-dir", test.work])


def network_checksums(test, cluster):
    return checksums(test, network_grid(), [*FIXED, "--master", cluster.address])


def run_embedded(test, case, out, *flags):
    test.assert_ok(test.run_job(case.job, test.path(case.input), "-o", out, "--workers", str(case.workers), "--slots",
                                "1", "--no-history", *flags))


def manifest_of(output):
    with open(os.path.join(output, "manifest.json"), encoding="utf-8") as file:
        return json.load(file)


def without_end_times(text, job_ids):
    """The JSON that `weir list jobs` or `weir status` printed, less the time at which these jobs ended: for what a
    master finds unfinished that is its own start."""
    document = json.loads(text)
    for job in document.get("jobs", [document]):
        if job["job_id"] in job_ids:
            text = text.replace(f'"ended_unix_ms": {job["ended_unix_ms"]}', '"ended_unix_ms": 0')
    return text


def answers_from(test, cluster, unfinished):
    """(Name, text) of what the commands say of the kept journal."""
    def ask(*words):
        answer = test.weir(*words, "--master", cluster.address)
        test.assertIn(answer.code, (0, 4), answer.err)
        return answer.out.decode()

    listed = ask("list", "jobs", "--json")
    yield "list.json", without_end_times(listed, unfinished)
    for number, job in enumerate(reversed(json.loads(listed)["jobs"])):
        name = f"{number}-{job['spec']['job']}-{job['state']}"
        yield f"{name}.status.json", without_end_times(ask("status", job["job_id"], "--json"), unfinished)
        for command in ("explain", "logs"):
            yield f"{name}.{command}.json", ask(command, job["job_id"], "--json")
        if job["spec"]["job"] == "weather":
            gantt, trace = test.path(f"{name}.svg"), test.path(f"{name}.trace.json")
            yield f"{name}.explain.txt", ask("explain", job["job_id"], "--gantt", gantt, "--trace", trace)
            yield f"{name}.gantt.svg", test.text(gantt)
            yield f"{name}.trace.json", test.text(trace)
