"""What `cmake --install` makes: a project outside of the repository finds it, compiles every header alone, builds a module and a
program that reduces, and runs them; man pages and completions are what their readers take."""
import concurrent.futures
import gzip
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from weir_process import ROOT, free_port

BUILD = os.environ.get("WEIR_BUILD_DIR", os.path.join(ROOT, "build/release"))
COMPILER = os.environ.get("WEIR_COMPILER", "c++")
PROJECT = os.path.join(ROOT, "tests/integration/installed_job")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def below(directory):
    return sorted(os.path.relpath(os.path.join(folder, name), directory)
                  for folder, _, names in os.walk(directory) for name in names)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="weir-install-")
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.prefix = os.path.join(cls.dir, "prefix")
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.headers = below(os.path.join(cls.prefix, "include"))

    def build(self, source, *options):
        build = os.path.join(self.dir, "build-" + os.path.basename(source))
        run("cmake", "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH=" + self.prefix, "-DCMAKE_CXX_COMPILER=" + COMPILER,
            "-DCMAKE_CXX_FLAGS=" + " ".join(WARNINGS), *options)
        run("cmake", "--build", build)
        return build

    def compile(self, name, headers):
        source = os.path.join(self.dir, name.replace("/", "_") + ".cc")
        with open(source, "w", encoding="ascii") as file:
            file.writelines(f"#include <{header}>\n" for header in headers)
        return subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", *WARNINGS, "-I", os.path.join(self.prefix, "include"),
                               source], capture_output=True, text=True, check=False)

    def test_every_header_compiles_alone(self):
        """With the prefix as the only path: what a header includes is installed, or a package."""
        inner = [header for header in self.headers if header.startswith("weir/internal/")]
        self.assertIn("weir/internal/jobs/api/program.h", inner)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            # Twice: it may be included again.
            for header, done in zip(inner, pool.map(lambda header: self.compile(header, [header, header]), inner)):
                with self.subTest(header):
                    self.assertEqual(done.returncode, 0, done.stderr[:3000])

    def test_public_headers_are_one_include_each_and_go_together(self):
        public = [header for header in self.headers if not header.startswith("weir/internal/")]
        self.assertIn("weir/make_program.h", public)
        for header in public:
            with open(os.path.join(self.prefix, "include", header), encoding="ascii") as file:
                self.assertRegex(file.read(), r'\A#pragma once\n\n#include "weir/internal/[\w/]+\.h"[^\n]*\n\Z')
        done = self.compile("all", public)
        self.assertEqual(done.returncode, 0, done.stderr[:3000])

    def test_programs_around_hadoop_find_what_they_call(self):
        home = run(os.path.join(self.prefix, "bin/weir"), "hadoop-home").strip()
        self.assertEqual(home, os.path.join(os.path.realpath(self.prefix), "libexec/weir/hadoop"))
        self.assertRegex(run(os.path.join(home, "bin/hadoop"), "version"), r"^Hadoop 3\.")
        self.assertEqual([name for name in below(home) if "streaming" in name],
                         ["share/hadoop/tools/lib/hadoop-streaming-weir.jar"])

    def test_headers_name_nothing_of_the_repository(self):
        for header in self.headers:
            with open(os.path.join(self.prefix, "include", header), encoding="utf-8") as file:
                for include in re.findall(r'^\s*#\s*include\s+["<]([^">]+)', file.read(), re.M):
                    with self.subTest(header, include=include):
                        self.assertNotRegex(include, "^(jobs|planner|runtime|proto|tests)/")
                        if include.startswith("weir/"):
                            self.assertIn(include, self.headers)

    def run_module(self, module, job, text, *more):
        """Runs a job of a module with the installed program; returns what it shows and its records."""
        rows = os.path.join(self.dir, job + ".csv")
        out = os.path.join(self.dir, job + "-out")
        with open(rows, "w", encoding="ascii") as file:
            file.write(text)
        shown = run(os.path.join(self.prefix, "bin/weir"), "run", "--module", module, job, rows, "-o", out, "--overwrite", "--quiet",
                    "--workers", "2", "--work-dir", self.dir, *more, env=dict(os.environ, XDG_STATE_HOME=self.dir + "/state"))
        lines = []
        for part in sorted(name for name in os.listdir(out) if name.startswith("part-")):
            with open(os.path.join(out, part), encoding="ascii") as file:
                lines += file.read().splitlines()
        return shown, sorted(lines)

    def test_a_module_outside_of_the_repository_works(self):
        # No build type: its templates must be optimised all the same.
        build = self.build(PROJECT, "-DCMAKE_BUILD_TYPE=", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        module = os.path.join(build, "liblongest_line.so")
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"-O2 .*longest_line\.cc")
        text = "ann,four\nbob,a\nann,sevenxx\nnobody\nbob,five5\n"
        shown, lines = self.run_module(module, "longest_line", text, "--set", "least=3")
        self.assertEqual(lines, ["ann\t7", "bob\t5"])
        self.assertEqual(sorted(shown.splitlines()), lines, "its own Present")
        with self.assertRaisesRegex(AssertionError, "least"):
            self.run_module(module, "longest_line", text, "--set", "leest=3")
        # One entry, and nothing else of Weir's: two modules in a process do not meet.
        symbols = run("nm", "-D", "--defined-only", module)
        names = [line.split()[-1] for line in symbols.splitlines()]
        self.assertEqual([name for name in names if "weir" in name], ["weir_module_entry"])

    def test_a_project_that_weir_begins_builds_passes_its_test_and_runs(self):
        project = os.path.join(self.dir, "user_totals")
        weir = os.path.join(self.prefix, "bin/weir")
        written = run(weir, "new", "job", "user_totals", cwd=self.dir)
        self.assertEqual(sorted(written.splitlines()), sorted("user_totals/" + name for name in below(project)))
        build = self.build(project)
        tested = run("ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error")
        self.assertIn("100% tests passed", tested)
        module = os.path.join(build, "libuser_totals.so")
        shown, lines = self.run_module(module, "user_totals", "ann,3\nbob,-1\nann,4\ncid,0\n", "--set", "least=0")
        self.assertEqual(shown, "2 keys\n")
        self.assertEqual(lines, ["ann\t2\t7", "cid\t1\t0"])
        # Its test is one: it fails where the job is wrong.
        header = os.path.join(project, "user_totals.h")
        with open(header, encoding="ascii") as file:
            text = file.read()
        with open(header, "w", encoding="ascii") as file:
            file.write(text.replace("into.sum += from.sum;", "into.sum = from.sum;"))
        run("cmake", "--build", build, "--target", "user_totals_test")
        failed = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure"], capture_output=True, text=True, check=False)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("got 'ann\t2\t4", failed.stdout + failed.stderr)
        # What is there stays as it is.
        again = subprocess.run([weir, "new", "job", "user_totals"], cwd=self.dir, capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 4)
        self.assertIn("weir new job user_totals DIR", again.stderr)

    def test_what_is_missing_is_an_error_of_the_link(self):
        source = os.path.join(self.dir, "incomplete")
        os.makedirs(source)
        with open(os.path.join(source, "CMakeLists.txt"), "w", encoding="ascii") as file:
            file.write("cmake_minimum_required(VERSION 3.24)\nproject(incomplete LANGUAGES CXX)\nfind_package(weir REQUIRED)\n"
                       "weir_add_job(incomplete incomplete.cc)\n")
        with open(os.path.join(source, "incomplete.cc"), "w", encoding="ascii") as file:
            file.write("void Undefined();\nvoid Defined();\nvoid Defined() { Undefined(); }\n")
        with self.assertRaisesRegex(AssertionError, "Undefined"):
            self.build(source)

    def test_an_unknown_component_is_refused_by_name(self):
        source = os.path.join(self.dir, "unknown")
        os.makedirs(source)
        with open(os.path.join(source, "CMakeLists.txt"), "w", encoding="ascii") as file:
            file.write("cmake_minimum_required(VERSION 3.24)\nproject(unknown LANGUAGES CXX)\n"
                       "find_package(weir REQUIRED COMPONENTS shuffle)\n")
        with self.assertRaisesRegex(AssertionError, "no component 'shuffle'"):
            self.build(source)

    def test_the_installed_example_reduces(self):
        examples = next(os.path.join(self.prefix, path) for path in below(self.prefix) if path.endswith("gradient_sum.cc"))
        build = self.build(os.path.dirname(examples), "-DCMAKE_BUILD_TYPE=Release")
        address = f"127.0.0.1:{free_port()}"
        env = dict(os.environ, XDG_STATE_HOME=os.path.join(self.dir, "state"))
        master = subprocess.Popen([os.path.join(self.prefix, "bin/weir"), "master", "--listen", address, "--insecure"], env=env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            members = [subprocess.Popen([os.path.join(build, "gradient_sum"), address, "2", str(rank)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True) for rank in range(2)]
            for member in members:
                out, error = member.communicate(timeout=90)
                self.assertEqual(member.returncode, 0, error)
                self.assertTrue(out.startswith("sum 3 by "), out)
        finally:
            master.terminate()
            master.wait(timeout=30)

    def test_every_command_has_a_man_page_that_groff_takes(self):
        pages = os.path.join(self.prefix, "share/man/man1")
        binary = os.path.join(self.prefix, "bin/weir")
        commands = re.findall(r"^  ([a-z]\S*) {2,}\S", run(binary, "--help").split("Examples:")[0], re.M)
        self.assertIn("submit", commands)
        self.assertEqual(below(pages), sorted(["weir.1.gz"] + [f"weir-{command}.1.gz" for command in commands]))
        for page in below(pages):
            with self.subTest(page), gzip.open(os.path.join(pages, page), "rt") as file:
                text = file.read()
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rCHECKSTYLE=1"], input=text, capture_output=True,
                                      text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                # The page as people see it has the flags of --help, each under a heading of its own.
                shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
                command = page.removesuffix(".1.gz").split("-", 1)[1:]
                for flags in re.findall(r"^  (-\S+)", run(binary, *command, "--help"), re.M):
                    for flag in flags.split(","):
                        self.assertTrue(re.search(r"(?m)^ {7}(-\S+, )*" + re.escape(flag) + r"\b", shown), flag)

    def test_completions_are_what_their_shells_take(self):
        bash = os.path.join(self.prefix, "share/bash-completion/completions/weir")
        zsh = os.path.join(self.prefix, "share/zsh/vendor-completions")
        fish = os.path.join(self.prefix, "share/fish/vendor_completions.d/weir.fish")
        self.assertEqual(run("bash", "-c", f"source {bash}; COMP_WORDS=(weir man su); COMP_CWORD=2; _weir; echo $COMPREPLY"),
                         "submit\n")
        run("zsh", "-n", os.path.join(zsh, "_weir"))
        self.assertEqual(run("zsh", "-fc", f"fpath=({zsh} $fpath); autoload -U compinit; compinit -D -u; print $_comps[weir]"),
                         "_weir\n")
        words = run("fish", "--no-config", "-c", f"source {fish}; complete -C 'weir su'", env=dict(os.environ, HOME=self.dir))
        self.assertRegex(words, r"(?m)^submit\t")

    def test_the_version_is_that_of_the_program(self):
        version = run(os.path.join(self.prefix, "bin/weir"), "version").split()[1]
        config = next(path for path in below(self.prefix) if path.endswith("weirConfigVersion.cmake"))
        with open(os.path.join(self.prefix, config), encoding="utf-8") as file:
            self.assertIn(f'set(PACKAGE_VERSION "{version}")', file.read())


class Packages(unittest.TestCase):
    def test_a_word_that_is_no_set_is_refused_with_those_that_are(self):
        # Of PyPI are not Debian's.
        for word in ("biuld", "", "#", "pypi", "build run"):
            done = subprocess.run(["bash", os.path.join(ROOT, "deploy/install-packages"), word], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=60, check=False)
            self.assertEqual(done.returncode, 2, f"{word}: {done.stderr}")
            self.assertIn(f"there is no set '{word}'; there are bench, build, ", done.stderr)


class Compose(unittest.TestCase):
    def test_a_worker_with_several_addresses_names_one(self):
        with open(os.path.join(ROOT, "docker-compose.yml"), encoding="ascii") as file:
            [command] = re.findall(r"exec (weir worker [^#]*?)\n    volumes:", file.read())
        folder = tempfile.mkdtemp(prefix="weir-compose-")
        self.addCleanup(shutil.rmtree, folder)
        for name, script in (("weir", 'for word in "$@"; do echo "$word"; done'),
                             ("hostname", 'case "$1" in -i) echo "$ADDRESSES" ;; *) echo node ;; esac')):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n{script}\n")
            os.chmod(file.name, 0o755)
        # Folded into one line, as ">-" says.
        text = " ".join(command.replace("$$", "$").split())
        for addresses in ("172.18.0.3 ", "172.18.0.3 fd00::3", "fd00::3 172.18.0.3 10.0.0.3 "):
            with self.subTest(addresses):
                words = run("/bin/sh", "-c", "exec " + text,
                            env={"PATH": folder + ":" + os.environ["PATH"], "ADDRESSES": addresses}).splitlines()
                self.assertEqual(words[words.index("--advertise") + 1], "172.18.0.3")
                self.assertEqual(words[words.index("--name") + 1], "node")


class Services(unittest.TestCase):
    @staticmethod
    def settings(unit):
        """All values of each setting of a unit."""
        found = {}
        with open(os.path.join(ROOT, "deploy/systemd", unit), encoding="ascii") as file:
            for name, value in re.findall(r"(?m)^(\w+)=(.*)$", file.read()):
                found.setdefault(name, []).append(value)
        return found

    def test_a_task_that_is_killed_for_memory_does_not_end_its_worker(self):
        # By default systemd stops all of a service of which the kernel has killed any process.
        self.assertEqual(self.settings("weir-worker@.service").get("OOMPolicy"), ["continue"])

    def test_a_daemon_that_may_not_start_does_not_try_in_haste(self):
        for unit in ("weir-master.service", "weir-worker@.service"):
            self.assertEqual(self.settings(unit).get("RestartPreventExitStatus"), ["2"], f"{unit}: wrong words stay wrong")
        worker = self.settings("weir-worker@.service")
        self.assertEqual(worker["RestartSec"], ["200ms"], "one that was killed is back in time for its runs")
        # As systemd starts it, with a sleep that says how long.
        folder = tempfile.mkdtemp(prefix="weir-services-")
        self.addCleanup(shutil.rmtree, folder)
        sleep = os.path.join(folder, "sleep")
        with open(sleep, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\necho "$1"\n')
        os.chmod(sleep, 0o755)
        command = shlex.split(worker.get("ExecStopPost", ["true"])[0].replace("$$", "$"))
        for status, pause in (("4", "10\n"), ("0", ""), ("3", ""), ("KILL", "")):
            with self.subTest(status):
                self.assertEqual(run(*command, env={"PATH": folder + ":" + os.environ["PATH"], "EXIT_STATUS": status}), pause)


if __name__ == "__main__":
    unittest.main()
