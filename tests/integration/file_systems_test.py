"""Jobs whose output or work directories lie on other file systems than ext4, and outputs that an overwrite meets there.

Mounts are real: root and, for bindfs, /dev/fuse are needed. A test that cannot have its mount is SKIPPED, with the reason.
bindfs stands for all that know no flags of renameat2: NFS, CephFS, 9p, most of FUSE.
"""
import os
import shutil
import subprocess
import unittest

from weir_process import Cluster, WeirTest, count_words, read_parts, wait_for


def counted(text):
    return sorted(b"%s\t%d" % (w.encode(), text.split().count(w)) for w in set(text.split()))


class Mounts(WeirTest):
    def mount(self, name, *command):
        """Runs `command... DIRECTORY` and returns the directory, which is then a mount."""
        if os.geteuid() != 0:
            self.skipTest("mounting needs root")
        directory = self.path(name)
        os.makedirs(directory, exist_ok=True)
        result = subprocess.run([*command, directory], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            self.skipTest(f"cannot mount: {' '.join(command)}: {result.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", directory], check=True)
        self.assertTrue(os.path.ismount(directory) or command[:2] == ("mount", "--bind"))
        return directory

    def tmpfs(self, name="tmpfs"):
        return self.mount(name, "mount", "-t", "tmpfs", "weir-test")

    def bindfs(self, name="bindfs", *options):
        if not os.path.exists("/dev/fuse"):
            self.skipTest("no /dev/fuse on this machine")
        if shutil.which("bindfs") is None:
            self.skipTest("no program bindfs: deploy/install-packages test")
        source = self.path(name + "-source")
        os.makedirs(source, exist_ok=True)
        return self.mount(name, "bindfs", *options, source)

    def overlay(self, name="overlay", lower=None):
        base = self.tmpfs(name + "-layers")
        layers = {layer: os.path.join(base, layer) for layer in ("lower", "upper", "work")}
        for layer in layers.values():
            os.mkdir(layer)
        if lower:
            shutil.copytree(lower, os.path.join(layers["lower"], "out"))
        options = f"lowerdir={layers['lower']},upperdir={layers['upper']},workdir={layers['work']},redirect_dir=off"
        return self.mount(name, "mount", "-t", "overlay", "-o", options, "weir-test")

    def assert_published(self, out, text):
        self.assertEqual(sorted(read_parts(out)), counted(text))
        self.assert_ok(self.weir("verify", out))
        beside = [name for name in os.listdir(os.path.dirname(out)) if ".weir-" in name]
        self.assertEqual(beside, [], "left beside the output")


class OutputOn(Mounts):
    def check_output_on(self, directory):
        first = self.write("first", "a b a c\n" * 1000)
        second = self.write("second", "d e d\n" * 1000)
        out = os.path.join(directory, "out")
        self.assert_ok(self.run_job("wordcount", first, "-o", out))
        self.assert_published(out, self.text(first))
        self.assert_fails(self.run_job("wordcount", second, "-o", out), 4, "OUTPUT_EXISTS", "--overwrite")
        self.assert_ok(self.run_job("wordcount", second, "-o", out, "--overwrite"))
        self.assert_published(out, self.text(second))

        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        self.assert_ok(cluster.submit("wordcount", first, "-o", out, "--overwrite"))
        self.assert_published(out, self.text(first))
        other = os.path.join(directory, "other")
        self.assert_ok(cluster.submit("wordcount", second, "-o", other))
        self.assert_published(other, self.text(second))
        cluster.stop()

        # As a run leaves it that is killed between two renames: the next one puts the old output back, and then looks.
        os.rename(out, out + ".weir-old-j-1")
        os.mkdir(out + ".weir-staging-j-1")
        self.assert_fails(self.run_job("wordcount", second, "-o", out), 4, "OUTPUT_EXISTS")
        os.rmdir(out + ".weir-staging-j-1")
        self.assert_published(out, self.text(first))

        # What is not Weir's stays, and is named.
        with open(os.path.join(out, "thesis.txt"), "w", encoding="utf-8") as file:
            file.write("mine")
        self.assert_fails(self.run_job("wordcount", second, "-o", out, "--overwrite"), 4, "OUTPUT_EXISTS", "thesis.txt")
        self.assertEqual(self.text(os.path.join(out, "thesis.txt")), "mine")

        self.check_generated_data(directory)

    def check_generated_data(self, directory):
        path = os.path.join(directory, "records")
        command = ("data", "generate", "terasort", "--records", "100", "-o", path)
        self.assert_ok(self.weir(*command))
        self.assert_fails(self.weir(*command), 4, path, "--overwrite")
        self.assert_ok(self.weir(*command, "--overwrite"))
        self.assertEqual(os.path.getsize(path), 100 * 100)
        self.assertEqual([name for name in os.listdir(directory) if name.startswith(".")], [])

    def test_the_file_system_of_temporary_files(self):
        self.check_output_on(self.dir)

    def test_tmpfs(self):
        self.check_output_on(self.tmpfs())

    def test_bindfs(self):
        self.check_output_on(self.bindfs())

    def test_overlay(self):
        self.check_output_on(self.overlay())


