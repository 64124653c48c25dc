"""Slow is not hung: jobs on disks and processors that are slower than a task may be silent; and little memory has a name.

The disk is ext4 on a loop device whose image lies on a bindfs with --write-rate: what is written goes to the page cache, and a sync takes
as long as the rate says. Mounts and control groups are real: a test that cannot have them is SKIPPED, with the reason.
"""
import glob
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import beside_each_other
from control_groups import ControlGroup
from file_systems_test import Mounts
from weir_process import ROOT, Cluster, WeirTest, count_words, free_port, read_parts, wait_for

# runtime/base/limits.h: kTaskSilence.
SILENCE_S = 8


class SlowDisk(Mounts):
    def slow_bindfs(self, rate, prepare=lambda source: None):
        source = self.path("slow-source")
        os.makedirs(source)
        prepare(source)
        return self.bindfs("slow", f"--write-rate={rate}")

    def slow_disk(self, rate, megabytes):
        def prepare(source):
            image = os.path.join(source, "image")
            with open(image, "wb") as file:
                file.truncate(megabytes << 20)
            if shutil.which("mkfs.ext4") is None:
                self.skipTest("no program mkfs.ext4 on this machine")
            subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image], check=True)
        image = os.path.join(self.slow_bindfs(rate, prepare), "image")
        return self.mount("disk", "mount", "-t", "ext4", "-o", "loop", image)

    def test_100_mb_of_output_on_a_disk_of_2_mb_per_s(self):
        records = self.path("records")
        self.assert_ok(self.weir("data", "generate", "terasort", "--records", "1000000", "-o", records))
        out = os.path.join(self.slow_disk("2M", 400), "out")
        result = self.run_job("terasort", records, "-o", out, "--no-sample")
        self.assert_ok(result)
        self.assertGreater(result.seconds, 3 * SILENCE_S, "the disk was not slow: nothing tested")
        self.assert_ok(self.weir("verify", out))
        parts = [os.path.join(out, name) for name in os.listdir(out) if name.startswith("part-")]
        self.assertEqual(sum(map(os.path.getsize, parts)), 100_000_000)

    def test_one_write_that_takes_longer_than_silence(self):
        # 256 KiB at 20 kB/s, through FUSE, where a writer does not look as if it waited for a disk.
        text = self.write("text", " ".join(f"w{i:07}" for i in range(22_000)))
        out = os.path.join(self.slow_bindfs("20k"), "out")
        result = self.run_job("wordcount", text, "-o", out, "--workers", "1")
        self.assert_ok(result)
        self.assertGreater(result.seconds, SILENCE_S, "the disk was not slow: nothing tested")
        self.assertEqual(sorted(read_parts(out)), sorted(b"%s\t%d" % row for row in count_words([text]).items()))


class SmallQuota(Mounts):
    def test_a_job_at_three_percent_of_a_processor(self):
        # Each word once, in no order: the sort of the counted words shows no bytes for longer than silence.
        text = self.write("text", " ".join("%08x" % (i * 2654435761 % 2**32) for i in range(1_200_000)))
        group = ControlGroup.make(self, "cpu")
        group.limit_cpu(0.03)
        out = self.path("out")
        client = self.start("run", "wordcount", text, "-o", out, "--workers", "4", "--slots", "1", "--no-sample",
                            "--work-dir", self.work, preexec_fn=group.enter)
        result = self.finish(client, timeout=120)
        self.assert_ok(result)
        self.assertGreater(result.seconds, 2 * SILENCE_S, "the quota was not small: nothing tested")
        self.assert_ok(self.weir("verify", out))


