"""Answers of independent libraries to the questions of the tests beside it (oracle_libraries.py): arguments as JSON on stdin,
the answer on stdout.

Usage: library_answers.py distinct|gradient_descent|histogram|logistic_regression|lloyd|pagerank|quantiles
"""
import collections
import csv
import json
import sys

import datasketches
import ddsketch
import networkx
import numpy
import sklearn.cluster
import sklearn.linear_model


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


def labelled(path, label):
    """Labels, and the other columns as numbers."""
    table = numpy.array([[float(field) for field in row] for row in rows(path)])
    return table[:, label], numpy.delete(table, label, axis=1)


def hashed(path, label, features):
    """Labels, and how often each row has each feature (jobs/logreg/fit_weights.h, HashedFeature)."""
    labels, counts = [], []
    for row in rows(path):
        labels.append(float(row[label]))
        count = numpy.zeros(features)
        for column, field in enumerate(row):
            if column == label or not field:
                continue
            code = 0xcbf29ce484222325
            for byte in f"{column + 1}={field}".encode():
                code = (code ^ byte) * 0x100000001b3 % 2**64
            code = (code ^ (code >> 30)) * 0xbf58476d1ce4e5b9 % 2**64
            code = (code ^ (code >> 27)) * 0x94d049bb133111eb % 2**64
            count[(code ^ (code >> 31)) % features] += 1
        counts.append(count)
    return numpy.array(labels), numpy.array(counts)


def gradient_descent(path, label, rate, l2, iterations, features=0):
    """Loss before the last step, intercept and weights after it."""
    y, x = hashed(path, label, features) if features else labelled(path, label)
    intercept, weights, loss = 0.0, numpy.zeros(x.shape[1]), None
    for _ in range(iterations):
        z = intercept + x @ weights
        loss = float(numpy.mean(numpy.logaddexp(0, z) - y * z) + l2 / 2 * weights @ weights)
        off = 1 / (1 + numpy.exp(-z)) - y
        intercept, weights = intercept - rate * off.mean(), weights - rate * (x.T @ off / len(y) + l2 * weights)
    return [loss, float(intercept), weights.tolist()]


def logistic_regression(path, label, l2):
    """Intercept and weights where the loss is least."""
    y, x = labelled(path, label)
    model = sklearn.linear_model.LogisticRegression(C=1 / (l2 * len(y)), tol=1e-10, max_iter=100000)
    model.fit(x, y)
    return [float(model.intercept_[0]), model.coef_[0].tolist()]


def lloyd(path, centroids):
    """Centroids and inertia where k-means from these centroids on ends."""
    points = numpy.array([[float(field) for field in row] for row in rows(path)])
    model = sklearn.cluster.KMeans(len(centroids), init=numpy.array(centroids), n_init=1, max_iter=1000, tol=0,
                                   algorithm="lloyd").fit(points)
    return [model.cluster_centers_.tolist(), float(model.inertia_)]


if __name__ == "__main__":
    question = {function.__name__: function for function in
                (distinct, gradient_descent, histogram, lloyd, logistic_regression, pagerank, quantiles)}[sys.argv[1]]
    json.dump(question(**json.load(sys.stdin)), sys.stdout)
