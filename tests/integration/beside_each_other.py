"""Runs the tests of a file some at a time, each in a process of its own. For files whose tests mostly wait: for leases, for slow disks,
for masters that stay away. Those of a class with `one_at_a_time = True` are run one after the other, in one process.

Upstream: tests beside this file, in place of unittest.main. With arguments (`-k NAME`, `Class.test`) it is unittest.main.
"""
import concurrent.futures
import subprocess
import sys
import time
import unittest

AT_A_TIME = 3


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def units():
    """Names of tests to be run by one process, in the order of the file."""
    found = {}
    for test in tests_of(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])):
        kind = type(test)
        name = f"{kind.__name__}.{test._testMethodName}"
        found.setdefault(kind if getattr(kind, "one_at_a_time", False) else name, []).append(name)
    return list(found.values())


def run(names):
    ended = subprocess.run([sys.executable, sys.argv[0], *names], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return names, ended.returncode, ended.stdout


def main():
    if len(sys.argv) > 1:
        unittest.main(verbosity=2)
    begin = time.monotonic()
    num_tests, failed = 0, []
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, names) for names in units()]):
            names, code, output = done.result()
            num_tests += len(names)
            # Of those that are well the list of tests is enough, with the reasons of skipped ones.
            print((output if code else output.split("\n" + "-" * 70)[0]).rstrip(), flush=True)
            if code:
                failed.append(" ".join(names))
    print(f"\nRan {num_tests} tests in {time.monotonic() - begin:.1f} s, {AT_A_TIME} at a time: {'FAILED' if failed or not num_tests else 'OK'}")
    for names in failed:
        print(f"failed: {names}")
    sys.exit(1 if failed or not num_tests else 0)
