"""Jobs in modules that were built outside of the tree: run here and on a cluster, and every misuse refused by name."""
import collections
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time
import unittest

import build_module
from weir_process import BINARY, Cluster, WeirTest, processes_mentioning, read_parts, wait_for

ENTRY = r"""
#include <cstdint>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
struct Head { std::uint32_t bytes; const char* abi; void (*add)(void*); };
%s
extern "C" __attribute__((visibility("default"))) const Head* weir_module_entry() { %s }
"""
OTHER_VERSION = ENTRY % ("", 'static const Head head = {sizeof(Head), "weir-api-0 of long ago", nullptr}; return &head;')
SHORT_HEAD = ENTRY % ("", 'static const Head head = {4, nullptr, nullptr}; return &head;')
NO_HEAD = ENTRY % ("", "return nullptr;")
CRASHES_EARLY = ENTRY % ('struct Early { Early() { std::fputs("early crash\\n", stderr); std::abort(); } } early;', "return nullptr;")
LEAVES_EARLY = ENTRY % ("struct Early { Early() { _exit(0); } } early;", "return nullptr;")
HANGS_EARLY = ENTRY % ("struct Early { Early() { for (;;) pause(); } } early;", "return nullptr;")
FORGES = ENTRY % ('struct Early { Early() { char junk[64] = {}; junk[3] = 127; if (write(3, junk, 64) < 0) _exit(1); } } early;',
                  "return nullptr;")
CLOSES_LINE = ENTRY % ("struct Early { Early() { close(3); for (;;) pause(); } } early;", "return nullptr;")
AWAITS_ALL = ENTRY % ("struct Early { Early() { if (fork() == 0) _exit(0); while (wait(nullptr) > 0) {} } } early;", "return nullptr;")
# What stands for the name of a file is made once the rest is done.
TELLS_GROUP = ENTRY % ("""struct Early { Early() {
  signal(SIGUSR1, SIG_IGN);
  kill(0, SIGUSR1);
  std::fclose(std::fopen("DONE", "w"));
  for (;;) pause();
} } early;""", "return nullptr;")
LEAVES_GROUP = ENTRY % ("""struct Early { Early() {
  setpgid(0, getpgid(getppid()));
  std::fclose(std::fopen("DONE", "w"));
  for (;;) pause();
} } early;""", "return nullptr;")
NO_ENTRY = "int answer = 42;\nint more = 43;\n"
MISSES_SYMBOL = ENTRY % ("extern int nobody_has_this();\n", "return reinterpret_cast<Head*>(nobody_has_this());")

LENGTHS = b"a bb a ccc bb a\n" * 2000 + b"dddd\n"


def lengths_of(data, letters=False):
    counts = collections.Counter()
    for word in data.split():
        counts[len(word)] += len(word) if letters else 1
    return counts


def as_counts(lines):
    return collections.Counter({int(length): int(count) for length, count in (line.split(b"\t") for line in lines)})


class ModuleTest(WeirTest):
    def setUp(self):
        super().setUp()
        self.input = self.write("words.txt", LENGTHS)
        self.out = self.path("out")

    def module(self, name="libwords.so", version=1):
        return build_module.build(self.path(name), "word_lengths.cc.in", f"-DVERSION={version}")

    def small(self, source, name="libsmall.so"):
        return build_module.build(self.path(name), source, with_engine=False)

    def refused(self, path, code, *needles):
        """Before anything is started: no output, nothing left."""
        result = self.run_job("--module", path, "word-lengths", self.input, "-o", self.out)
        self.assertNotEqual(result.code, 0)
        for needle in (code, *needles):
            self.assertIn(needle, result.err)
        self.assert_nothing_left(self.out)


