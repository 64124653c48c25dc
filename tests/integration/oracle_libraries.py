"""Independent libraries that results are compared with: numpy, networkx and scikit-learn of Debian, others of PyPI in a
virtual environment of their own.

Upstream: tests beside this file. Downstream: library_answers.py, in another process, because the interpreter that runs the
tests need not be Debian's. What to install stands in deploy/packages.txt (set pypi); nothing else is touched.
"""
import fcntl
import json
import os
import subprocess

from weir_process import ROOT

PYTHON = "/usr/bin/python3"
HOME = os.path.join(ROOT, "build", "oracles")


def wanted():
    with open(os.path.join(ROOT, "deploy/packages.txt"), encoding="utf-8") as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    return [row[1] for row in rows if row and row[0] == "pypi"]


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)


def prepare():
    """Makes the environment, once. Returns its interpreter and None, or None and why there is none."""
    python, done = os.path.join(HOME, "bin/python"), os.path.join(HOME, "installed")
    packages = wanted()
    os.makedirs(HOME, exist_ok=True)
    with open(os.path.join(HOME, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if os.path.exists(done):
            with open(done, encoding="utf-8") as file:
                if file.read().split() == packages:
                    return python, None
        # These are Debian's, which the environment sees.
        for command in ([PYTHON, "-m", "venv", "--system-site-packages", HOME],
                        [python, "-c", "import networkx, numpy, scipy, sklearn"],
                        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]):
            result = run(*command, timeout=300)
            if result.returncode != 0:
                return None, f"{' '.join(command)} failed: {result.stdout.strip()[-300:]}"
        with open(done, "w", encoding="utf-8") as file:
            file.write("\n".join(packages))
    return python, None


def ask(test, question, **arguments):
    """Calls a function of library_answers.py; skips the test, saying why, where there are no oracles."""
    python, why = prepare()
    if python is None:
        test.skipTest(f"SKIPPED, no oracle: {why}")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "library_answers.py")
    result = subprocess.run([python, script, question], input=json.dumps(arguments), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, check=False, timeout=300)
    test.assertEqual(result.returncode, 0, result.stderr)
    return json.loads(result.stdout)