class Building(WeirTest):
    def jobs(self, available_kib, groups, **limits):
        """What deploy/build-jobs says of a machine with these files; names of limits are paths, with __ for /."""
        root = self.path("machine")
        shutil.rmtree(root, ignore_errors=True)
        self.write("machine/proc/meminfo", f"MemTotal: 99999999 kB\nMemAvailable: {available_kib} kB\n")
        self.write("machine/proc/self/cgroup", groups)
        for path, limit in limits.items():
            self.write(f"machine/sys/fs/cgroup/{path.replace('__', '/')}", f"{limit}\n")
        found = subprocess.run(["bash", os.path.join(ROOT, "deploy/build-jobs"), root], capture_output=True, text=True, check=True)
        return int(found.stdout)

    def test_compilers_are_as_many_as_the_least_memory_allows(self):
        cores = int(subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout)
        if cores < 2:
            self.skipTest("this machine has one core: nothing to bound")
        much, little = (cores + 1) << 20, 1 << 30
        self.assertEqual(self.jobs(much, "0::/\n"), cores)
        self.assertEqual(self.jobs(900 << 10, "0::/\n"), 1)
        self.assertEqual(self.jobs(much, "0::/a/b\n", **{"a__b__memory.max": "max"}), cores)
        self.assertEqual(self.jobs(much, "0::/a/b\n", **{"a__b__memory.max": "max", "a__memory.max": little}), 1)
        # A container whose own group is mounted at the top.
        self.assertEqual(self.jobs(much, "0::/of/the/host\n", **{"memory.max": little}), 1)
        v1 = "7:cpu,cpuacct:/a\n5:memory:/a\n0::/\n"
        self.assertEqual(self.jobs(much, v1, **{"memory__a__memory.limit_in_bytes": 9223372036854771712}), cores)
        self.assertEqual(self.jobs(much, v1, **{"memory__a__memory.limit_in_bytes": little}), 1)


class Quickstart(WeirTest):
    def test_braces_are_a_glob(self):
        # Without apt-get it goes no further than to look at its inputs.
        os.makedirs(self.path("bin"))
        os.symlink(shutil.which("dirname"), self.path("bin/dirname"))
        for inputs, said in (("/no/{such,file}", "apt-get not found"), ("/no/such*", "apt-get not found"), ("/no/such", "no such input")):
            with self.subTest(inputs):
                ended = subprocess.run([shutil.which("bash"), os.path.join(ROOT, "deploy/quickstart"), inputs], capture_output=True, text=True,
                                       env={"PATH": self.path("bin")}, check=False)
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn(said, ended.stderr)


class FewThreads(WeirTest):
    """Users that may have few threads: the limit counts all of a user's, so it is one who has no others, and root has no limit."""

    USER = 61_234
    one_at_a_time = True

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can become a user who has no other threads")
        for directory in (self.dir, self.work):
            os.chmod(directory, 0o777)
        try:
            version = self.start_limited(1000, "--version")
        except (PermissionError, subprocess.SubprocessError) as error:
            self.skipTest(f"another user cannot start the program: {error}")
        self.assert_ok(self.finish(version))

    def start_limited(self, threads, *args):
        def become_user():
            resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))
            os.setgroups([])
            os.setgid(self.USER)
            os.setuid(self.USER)
        return self.start(*args, preexec_fn=become_user, cwd=self.dir)

    def test_daemons_and_commands_say_that_threads_are_missing(self):
        nobody = f"127.0.0.1:{free_port()}"
        commands = {"master": ("master", "--listen", "127.0.0.1:0", "--journal", self.path("journal")),
                    "worker": ("worker", "--master", nobody, "--name", "a", "--work-dir", self.work),
                    "list": ("list", "jobs", "--master", nobody),
                    "submit": ("submit", "wordcount", self.write("text", "x"), "-o", self.path("out"), "--master", nobody)}
        # Of few, threads of the program itself are missing; of more, those that gRPC starts, which aborts or waits.
        for name, code, counts in (("master", 4, (4, 10, 15, 18, 20)), ("worker", 4, (3, 6, 8, 10, 12)), ("list", 1, (3, 6)),
                                   ("submit", 1, (3, 6))):
            for threads in counts:
                with self.subTest(command=name, threads=threads):
                    result = self.finish(self.start_limited(threads, *commands[name]), timeout=20)
                    self.assert_fails(result, code, "weir: not enough threads", "ulimit -u")
        self.assert_nothing_left(self.path("out"))

    def test_a_master_serves_where_threads_suffice(self):
        address = f"127.0.0.1:{free_port()}"
        master = self.start_limited(200, "master", "--listen", address, "--journal", self.path("journal"))
        # As its own user, who has its token.
        wait_for(lambda: self.finish(self.start_limited(400, "list", "jobs", "--master", address)).code == 0, 20, "an answer")
        self.assertIsNone(master.poll())
        master.send_signal(signal.SIGTERM)
        self.assert_ok(self.finish(master))