class Modules(ModuleTest):
    def test_an_embedded_run(self):
        module = self.module()
        result = self.run_job("--module", module, "word-lengths", self.input, "-o", self.out, "--workers", "2")
        self.assert_ok(result)
        self.assertEqual(as_counts(read_parts(self.out)), lengths_of(LENGTHS))
        self.assertEqual(result.out, b"version 1: 4 lengths\n", "its own Present")
        self.assert_ok(self.weir("verify", self.out))
        for name in ("plan.json", "gantt.svg", "trace.json"):
            self.assertTrue(os.path.getsize(os.path.join(self.out, "_weir", name)) > 100, name)
        self.assert_nothing_left()

    def test_its_jobs_and_parameters_are_known(self):
        module = self.module()
        shown = self.weir("jobs", "--module", module)
        self.assert_ok(shown)
        self.assertIn(b"word-lengths", shown.out)
        self.assertIn(b"longest", shown.out)
        listed = json.loads(self.weir("jobs", "--module", module, "--json").out)["jobs"]
        self.assertEqual([job["name"] for job in listed], ["word-lengths"])
        self.assertEqual(listed[0]["parameters"][0]["max"], 1000)
        run = ("--module", module, "word-lengths", self.input, "-o", self.out)
        self.assert_fails(self.run_job(*run, "--set", "longset=3"), 2, "longest")
        self.assert_fails(self.run_job(*run, "--set", "longest=2000"), 2, "1000")
        self.assert_fails(self.run_job(*run, "--set", "longest=13"), 2, "brings bad luck")
        self.assert_fails(self.run_job("--module", module, "word-length", self.input, "-o", self.out), 2,
                          "word-lengths")
        self.assert_ok(self.run_job(*run, "--set", "longest=2"))
        self.assertEqual(sorted(as_counts(read_parts(self.out))), [1, 2])

    def test_plan_and_combine_as_for_built_in_jobs(self):
        module = self.module()
        planned = self.weir("plan", "--module", module, "word-lengths", self.input, "--gantt", self.path("plan.svg"),
                            "--workers", "3")
        self.assert_ok(planned)
        self.assertIn(b"predicted", planned.out.lower())
        self.assertTrue(os.path.getsize(self.path("plan.svg")) > 1000)
        # What the module says of its elements reaches the planner: its partial results meet along a tree.
        self.assert_ok(self.run_job("--module", module, "word-lengths", self.input, "-o", self.out, "--combine", "tree",
                                    "--workers", "3"))
        self.assertEqual(as_counts(read_parts(self.out)), lengths_of(LENGTHS))

    def test_a_cluster_of_three(self):
        module = self.module()
        cluster = Cluster(self, workers=3)
        submitted = cluster.submit("--module", module, "word-lengths", self.input, "-o", self.out, "--mappers", "3")
        self.assert_ok(submitted)
        self.assertEqual(as_counts(read_parts(self.out)), lengths_of(LENGTHS))
        self.assertIn(b"version 1", submitted.out)
        job = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"][0]["job_id"]
        explained = self.weir("explain", job, "--master", cluster.address, "--gantt", self.path("run.svg"))
        self.assert_ok(explained)
        self.assertIn(b"actual", explained.out.lower())
        # No daemon has it in memory, and each worker keeps one copy for the next job.
        daemons = [cluster.master, *cluster.workers]
        for daemon in daemons:
            with open(f"/proc/{daemon.pid}/maps", encoding="utf-8") as file:
                self.assertNotIn("libwords", file.read())
        kept = [path for path, _, files in os.walk(self.work) if path.endswith("/artifacts") and files]
        self.assertEqual(len(kept), 3)
        again = cluster.submit("--module", module, "word-lengths", self.input, "-o", self.path("again"))
        self.assert_ok(again)
        # A damaged copy is fetched again, whatever job is next.
        for path in kept:
            for name in os.listdir(path):
                os.chmod(os.path.join(path, name), 0o600)
                with open(os.path.join(path, name), "r+b") as file:
                    file.seek(5000)
                    file.write(b"damage")
        self.assert_ok(cluster.submit("--module", module, "word-lengths", self.input, "-o", self.path("third")))
        self.assertEqual(as_counts(read_parts(self.path("third"))), lengths_of(LENGTHS))
        cluster.stop()
        self.assert_nothing_left()

    def test_two_versions_at_once(self):
        cluster = Cluster(self, workers=2)
        # Before any is submitted: `module` writes the file anew.
        modules = {version: self.module(f"libwords-{version}.so", version) for version in (1, 2)}
        runs = []
        for version in (1, 2, 1, 2):
            module = modules[version]
            out = self.path(f"out-{len(runs)}")
            runs.append((version, out, self.start("submit", "--wait", "--module", module, "word-lengths", self.input,
                                                  "-o", out, "--master", cluster.address)))
        for version, out, process in runs:
            result = self.finish(process)
            self.assert_ok(result)
            self.assertEqual(as_counts(read_parts(out)), lengths_of(LENGTHS, letters=version == 2))
            self.assertIn(f"version {version}".encode(), result.out)
        # The same file name, another content: each job keeps what it was submitted with.
        cluster.stop()

    def test_what_is_no_module_is_refused_by_name(self):
        self.refused(self.path("none.so"), "none.so", "No such file")
        self.refused(self.dir, "no regular file")
        self.refused(self.write("text.so", "hello\n"), "text.so", "no ELF file")
        self.refused(self.write("empty.so", ""), "no ELF file")
        self.refused(self.small(NO_ENTRY), "libsmall.so", "does not export weir_module_entry")
        self.refused(self.small(OTHER_VERSION), "weir-api-0 of long ago", "weir-api-1", "build it again")
        self.refused(self.small(SHORT_HEAD), "was built with 'nothing'")
        self.refused(self.small(NO_HEAD), "was built with 'nothing'")
        self.refused(self.small(MISSES_SYMBOL), "cannot be loaded", "nobody_has_this")
        library = self.small(NO_ENTRY)
        with open(library, "r+b") as file:
            file.seek(18)
            machine = struct.unpack("<H", file.read(2))[0]
            file.seek(18)
            file.write(struct.pack("<H", 62 if machine == 183 else 183))
        self.refused(library, "is for ", "this machine is ")
        with open(self.module(), "rb") as file:
            whole = file.read()
        for length in (63, 100, 4096, len(whole) // 2):
            self.refused(self.write("cut.so", whole[:length]), "cut.so")
        large = self.write("large.so", "")
        os.truncate(large, 1 << 30)
        self.refused(large, "large.so has more than 268435456 bytes")

    def test_a_module_that_crashes_or_hangs_hurts_only_its_own_process(self):
        self.refused(self.small(CRASHES_EARLY), "libsmall.so", "SIGABRT", "early crash")
        self.refused(self.small(LEAVES_EARLY), "exit code 0")
        self.refused(self.small(FORGES), "answered nonsense")
        self.refused(self.small(CLOSES_LINE), "MODULE_CRASHED", "closed descriptor 3")
        begin = time.monotonic()
        self.refused(self.small(HANGS_EARLY), "MODULE_HUNG", "did not answer within 10s")
        self.assertGreater(time.monotonic() - begin, 9)

    def test_ctrl_c_takes_the_process_that_hangs_along(self):
        module = self.small(HANGS_EARLY)
        process = self.start("run", "--module", module, "word-lengths", self.input, "-o", self.out)
        wait_for(lambda: any("task --module" in line for _, line in processes_mentioning(self.dir)), 10, "its process")
        process.send_signal(signal.SIGKILL)
        self.finish(process)
        self.assert_nothing_left(self.out)

    def test_daemons_survive_what_they_are_sent(self):
        # The client's own process says that all is well; the crash comes on the workers only.
        tasks_only = r"""
#include <cstdlib>
#include <cstdio>
#include <cstring>
#include <string>
#include <fstream>
struct Early {
  Early() {
    std::ifstream file("/proc/self/cmdline");
    std::string words((std::istreambuf_iterator<char>(file)), {});
    if (words.find("--module") == std::string::npos) { std::fputs("crash on a worker\n", stderr); std::abort(); }
  }
} early;
"""
        with open(os.path.join(build_module.SOURCES, "word_lengths.cc.in"), encoding="utf-8") as file:
            source = file.read()
        module = build_module.build(self.path("libcrash.so"), tasks_only + source)
        cluster = Cluster(self, workers=2)
        failed = cluster.submit("--module", module, "word-lengths", self.input, "-o", self.out)
        self.assert_fails(failed, 1, "TASK_CRASHED", "crash on a worker")
        self.assert_ok(cluster.submit("--module", self.module(), "word-lengths", self.input, "-o", self.out))
        self.assertEqual([p.poll() for p in (cluster.master, *cluster.workers)], [None] * 3)
        cluster.stop()
        self.assert_nothing_left()

    def test_a_master_that_was_restarted_still_has_it(self):
        cluster = Cluster(self, workers=1)
        module = self.module()
        self.assert_ok(cluster.submit("--module", module, "word-lengths", self.input, "-o", self.out))
        cluster.master.kill()
        cluster.master.wait()
        kept = os.listdir(cluster.journal + ".artifacts")
        self.assertEqual(len(kept), 1)
        self.assertTrue(re.fullmatch("[0-9a-f]{64}", kept[0]))
        # What a crash of its machine may leave: the client sends it anew.
        os.chmod(os.path.join(cluster.journal + ".artifacts", kept[0]), 0o600)
        os.truncate(os.path.join(cluster.journal + ".artifacts", kept[0]), 1000)
        cluster.master = cluster.start_master()
        cluster.wait_for_workers(1)
        os.remove(module)
        self.assert_ok(cluster.submit("--module", self.module(), "word-lengths", self.input, "-o", self.path("second")))
        self.assertEqual(as_counts(read_parts(self.path("second"))), lengths_of(LENGTHS))
        cluster.stop()


class Guardian(ModuleTest):
    """The small process beside each that runs user code. A module's own process has one as tasks have."""

    def test_code_that_awaits_all_its_children_does_not_await_it(self):
        self.refused(self.small(AWAITS_ALL), "was built with 'nothing'")

    def outlives_nobody(self, source):
        """The module's process ends with a client that is killed, whatever its code has done."""
        done = self.path("done")
        module = self.small(source.replace("DONE", done))
        self.addCleanup(lambda: [os.kill(pid, signal.SIGKILL) for pid, _ in processes_mentioning(self.dir)])
        process = self.start("run", "--module", module, "word-lengths", self.input, "-o", self.out)
        wait_for(lambda: os.path.exists(done), 10, "what the module does")
        process.send_signal(signal.SIGKILL)
        self.finish(process)
        self.assert_nothing_left(self.out)

    def test_no_signal_to_the_group_ends_it(self):
        self.outlives_nobody(TELLS_GROUP)

    def test_what_has_left_the_group_ends_too(self):
        self.outlives_nobody(LEAVES_GROUP)

    def test_a_task_whose_daemon_died_as_it_began_loads_nothing(self):
        # The guardian takes whoever is its task's parent then for the daemon: here, one that lives on.
        path = self.small(HANGS_EARLY).encode()
        self.assertLess(len(path), 1 << 13)

        def field(number, content):
            """A field of bytes in the encoding of Protobuf; lengths in two bytes."""
            length = bytes([len(content) & 0x7F | 0x80, len(content) >> 7])
            return bytes([number << 3 | 2]) + length + content

        start = field(1, field(8, path))  # TaskCommand.start, Start.module_path
        daemon, line = socket.socketpair()
        daemon.sendall(struct.pack("<I", len(start)) + start)
        daemon.close()
        task = subprocess.Popen([BINARY, "task", "--fd", str(line.fileno())], pass_fds=[line.fileno()],
                                start_new_session=True)
        line.close()
        self.addCleanup(task.wait)
        self.addCleanup(task.kill)
        self.assertEqual(task.wait(timeout=10), 3)


if __name__ == "__main__":
    unittest.main()
