"""Answers of independent libraries to the questions of sketches_test.py, histogram_test.py and pagerank_test.py: arguments as
JSON on stdin, the answer on stdout.

Usage: library_answers.py distinct|histogram|pagerank|quantiles
"""
import collections
import csv
import json
import sys

import datasketches
import ddsketch
import networkx
import numpy


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        yield from csv.reader(file)


def distinct(path):
    """By key: the exact count, and the estimate of DataSketches' HyperLogLog with as many registers."""
    sets = collections.defaultdict(set)
    for key, value in rows(path):
        sets[key].add(value)
    answer = {}
    for key, values in sets.items():
        sketch = datasketches.hll_sketch(14, datasketches.tgt_hll_type.HLL_8)
        for value in sorted(values):
            sketch.update(value)
        answer[key] = [len(values), sketch.get_estimate()]
    return answer


def quantiles(path, percentiles):
    """By key: count, and for each percentile numpy's exact quantile and that of the authors' DDSketch."""
    numbers = collections.defaultdict(list)
    for key, number in rows(path):
        numbers[key].append(float(number))
    answer = {}
    for key, values in numbers.items():
        sketch = ddsketch.LogCollapsingLowestDenseDDSketch(relative_accuracy=0.01, bin_limit=2048)
        for value in values:
            sketch.add(value)
        exact = numpy.quantile(numpy.array(values), [p / 100 for p in percentiles], method="lower")
        answer[key] = [len(values), [[float(e), sketch.get_quantile_value(p / 100)]
                                     for e, p in zip(exact, percentiles)]]
    return answer


def histogram(path, column, bins, low, high):
    """numpy's counts and edges, and how many numbers lie below and above them."""
    numbers = numpy.array([float(row[column]) for row in rows(path) if row[column]])
    counts, edges = numpy.histogram(numbers, bins=bins, range=(low, high))
    return [[int(count) for count in counts], [float(edge) for edge in edges], int((numbers < low).sum()),
            int((numbers > high).sum())]


def pagerank(path, damping, delimiter):
    """By node: networkx's rank. An edge that stands twice counts twice, so the graph may have parallel ones."""
    graph = networkx.read_edgelist(path, create_using=networkx.MultiDiGraph, nodetype=int, data=False, delimiter=delimiter)
    ranks = networkx.pagerank(graph, alpha=damping, tol=1e-12 / len(graph), max_iter=1000)
    return [[node, ranks[node]] for node in sorted(ranks)]


if __name__ == "__main__":
    question = {"distinct": distinct, "histogram": histogram, "pagerank": pagerank, "quantiles": quantiles}[sys.argv[1]]
    json.dump(question(**json.load(sys.stdin)), sys.stdout)