class LittleMemory(Mounts):
    LIMIT = 64 << 20

    def little_memory(self):
        group = ControlGroup.make(self, "memory")
        group.limit_memory(self.LIMIT)
        return group

    def test_the_kernel_ends_a_task_and_the_error_says_so(self):
        records = self.path("records")
        self.assert_ok(self.weir("data", "generate", "terasort", "--records", "1000000", "-o", records))
        # Of a file that is not packed, records stay in the page cache, which the kernel takes back.
        subprocess.run(["gzip", "-1", "-k", records], check=True)
        group = self.little_memory()
        out = self.path("out")
        job = ("run", "terasort", records + ".gz", "-o", out, "--workers", "1", "--slots", "1", "--work-dir", self.work)
        result = self.finish(self.start(*job, "--memory", "4GiB", preexec_fn=group.enter))
        self.assert_fails(result, 1, "OUT_OF_MEMORY", "OOM killer", group.directory, str(self.LIMIT), "--memory")
        self.assert_nothing_left(out)
        # As the advice says: and left to itself it looks at what the group leaves.
        for memory in (("--memory", "20MiB"), ()):
            with self.subTest(memory):
                self.assert_ok(self.finish(self.start(*job, *memory, "--overwrite", preexec_fn=group.enter)))
                self.assert_ok(self.weir("data", "validate", "terasort", out, "--input", records))

    def test_eight_times_the_memory_is_sorted_and_counted(self):
        group = self.little_memory()
        memory = ("--memory", "20MiB", "--workers", "1", "--slots", "2", "--work-dir", self.work)
        records = self.path("records")
        self.assert_ok(self.weir("data", "generate", "terasort", "--records", "1700000", "-o", records))
        # Each word once, in no order, but for one: a third of all.
        text = self.write("text", " ".join("the %08x%08x" % (i * 2654435761 % 2**32, i) if i % 2 else "word%x" % i
                                           for i in range(9_000_000)))
        out = self.path("sorted")
        self.assert_ok(self.finish(self.start("run", "terasort", records, "-o", out, *memory, preexec_fn=group.enter), timeout=300))
        self.assert_ok(self.weir("data", "validate", "terasort", out, "--input", records))
        out = self.path("counted")
        counting = self.finish(self.start("run", "wordcount", text, "-o", out, *memory, "--set", "top=1",
                                          preexec_fn=group.enter), timeout=300)
        self.assert_ok(counting)
        self.assertEqual(counting.out, b"4500000 the\n")
        with open(out + "/manifest.json", encoding="utf-8") as file:
            self.assertEqual(sum(part["records"] for part in json.load(file)["parts"]), 9_000_001)
        self.assertEqual(glob.glob(self.work + "/**/spill-*", recursive=True), [])

    BUDGET = 64 << 20

    def words_beyond_the_budget(self):
        """512 MiB: 30 % of all words are one, the others are two million, whose table does not fit into the budget."""
        rng = random.Random(7)
        block = " ".join("klm" if i % 10 in (0, 3, 7) else "%x" % rng.getrandbits(40) for i in range(900_000)) + "\n"
        digits = "0123456789abcdef"
        path = self.path("words")
        with open(path, "w", encoding="ascii") as file:
            # Blocks that differ by what stands for which digit have no other word in common.
            while file.tell() < 8 * self.BUDGET:
                turn = file.tell() // len(block) % 3
                file.write(block.translate(str.maketrans(digits, digits[turn:] + digits[:turn])))
        return path

    def records_beyond_the_budget(self):
        """512 MiB of records, 30 % of them with one key."""
        path = self.path("records")
        self.assert_ok(self.weir("data", "generate", "terasort", "--records", str(8 * self.BUDGET // 100), "-o", path))
        with open(path, "r+b") as file:
            records = bytearray(file.read())
            for record in (0, 3, 7):
                for byte in range(10):
                    at = slice(100 * record + byte, None, 1000)
                    records[at] = b"k" * len(range(len(records))[at])
            file.seek(0)
            file.write(records)
        return path

    def resident_peaks(self, group, client):
        """Largest VmHWM in bytes of each process of the group but the client, until that ends; by pid and name."""
        peaks = {}
        while client.poll() is None:
            with open(group.file("cgroup.procs"), encoding="ascii") as file:
                pids = [int(pid) for pid in file.read().split()]
            for pid in pids:
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        name = file.read().split(b"\0")[1:2]
                    with open(f"/proc/{pid}/status", encoding="ascii") as file:
                        kilobytes = [int(row.split()[1]) for row in file if row.startswith("VmHWM:")]
                except OSError:
                    continue  # it has ended
                if kilobytes and name == [b"task"]:
                    peaks[pid] = max(peaks.get(pid, 0), kilobytes[0] << 10)
            time.sleep(0.01)
        return peaks

    def run_within_budget(self, *job):
        """On two slots; the result, once all tasks were seen to stay within their budget."""
        # Beside the task there is the client, which is master and worker here.
        group = ControlGroup.make(self, "memory")
        group.limit_memory(self.BUDGET + (64 << 20))
        client = self.start("run", *job, "--memory", str(self.BUDGET), "--workers", "1", "--slots", "2",
                            "--work-dir", self.work, "--no-sample", preexec_fn=group.enter)
        peaks = self.resident_peaks(group, client)
        result = self.finish(client, timeout=120)
        self.assert_ok(result)
        self.assertTrue(peaks, "no task was seen")
        for peak in peaks.values():
            self.assertLessEqual(peak, 1.1 * self.BUDGET)
        return result

    def test_sorting_eight_times_the_budget_stays_within_it(self):
        records, out = self.records_beyond_the_budget(), self.path("out")
        self.run_within_budget("terasort", records, "-o", out)
        self.assert_ok(self.weir("data", "validate", "terasort", out, "--input", records))

    def test_counting_eight_times_the_budget_stays_within_it(self):
        text, out = self.words_beyond_the_budget(), self.path("out")
        result = self.run_within_budget("wordcount", text, "-o", out, "--set", "top=1")
        self.assertIn("spilled_bytes", result.err)
        with open(text, "rb") as file:
            blocks = sum(1 for _ in file)
        self.assertEqual(result.out, b"%d klm\n" % (270_000 * blocks))
        self.assert_ok(self.weir("verify", out))

    def worker_in(self, group):
        """What the master lists of a worker that was started in the control group."""
        cluster = Cluster(self, workers=0)
        worker = self.start("worker", "--master", cluster.address, "--name", "small", "--work-dir", self.work,
                            preexec_fn=group.enter)
        cluster.workers.append(worker)
        cluster.wait_for_workers(1)
        rows = json.loads(self.weir("list", "workers", "--json", "--master", cluster.address).out)["workers"]
        cluster.stop()
        worker.communicate()
        return rows[0]

    def test_a_worker_tells_what_its_group_leaves(self):
        group = self.little_memory()
        listed = self.worker_in(group)
        self.assertLessEqual(listed["available_memory_bytes"], self.LIMIT)
        self.assertGreater(listed["available_memory_bytes"], 0)

    def test_a_worker_has_as_many_slots_as_its_quota_keeps_busy(self):
        group = ControlGroup.make(self, "cpu")
        group.limit_cpu(0.5)
        listed = self.worker_in(group)
        self.assertEqual(listed["slots"], 1)
        self.assertEqual(listed["cores"], 0.5)


if __name__ == "__main__":
    beside_each_other.main()