class OutputThatCannotBeReplaced(Mounts):
    def check_refused(self, out, code, *needles):
        text = self.write("text", "x y x\n")
        before = sorted(os.listdir(out))
        self.assert_fails(self.run_job("wordcount", text, "-o", out, "--overwrite"), code, *needles)
        self.assertEqual(sorted(os.listdir(out)), before)
        beside = [name for name in os.listdir(os.path.dirname(out)) if ".weir-" in name]
        self.assertEqual(beside, [], "left beside the output")

    def test_mount_point(self):
        out = self.tmpfs()
        self.check_refused(out, 4, "OUTPUT_UNUSABLE", "mount point", out + "/out")
        text = self.write("text", "x y x\n")
        self.assert_ok(self.run_job("wordcount", text, "-o", out + "/out"))

    def test_second_mount_of_the_same_file_system(self):
        source = self.path("source")
        os.mkdir(source)
        self.check_refused(self.mount("again", "mount", "--bind", source), 4, "OUTPUT_UNUSABLE", "mount point")

    def test_directory_in_a_lower_layer_is_refused_before_the_job_runs(self):
        text = self.write("text", "x y x\n")
        old = self.path("old")
        self.assert_ok(self.run_job("wordcount", text, "-o", old))
        out = os.path.join(self.overlay(lower=old), "out")
        self.check_refused(out, 4, "OUTPUT_UNUSABLE", "cannot move the old output", "the job has not run")
        self.assertEqual(sorted(read_parts(out)), counted("x y x"))

    def test_current_directory_and_those_above_it(self):
        text = self.write("text", "x y x\n")
        here = self.path("a", "b")
        os.makedirs(here)
        for out in (".", "..", here, self.path("a")):
            result = self.weir("run", "wordcount", text, "-o", out, "--overwrite", "--work-dir", self.work, cwd=here)
            self.assert_fails(result, 4, "OUTPUT_EXISTS", "current directory")
            self.assertTrue(os.path.samefile(here, self.path("a", "b")), out)

    def test_directories_of_somebody_else(self):
        for number, entries in enumerate((["a", "b", "c", "d"], ["manifest.json"], ["part-00000"], [".git"])):
            out = self.path(f"out{number}")
            for name in entries:
                self.write(os.path.join(f"out{number}", name), "{}")
            self.check_refused(out, 4, "OUTPUT_EXISTS", *entries[:3])
        empty = self.path("empty")
        os.mkdir(empty)
        text = self.write("text", "x y x\n")
        self.assert_ok(self.run_job("wordcount", text, "-o", empty, "--overwrite"))
        self.assert_published(empty, "x y x")


class WorkDirectories(Mounts):
    def check_workers_on(self, *directories):
        for index, directory in enumerate(directories):
            self.assertEqual(directory, os.path.join(self.work, f"worker{index}"))
        self.assertEqual(len({os.stat(d).st_dev for d in directories}), len(directories))
        text = self.write("text", " ".join(f"w{i % 997}" for i in range(200_000)) + "\n")
        cluster = Cluster(self, workers=2, worker_args=["--no-measure"])
        out = self.path("out")
        self.assert_ok(cluster.submit("wordcount", text, "-o", out, "--plan-method", "even", "--mappers", "2",
                                      "--reducers", "2"))
        expected = sorted(b"%s\t%d" % (w, n) for w, n in count_words([text]).items())
        self.assertEqual(sorted(read_parts(out)), expected)
        self.assert_ok(self.weir("verify", out))
        cluster.stop()
        for directory in directories:
            self.assertEqual(os.listdir(directory), [])

    def test_two_mounts(self):
        self.check_workers_on(self.tmpfs("work/worker0"), self.tmpfs("work/worker1"))

    def test_one_without_flags_of_renames(self):
        self.check_workers_on(self.bindfs("work/worker0"), self.tmpfs("work/worker1"))

    def test_what_a_killed_worker_left_where_open_files_keep_a_name(self):
        """A file that is removed while it is open goes on under another name there, as on NFS."""
        directory = self.bindfs("work/worker0")
        cluster = Cluster(self, workers=1, worker_args=["--no-measure"])
        for lives in (2, 3):
            cluster.workers[0].kill()
            cluster.workers[0].wait()
            cluster.workers[0] = cluster.start_worker(0, ["--no-measure"])
            wait_for(lambda: self.text(self.path("worker0.log")).count('"Registered"') == lives, 20, cluster.log_text)
        text = self.write("text", "x y x\n" * 1000)
        self.assert_ok(cluster.submit("wordcount", text, "-o", self.path("out")))
        self.assertEqual(len(os.listdir(directory)), 1, os.listdir(directory))
        cluster.stop()
        self.assertEqual(os.listdir(directory), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
