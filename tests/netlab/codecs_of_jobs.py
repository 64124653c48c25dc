"""Rule 7 of the data plane: whole jobs whose runs are packed by each codec, in turns, against the same jobs unpacked.

What a codec saves depends on the bytes, so this needs real jobs; the shuffles of `shuffle` and `rules` move blobs.
"""
import statistics

import jobs
from shuffle import HOSTS

CODECS = ("none", "lz4", "zstd", "auto")


def run_turns(lab, cluster, job, path, options):
    """One turn nobody counts, in which each codec's history begins; then `repeats` turns of all codecs."""
    runs = {codec: [] for codec in CODECS}
    for turn in range(options.repeats + 1):
        for codec in CODECS:
            # The same split in all turns: else what differs is where the load went.
            one = jobs.run_one(lab, cluster, job, path,
                               ("--codec", codec, "--mappers", str(HOSTS), "--reducers", str(HOSTS)))
            if turn:
                runs[codec].append(one)
    return runs


def median_of(runs, key):
    return statistics.median(run[key] for run in runs)


def run(options, log):
    results = []
    for channels, lab, cluster in jobs.cores(options):
        for job in options.jobs:
            path = jobs.make_input(job, cluster, options.megabytes, options.seed)
            runs = run_turns(lab, cluster, job, path, options)
            base = median_of(runs["none"], "actual_s")
            codecs = {codec: {"actual_s": median_of(r, "actual_s"), "predicted_s": median_of(r, "predicted_s"),
                              "moved_bytes": median_of(r, "moved_bytes"), "ratio": median_of(r, "actual_s") / base,
                              "chosen": [one["codecs"] for one in r]}
                      for codec, r in runs.items()}
            results.append({"channels": channels, "job": job, "codecs": codecs, "runs": runs})
            log(f"l = {channels} {job:10} " + ", ".join(
                f"{codec} {c['actual_s']:.2f} s ({c['ratio']:.2f}; predicted {c['predicted_s']:.2f}; "
                f"{c['moved_bytes'] / 1e6:.1f} MB)" for codec, c in codecs.items()))
    return results
