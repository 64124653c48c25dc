"""Builds modules outside of the tree: against Weir's headers and the libraries of the build that WEIR_BINARY belongs to.

Upstream: modules_test.py. WEIR_MODULE_FLAGS (set by ctest): what sanitizers ask of a library that runs under them.
"""
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile

from weir_process import BINARY, ROOT

SOURCES = os.path.join(ROOT, "tests", "integration", "modules")
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(BINARY))))
COMPILER = os.environ.get("CXX") or shutil.which("c++") or "g++"
FLAGS = ["-std=c++20", "-O0", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-I", ROOT]
LIBRARIES = ["jobs/engine/pairs/libweir_jobs_engine_pairs.a", "jobs/engine/merge/libweir_jobs_engine_merge.a",
             "jobs/engine/slots/libweir_jobs_engine_slots.a", "jobs/engine/references/libweir_jobs_engine_references.a",
             "jobs/engine/input/libweir_jobs_engine_input.a", "jobs/engine/loop/libweir_jobs_engine_loop.a",
             "jobs/engine/pieces/libweir_jobs_engine_pieces.a", "jobs/engine/sections/libweir_jobs_engine_sections.a",
             "jobs/engine/spill/libweir_jobs_engine_spill.a", "jobs/engine/table/libweir_jobs_engine_table.a",
             "jobs/packed/libweir_jobs_packed.a", "jobs/api/libweir_jobs_api.a"]
PACKAGES = ["absl_status", "absl_statusor", "absl_strings", "absl_cord", "absl_span"]

_made = {}
_folder = None


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(command)}\n{done.stderr[-4000:]}")
    return done.stdout


def build(path, source, *flags, with_engine=True):
    """Makes the shared library `path` of `source` (C++ text, or a file of tests/integration/modules); once a content."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="weir-modules-")
    if "\n" not in source:
        with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
            source = file.read()
    key = hashlib.sha256(repr((source, flags, with_engine)).encode()).hexdigest()
    if key not in _made:
        text = os.path.join(_folder.name, f"{key}.cc")
        with open(text, "w", encoding="utf-8") as file:
            file.write(source)
        made = os.path.join(_folder.name, f"{key}.so")
        command = [COMPILER, *FLAGS, *shlex.split(os.environ.get("WEIR_MODULE_FLAGS", "")), *flags, text, "-o", made]
        if with_engine:
            command += [os.path.join(BUILD, library) for library in LIBRARIES]
            command += shlex.split(_run(["pkg-config", "--libs", *PACKAGES])) + ["-lz", "-lzstd", "-Wl,--exclude-libs,ALL"]
        _run(command)
        _made[key] = made
    shutil.copy(_made[key], path)
    return path
