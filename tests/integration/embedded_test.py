"""weir run without a cluster: results against sequential oracles, inputs of every kind, misuse."""
import json
import os
import random
import subprocess
import unittest

from weir_process import BINARY, WeirTest, count_words, free_port, read_parts, wait_for, write_words


class WordCount(WeirTest):
    def check_counts(self, inputs, *args, files=None):
        out = self.path("out")
        result = self.run_job("wordcount", *inputs, "-o", out, *args)
        self.assert_ok(result)
        expected = sorted(b"%s\t%d" % (w, n) for w, n in count_words(files or inputs).items())
        self.assertEqual(sorted(read_parts(out)), expected)
        self.assert_ok(self.weir("verify", out))
        return result, out

    def test_text_equals_oracle_and_parts_are_sorted(self):
        text = self.path("text.txt")
        write_words(text, 3)
        result, out = self.check_counts([text], "--set", "top=3", "--workers", "3")
        for name in sorted(os.listdir(out)):
            if name.startswith("part-"):
                with open(os.path.join(out, name), "rb") as file:
                    words = [line.split(b"\t")[0] for line in file.read().split(b"\n")[:-1]]
                self.assertEqual(words, sorted(words), name)
        top = count_words([text]).most_common(3)
        shown = result.out.split()
        for word, number in top:
            self.assertIn(word, shown)
            self.assertIn(b"%d" % number, shown)
        self.assertEqual(len(result.out.strip().split(b"\n")), 3)
        self.assert_nothing_left()

    def test_same_words_for_any_number_of_workers_mappers_reducers(self):
        text = self.path("text.txt")
        write_words(text, 2)
        seen = set()
        for i, args in enumerate((["--workers", "1"], ["--workers", "2"], ["--workers", "5"],
                                  ["--workers", "3", "--mappers", "7", "--reducers", "4"])):
            out = self.path(f"out{i}")
            self.assert_ok(self.run_job("wordcount", text, "-o", out, *args))
            seen.add(tuple(sorted(read_parts(out))))
        self.assertEqual(len(seen), 1)

    def test_same_plan_gives_the_same_files(self):
        text = self.path("text.txt")
        write_words(text, 2)
        contents = []
        for i in range(2):
            out = self.path(f"out{i}")
            # What the first run taught would change the second's plan.
            self.assert_ok(self.run_job("wordcount", text, "-o", out, "--workers", "3", "--no-history"))
            contents.append({n: self.text(os.path.join(out, n)) for n in os.listdir(out) if n.startswith("part-")})
        self.assertEqual(len(contents[0]), 3)
        self.assertEqual(contents[0], contents[1])

    def test_write_modes_store_the_same_result(self):
        text = self.path("text.txt")
        write_words(text, 2)
        parts = self.path("parts")
        self.assert_ok(self.run_job("wordcount", text, "-o", parts, "--workers", "3", "--reducers", "4"))
        names = [n for n in sorted(os.listdir(parts)) if n.startswith("part-")]
        self.assertEqual(len(names), 4)
        joined = b"".join(self.bytes_of(parts, name) for name in names)
        for workers in ("1", "2", "3", "8"):
            out = self.path(f"one{workers}")
            self.assert_ok(self.run_job("wordcount", text, "-o", out, "--workers", workers, "--reducers", "4",
                                        "--plan-method", "even", "--write", "one"))
            self.assertEqual([n for n in os.listdir(out) if n.startswith("part-")], ["part-00000"])
            # The key space of four even reducers is cut the same way whoever runs them.
            even = self.path(f"even{workers}")
            self.assert_ok(self.run_job("wordcount", text, "-o", even, "--workers", workers, "--reducers", "4",
                                        "--plan-method", "even"))
            self.assertEqual(self.bytes_of(out, "part-00000"), b"".join(
                self.bytes_of(even, n) for n in sorted(os.listdir(even)) if n.startswith("part-")))
            self.assertEqual(sorted(read_parts(out)), sorted(joined.split(b"\n")[:-1]))
            self.assert_ok(self.weir("verify", out))
        for mode in ("parallel", "parallel:1", "parallel:3"):
            out = self.path(mode)
            self.assert_ok(self.run_job("wordcount", text, "-o", out, "--workers", "3", "--reducers", "4",
                                        "--plan-method", "even", "--write", mode))
            self.assertEqual([n for n in sorted(os.listdir(out)) if n.startswith("part-")], names)
            for name in names:
                self.assertEqual(self.bytes_of(out, name), self.bytes_of(self.path("even3"), name), name)
            self.assert_ok(self.weir("verify", out))
        self.assert_nothing_left()

    def bytes_of(self, directory, name):
        with open(os.path.join(directory, name), "rb") as file:
            return file.read()

    def test_one_file_of_an_empty_input(self):
        out = self.path("out")
        self.assert_ok(self.run_job("wordcount", self.write("empty", b""), "-o", out, "--write", "one"))
        self.assertEqual(self.bytes_of(out, "part-00000"), b"")

    def test_directory_glob_and_many_small_files(self):
        files = [self.write(f"in/{i % 7}/f{i}.txt", f"alpha w{i}\nbeta") for i in range(300)]
        self.check_counts([self.path("in")], files=files)
        out = self.path("out2")
        self.assert_ok(self.run_job("wordcount", self.path("in/*/f1*.txt"), "-o", out))
        globbed = [f for f in files if os.path.basename(f).startswith("f1")]
        self.assertEqual(sorted(read_parts(out)),
                         sorted(b"%s\t%d" % (w, n) for w, n in count_words(globbed).items()))

    def test_empty_input_gives_empty_output(self):
        self.check_counts([self.write("empty", b"")])

    def test_only_white_space_and_no_final_newline(self):
        self.check_counts([self.write("a", b" \t\r\n\v\f "), self.write("b", b"x y\nz x")])

    def test_binary_input_is_just_bytes(self):
        self.check_counts([self.write("bin", bytes(range(256)) * 5000)])

    def test_real_directory(self):
        self.check_counts(["/usr/share/common-licenses"],
                          files=[os.path.join(d, f) for d, _, names in os.walk("/usr/share/common-licenses")
                                 for f in names])

    def test_closed_standard_streams_are_nowhere(self):
        text = self.write("text", "x y x")
        for streams in ((0,), (1,), (2,), (0, 1, 2)):
            with self.subTest(closed=streams):
                out = self.path("out-" + "-".join(map(str, streams)))
                result = self.weir("run", "wordcount", text, "-o", out, "--work-dir", self.work, "--workers", "2",
                                   preexec_fn=lambda closed=streams: [os.close(fd) for fd in closed])
                self.assert_ok(result)
                self.assertEqual(sorted(read_parts(out)), [b"x\t2", b"y\t1"])
                self.assert_ok(self.weir("verify", out))
        # What else would be one of them depends on what is opened first: a daemon shows it for as long as it runs.
        port = free_port()
        master = self.start("master", "--listen", f"127.0.0.1:{port}", "--journal", self.path("journal.db"),
                            preexec_fn=lambda: [os.close(fd) for fd in (0, 1, 2)])
        self.addCleanup(master.kill)
        wait_for(lambda: self.weir("list", "--master", f"127.0.0.1:{port}").code == 0, 20, "the master serves")
        streams = [os.readlink(f"/proc/{master.pid}/fd/{fd}") for fd in (0, 1, 2)]
        master.terminate()
        self.assert_ok(self.finish(master))
        self.assertEqual(streams, ["/dev/null"] * 3)
        self.assert_nothing_left()

    def test_one_megabyte_needs_no_flags(self):
        text = self.path("text.txt")
        write_words(text, 1)
        self.check_counts([text])


class Prediction(WeirTest):
    def plan_of(self, out):
        with open(os.path.join(out, "_weir", "plan.json"), encoding="utf-8") as file:
            return json.load(file)

    def origin(self, plan, name):
        return next(n["origin"] for n in plan["numbers"] if n["name"] == name)

    def test_a_second_run_uses_what_the_first_taught(self):
        text = self.path("text.txt")
        write_words(text, 8)
        origins = []
        for turn in range(3):
            out = self.path(f"out{turn}")
            flags = ["--no-history"] if turn == 2 else []
            self.assert_ok(self.run_job("wordcount", text, "-o", out, "--workers", "2", *flags))
            origins.append(self.origin(self.plan_of(out), "map time"))
        self.assertEqual(origins, ["default", "history", "default"])
        with open(os.path.join(self.path("state"), "weir", "shapes"), "rb") as file:
            self.assertEqual(file.read().count(b"wordcount"), 1, "the last run of a kind says all")

    def test_a_large_input_is_sampled_and_says_so(self):
        text = self.path("text.txt")
        write_words(text, 70)
        result = self.weir("plan", "wordcount", text, "--workers", "2", "--json")
        self.assert_ok(result)
        self.assertEqual(self.origin(json.loads(result.out), "map output"), "sampled")
        plain = self.weir("plan", "wordcount", text, "--workers", "2", "--no-sample", "--json")
        self.assert_ok(plain)
        self.assertEqual(self.origin(json.loads(plain.out), "map output"), "default")
        out = self.path("out")
        self.assert_ok(self.run_job("wordcount", text, "-o", out, "--workers", "2"))
        self.assert_ok(self.weir("verify", out))
        self.assertEqual(sorted(read_parts(out)),
                         sorted(b"%s\t%d" % (w, n) for w, n in count_words([text]).items()))

    def test_chunks_of_a_text_of_two_kinds_are_cut_by_what_they_cost(self):
        text = self.path("text.txt")
        new = (b"word%08d\n" % i for i in range(3_000_000))
        with open(text, "wb") as file:
            file.writelines(new)
            file.write(b"the same again\n" * (file.tell() // 15))
        size = os.path.getsize(text)
        self.assertGreater(size, 64 << 20, "large enough to be sampled")
        for turn in range(2):  # the second one by what the first taught
            out = self.path(f"out{turn}")
            self.assert_ok(self.run_job("wordcount", text, "-o", out, "--workers", "2"))
            plan = self.plan_of(out)
            self.assertTrue(any("chunks are cut by cost" in note for note in plan["notes"]), plan["notes"])
            maps = [step for step in plan["steps"] if step["kind"] == "map"]
            self.assertEqual(sum(step["input_bytes"] for step in maps), size)
            self.assertEqual([step["input_begin"] for step in maps], [0, maps[0]["input_bytes"]])
            self.assertLess(maps[0]["input_bytes"], 0.4 * size)
            self.assertEqual(plan["input_part_ends"][-1], size)
            lines = read_parts(out)
            self.assertEqual(len(lines), 3_000_003)
            counts = dict(line.split(b"\t") for line in lines if not line.startswith(b"word"))
            repeated = b"%d" % (3_000_000 * 13 // 15)
            self.assertEqual(counts, {b"the": repeated, b"same": repeated, b"again": repeated})
            self.assertTrue(all(line.endswith(b"\t1") for line in lines if line.startswith(b"word")))

    def test_the_disk_of_a_large_output_is_measured_until_a_run_told(self):
        records = self.path("records")
        self.assert_ok(self.weir("data", "generate", "terasort", "--records", "700000", "-o", records))
        out = self.path("out")

        def names(*flags):
            self.assert_ok(self.run_job("terasort", records, "-o", out, "--overwrite", "--workers", "2", *flags))
            return [n["name"] for n in self.plan_of(out)["numbers"]]

        # Where the disk is busy with something else at just the wrong moment, nothing can be told.
        self.assertTrue(any("output disk time" in names("--no-history") for _ in range(5)))
        self.assertEqual(self.origin(self.plan_of(out), "output disk time"), "measured")
        self.assertEqual([name for name in os.listdir(self.dir) if "trial" in name], [], "left beside the output")
        self.assertNotIn("output disk time", names("--no-history", "--no-sample"))
        names()
        self.assertNotIn("output disk time", names(), "the first run told what its reducers took")

    def test_the_disk_of_a_large_input_is_measured_where_it_is_not_in_memory(self):
        text = self.path("text.txt")
        with open(text, "wb") as file:
            for _ in range(270):
                file.write(b"the same words\n" * 70_000)
            file.flush()
            os.fsync(file.fileno())
        size = os.path.getsize(text)
        self.assertGreater(size, 256_000_000, "large enough to be asked for")
        out = self.path("out")

        def drop():
            """Says whether nothing of it is in memory now."""
            with open(text, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                missing = 0
                for place in range(20):
                    try:
                        os.preadv(file.fileno(), [bytearray(1)], size // 20 * place, os.RWF_NOWAIT)
                    except BlockingIOError:
                        missing += 1
                    except OSError:
                        return False
                return missing == 20

        def names():
            self.assert_ok(self.run_job("wordcount", text, "-o", out, "--overwrite", "--workers", "2",
                                        "--no-history", "--no-sample"))
            return [n["name"] for n in self.plan_of(out)["numbers"]]

        def names_of_cold():
            if not drop():
                self.skipTest(f"the file system of {self.dir} keeps files in memory, or does not tell")
            return names()

        # A disk that others keep from being slower than memory at just the wrong moment tells nothing.
        self.assertTrue(any("input disk time" in names_of_cold() for _ in range(5)))
        self.assertEqual(self.origin(self.plan_of(out), "input disk time"), "measured")
        with open(text, "rb") as file:
            while file.read(1 << 20):
                pass
        self.assertNotIn("input disk time", names(), "all of it was just read")

    def test_bytes_follow_fractions_where_keys_are_skewed(self):
        # All keys lie in one 256th of the key space.
        rng = random.Random(5)
        records = [b"A" + rng.randbytes(9) + b"x" * 90 for _ in range(10000)]
        text = self.path("records")
        with open(text, "wb") as file:
            for _ in range(70):
                file.write(b"".join(records))
        out = self.path("out")
        self.assert_ok(self.run_job("terasort", text, "-o", out, "--workers", "2", "--reducers", "4"))
        read = {s["index"]: s for s in self.plan_of(out)["steps"] if s["kind"] == "reduce"}
        total = sum(s["actual_input_bytes"] for s in read.values())
        for step in read.values():
            self.assertAlmostEqual(step["actual_input_bytes"] / total, step["load_fraction"], delta=0.05)

    def test_what_happened_is_told_in_bytes_that_happened(self):
        text = self.path("text.txt")
        write_words(text, 2)
        out = self.path("out")
        self.assert_ok(self.run_job("wordcount", text, "-o", out, "--workers", "2", "--reducers", "3"))
        parts = [os.path.getsize(os.path.join(out, f"part-0000{i}")) for i in range(3)]
        reduces = [s for s in self.plan_of(out)["steps"] if s["kind"] == "reduce"]
        self.assertEqual([s["actual_output_bytes"] for s in sorted(reduces, key=lambda s: s["index"])], parts)
        with open(os.path.join(out, "_weir", "trace.json"), encoding="utf-8") as file:
            slices = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X" and e["pid"] < 1000000]
        self.assertEqual(sorted(e["args"]["output_bytes"] for e in slices if e["cat"] == "reduce"), sorted(parts))

    def test_damaged_memory_is_no_memory(self):
        text = self.write("text.txt", b"a b c\n" * 1000)
        os.makedirs(self.path("state/weir"), exist_ok=True)
        self.write("state/weir/shapes", b"\xff\x00 no message")
        self.assert_ok(self.run_job("wordcount", text, "-o", self.path("out")))


class OneBrc(WeirTest):
    def test_rounding_signs_and_order(self):
        rows = ["Ab;0.1", "Ab;0.0", "Zürich;-0.1", "Zürich;0.0", "B;-99.9", "B;99.9", "C;-0.3", "C;0.2"]
        out = self.path("out")
        result = self.run_job("onebrc", self.write("rows", "\n".join(rows)), "-o", out)
        self.assert_ok(result)
        # means: Ab 0.05 -> 0.1; Z -0.05 -> 0.0 (half up, never -0.0); B 0.0; C -0.05 -> 0.0
        self.assertEqual(result.out.decode().strip(),
                         "{Ab=0.0/0.1/0.1, B=-99.9/0.0/99.9, C=-0.3/0.0/0.2, Zürich=-0.1/0.0/0.0}")
        self.assert_ok(self.weir("verify", out))

    def test_malformed_row_names_file_offset_and_content(self):
        good = "Hamburg;12.0\n" * 1000
        path = self.write("rows", good + "Hamburg;12\n" + good)
        out = self.path("out")
        result = self.run_job("onebrc", path, "-o", out)
        self.assert_fails(result, 1, path, str(len(good)), "Hamburg;12")
        self.assert_nothing_left(out)

    def test_crlf_is_data_and_is_rejected_with_its_place(self):
        path = self.write("rows", b"A;1.0\r\n")
        result = self.run_job("onebrc", path, "-o", self.path("out"))
        self.assert_fails(result, 1, path)

    def test_many_stations(self):
        stations = 20000
        rows = "".join(f"station-{i:06d};{(i % 1999 - 999) / 10:.1f}\n" for i in range(stations))
        result = self.run_job("onebrc", self.write("rows", rows), "-o", self.path("out"), "--workers", "3")
        self.assert_ok(result)
        self.assertEqual(result.out.count(b"station-"), stations)


class Misuse(WeirTest):
    def test_missing_path(self):
        out = self.path("out")
        result = self.run_job("wordcount", self.path("nowhere"), "-o", out)
        self.assert_fails(result, 4, "INPUT_NOT_FOUND", self.path("nowhere"))
        self.assert_nothing_left(out)

    def test_a_current_directory_that_was_removed_is_not_taken_for_the_root(self):
        self.write("x", "a b")
        gone = self.path("gone")
        os.mkdir(gone)

        def go_there_and_remove_it():
            os.chdir(gone)
            os.rmdir(gone)
        for code, *args in ((4, "run", "wordcount", self.path("x"), "-o", self.path("out")), (4, "verify", "."),
                            (4, "plan", "wordcount", "etc/passwd"),
                            # 4 would be: the output exists.
                            (5, "streaming", "-input", self.path("x"), "-output", self.path("out"), "-mapper", "cat"),
                            (1, "hadoop", "fs", "-ls", "file:///")):
            with self.subTest(args[0]):
                os.makedirs(gone, exist_ok=True)
                result = self.weir(*args, preexec_fn=go_there_and_remove_it)
                self.assert_fails(result, code, "the current directory", "removed", "cd")
        self.assert_nothing_left(self.path("out"))

    def test_inputs_that_are_no_paths(self):
        out = self.path("out")
        for place in ("s3://bucket/key", "http://host/x", "hdfs://name/x", "-"):
            result = self.run_job("wordcount", place, "-o", out)
            self.assert_fails(result, 2, "INVALID_JOB", place)
            self.assertNotIn("does not exist", result.err)
        self.assert_nothing_left(out)

    def test_names_that_are_not_utf_8(self):
        a = self.write("a", "x")
        self.assert_fails(self.run_job("wordcount", os.fsencode(self.path("gone")) + b"\xff", "-o", self.path("out")), 4,
                          "INPUT_UNREADABLE", "UTF-8")
        self.assert_fails(self.run_job("wordcount", a, "-o", os.fsencode(self.path("out")) + b"\xff"), 4,
                          "OUTPUT_UNUSABLE", "UTF-8")

    def test_a_link_that_leads_back(self):
        self.write("in/sub/a", "x")
        os.symlink("..", self.path("in/sub/loop"))
        result = self.run_job("wordcount", self.path("in"), "-o", self.path("out"))
        self.assert_fails(result, 4, "INPUT_UNREADABLE", self.path("in/sub/loop"), "leads back", "remove the link")
        self.assert_nothing_left(self.path("out"))

    def test_help_and_results_that_cannot_be_written_fail(self):
        for words in (["--help"], ["run", "--help"], ["version"], ["plan", "wordcount", self.write("a", "x")]):
            with open("/dev/full", "w") as full:
                process = subprocess.run([BINARY, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(process.returncode, 1, words)
            self.assertIn("could not be written to stdout", process.stderr)

    def test_a_link_that_leads_nowhere_is_no_smaller_input(self):
        self.write("in/a", "x")
        os.symlink("gone", self.path("in/link"))
        result = self.run_job("wordcount", self.path("in"), "-o", self.path("out"))
        self.assert_fails(result, 4, "INPUT_NOT_FOUND", self.path("in/link"), "leads nowhere", "remove the link")
        self.assert_nothing_left(self.path("out"))

    def test_outputs_that_cannot_be(self):
        a = self.write("a", "x")
        os.symlink("nowhere", self.path("link"))
        for out, why in ((self.path("o" * 250), "choose a shorter name"), ("/proc/out", "OUTPUT_UNUSABLE"),
                         (self.path("link"), "leads nowhere")):
            result = self.run_job("wordcount", a, "-o", out)
            self.assert_fails(result, 4, "OUTPUT_UNUSABLE", out, why)
            self.assertNotIn("predicted", result.err, "the job was planned")

    def test_a_link_is_not_replaced(self):
        a = self.write("a", "x y")
        self.assert_ok(self.run_job("wordcount", a, "-o", self.path("real")))
        os.symlink("real", self.path("link"))
        before = sorted(read_parts(self.path("real")))
        for out in (self.path("link"), self.path("link") + "/"):
            self.assert_fails(self.run_job("wordcount", self.write("b", "z"), "-o", out, "--overwrite"), 4,
                              "OUTPUT_UNUSABLE", "symbolic link", "name the directory that it leads to")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(sorted(read_parts(self.path("real"))), before)
        self.assert_ok(self.run_job("wordcount", a, "-o", self.path("link", "below")))

    def test_output_where_the_user_may_not_write(self):
        a = self.write("a", "x")
        os.mkdir(self.path("closed"), 0o555)
        for directory in (self.dir, self.work):
            os.chmod(directory, 0o777)
        drop = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        result = self.weir("run", "wordcount", a, "-o", self.path("closed/out"), "--work-dir", self.work, **drop)
        self.assert_fails(result, 4, "OUTPUT_UNUSABLE", "ermission", "check permissions")

    def test_glob_without_match(self):
        result = self.run_job("wordcount", self.path("*.none"), "-o", self.path("out"))
        self.assert_fails(result, 4, "*.none")

    def test_unknown_job_suggests(self):
        result = self.run_job("wordcuont", self.write("a", "x"), "-o", self.path("out"))
        self.assertIn(result.code, (2, 4))
        self.assertIn("wordcount", result.err)

    def test_unknown_write_mode_lists_the_known_ones(self):
        result = self.run_job("wordcount", self.write("a", "x"), "-o", self.path("out"), "--write", "all")
        self.assert_fails(result, 2, "unknown write mode 'all'", "parallel:N")

    def test_unknown_codec_lists_the_known_ones(self):
        result = self.run_job("wordcount", self.write("a", "x"), "-o", self.path("out"), "--codec", "snappy")
        self.assert_fails(result, 2, "unknown codec 'snappy'", "auto", "lz4", "zstd")

    def test_packed_runs_change_no_result(self):
        text = self.path("text.txt")
        write_words(text, 2)
        for codec in ("none", "lz4", "zstd", "auto"):
            self.assert_ok(self.run_job("wordcount", text, "-o", self.path(codec), "--workers", "2", "--codec", codec))
            self.assertEqual(sorted(read_parts(self.path(codec))), sorted(read_parts(self.path("none"))))

    def test_bad_set(self):
        a = self.write("a", "x")
        for bad in ("top=-1", "top=many", "tpo=3", "top"):
            result = self.run_job("wordcount", a, "-o", self.path("out"), "--set", bad)
            self.assertIn(result.code, (2, 4), bad)
            self.assertIn("top", result.err, bad)

    def test_bad_flags(self):
        a = self.write("a", "x")
        for args in (["--wrkers", "2"], ["--workers", "0"], ["--workers", "-3"], ["--workers", "x"],
                     ["--mappers", "-1"], ["--plan-method", "magic"], ["--deadline", "0s"], ["--mappers", "20000"]):
            result = self.run_job("wordcount", a, "-o", self.path("out"), *args)
            self.assertIn(result.code, (2, 4), args)
            self.assertTrue(result.err.strip(), args)
            self.assertLess(len(result.err.split("\n")), 40, args)
        self.assertEqual(self.weir("frobnicate").code, 2)
        self.assertEqual(self.weir("run").code, 2)

    def test_output_exists(self):
        a = self.write("a", "x y x")
        out = self.path("out")
        os.mkdir(out)
        keep = self.write("out/keep", "mine")
        result = self.run_job("wordcount", a, "-o", out)
        self.assert_fails(result, 4, out, "--overwrite")
        self.assert_fails(self.run_job("wordcount", a, "-o", out, "--overwrite"), 4, out, "keep")
        self.assertEqual(self.text(keep), "mine")
        os.remove(keep)
        self.assert_ok(self.run_job("wordcount", a, "-o", out, "--overwrite"))
        self.assertEqual(sorted(read_parts(out)), [b"x\t2", b"y\t1"])
        b = self.write("b", "z")
        self.assert_ok(self.run_job("wordcount", b, "-o", out, "--overwrite"))
        self.assertEqual(sorted(read_parts(out)), [b"z\t1"])
        self.assert_nothing_left()

    def test_unreadable_file(self):
        secret = self.write("secret", "x")
        os.chmod(secret, 0)
        for directory in (self.dir, self.work):
            os.chmod(directory, 0o777)
        out = self.path("out")
        drop = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        result = self.weir("run", "wordcount", secret, "-o", out, "--work-dir", self.work, **drop)
        self.assert_fails(result, 4, "INPUT_UNREADABLE", secret, "ermission", "make the file readable")
        self.assert_nothing_left(out)

    def test_line_over_the_limit_names_it(self):
        path = self.path("line")
        with open(path, "wb") as file:
            file.write(b"A;1.0\n")
            file.truncate(1 << 30)  # a sparse gigabyte of NUL bytes in one line
        result = self.run_job("onebrc", path, "-o", self.path("out"), "--skip-bad", "5")
        self.assert_fails(result, 1, path, "--skip-bad cannot leave out")
        self.assert_nothing_left(self.path("out"))

    def test_one_word_of_a_gigabyte_names_the_limit(self):
        path = self.path("word")
        with open(path, "wb") as file:
            file.truncate(1 << 30)
        result = self.run_job("wordcount", path, "-o", self.path("out"))
        self.assert_fails(result, 1, path, "limit")
        self.assert_nothing_left(self.path("out"))

    def test_verify_finds_damage(self):
        out = self.path("out")
        self.assert_ok(self.run_job("wordcount", self.write("a", "x y z"), "-o", out))
        part = next(os.path.join(out, n) for n in sorted(os.listdir(out))
                    if n.startswith("part-") and os.path.getsize(os.path.join(out, n)))
        with open(part, "r+b") as file:
            first = file.read(1)
            file.seek(0)
            file.write(bytes([first[0] ^ 1]))
        result = self.weir("verify", out)
        self.assertEqual(result.code, 1)
        self.assertIn(os.path.basename(part), result.err + result.out.decode())

    def test_two_at_once(self):
        text = self.path("text.txt")
        write_words(text, 4)
        both = [self.start("run", "wordcount", text, "-o", self.path(f"out{i}"), "--work-dir", self.work)
                for i in range(2)]
        for process in both:
            self.assert_ok(self.finish(process))
        self.assertEqual(read_parts(self.path("out0")), read_parts(self.path("out1")))
        self.assert_nothing_left()


class Reading(WeirTest):
    def test_json_commands(self):
        a = self.write("a", "x y x")
        out = self.path("out")
        result = self.run_job("wordcount", a, "-o", out, "--json")
        self.assert_ok(result)
        self.assertEqual(json.loads(result.out)["schema"], 1)
        jobs = self.weir("jobs", "--json")
        self.assert_ok(jobs)
        self.assertIn("wordcount", jobs.out.decode())
        json.loads(jobs.out)

    def test_plan_is_a_dry_run(self):
        text = self.path("text.txt")
        write_words(text, 1)
        svg, trace = self.path("g.svg"), self.path("t.json")
        result = self.weir("plan", "wordcount", text, "--workers", "3", "--gantt", svg, "--trace", trace)
        self.assert_ok(result)
        self.assertIn("predicted", result.out.decode())
        self.assertIn("<svg", self.text(svg))
        self.assertTrue(json.loads(self.text(trace))["traceEvents"])
        self.assert_nothing_left(self.path("out"))

    def test_planner_on_instances(self):
        tree = self.write("tree.json", json.dumps({"schema": 1, "instances": [
            {"id": "x", "alg": "canon_greedy", "input": {"n": 6, "d": 2, "c": 3}}]}))
        svg = self.path("tree.svg")
        result = self.weir("planner", "tree", "--instance", tree, "--json", "--gantt", svg)
        self.assert_ok(result)
        solved = json.loads(result.out)["results"]
        self.assertEqual([(r["id"], r["makespan"]) for r in solved], [("x", 13)])
        self.assertIn("<svg", self.text(svg))
        # Stdout stays what it is, a pipe or a file: picture and results are both there.
        both = self.weir("planner", "tree", "--instance", tree, "--json", "--gantt", "/dev/stdout")
        self.assert_ok(both)
        shown = self.path("shown")
        with open(shown, "wb") as file:
            subprocess.run([BINARY, "planner", "tree", "--instance", tree, "--json", "--gantt", "/dev/stdout"], stdout=file,
                           check=True, timeout=60)
        for text in (both.out.decode(), self.text(shown)):
            self.assertIn("<svg", text)
            self.assertIn('"makespan"', text)
        bad = self.write("bad.json", json.dumps({"schema": 1, "instances": [
            {"id": "y", "alg": "canon_greedy", "input": {"n": 0, "d": 2, "c": 3}}]}))
        self.assert_fails(self.weir("planner", "tree", "--instance", bad, "--json"), 2, "y", "n")
        layer = {"id": "z", "type": "mapper", "n": 2, "r": 1, "l": 1, "V": 0, "C": 1e-6, "g": 1, "A": 1e-6, "S": 0,
                 "delta_next": [1]}
        load = self.write("load.json", json.dumps({"schema": 1, "instances": [layer]}))
        self.assert_fails(self.weir("planner", "load", "--instance", load, "--json"), 2, "z", "V")

    def test_pictures_of_a_run(self):
        text = self.path("text.txt")
        write_words(text, 1)
        svg = self.path("g.svg")
        self.assert_fails(self.run_job("wordcount", text, "-o", self.path("out"), "--gantt", self.path("no/g.svg")), 2,
                          "--gantt", self.path("no"))
        self.assertFalse(os.path.exists(self.path("out")))
        result = self.run_job("wordcount", text, "-o", self.path("out"), "--gantt", svg)
        self.assert_ok(result)
        self.assertIn("<svg", self.text(svg))
        self.assertIn("predicted", result.err)

    def test_pictures_replace_neither_data_nor_each_other(self):
        text = self.write("in/text", "x y x")
        os.symlink("in", self.path("way"))
        hidden = self.write("in/.g.svg", "old")
        for place in (text, self.path("in"), self.path("in/te*"), self.path("way"), self.path("in/../in/text")):
            for flag in ("--gantt", "--trace"):
                with self.subTest(place=place, flag=flag):
                    result = self.run_job("wordcount", place, "-o", self.path("out"), flag, text, "--json")
                    self.assert_fails(result, 2, flag, text, place, "name another file")
                    self.assertIn(place, json.loads(result.out)["error"]["message"])
                    self.assert_fails(self.weir("plan", "wordcount", place, flag, text), 2, flag)
        for a, b in (("new", "new"), ("new", "./new"), ("in/new", "way/new"), ("in/.g.svg", "way/.g.svg")):
            with self.subTest(gantt=a, trace=b):
                self.assert_fails(self.run_job("wordcount", text, "-o", self.path("out"), "--gantt", self.path(a), "--trace",
                                               self.path(b)), 2, "--gantt and --trace", self.path(a))
        self.assertEqual((self.text(text), self.text(hidden)), ("x y x", "old"))
        self.assert_nothing_left(self.path("out"))
        # A part of the result that is to be replaced, too: the picture would come last.
        self.assert_ok(self.run_job("wordcount", text, "-o", self.path("old")))
        for place in ("old", "old/part-00000", "old/new"):
            with self.subTest(in_output=place):
                result = self.run_job("wordcount", text, "-o", self.path("old"), "--overwrite", "--trace", self.path(place))
                self.assert_fails(result, 2, "--trace", self.path(place))
        self.assert_ok(self.weir("verify", self.path("old")))
        # What is no data of a directory is no input, and a device is no file.
        self.assert_ok(self.run_job("wordcount", self.path("in"), "-o", self.path("out"), "--gantt", hidden))
        self.assertIn("<svg", self.text(hidden))
        self.assert_ok(self.weir("plan", "wordcount", text, "--gantt", "/dev/null", "--trace", "/dev/null"))

    def test_a_small_job_says_little(self):
        records = self.write("records", b"k" * 100 * 7)
        result = self.run_job("terasort", records, "-o", self.path("out"), "--workers", "2")
        self.assert_ok(result)
        lines = result.err.strip().split("\n")
        self.assertLess(len(lines), 13, result.err)
        plan = [line for line in lines if line.startswith("plan: ") and "predicted" in line]
        self.assertEqual(len(plan), 1, result.err)
        self.assertRegex(plan[0], r"700 B on \d workers?, .*; predicted .*; limited by \w+")
        self.assertIn("first rows of the result:\n  kkkk", result.err)
        whole = self.run_job("terasort", records, "-o", self.path("out2"), "--workers", "2", "-v")
        self.assert_ok(whole)
        self.assertIn("critical path:", whole.err)
        self.assertNotIn("critical path:", result.err)
        quiet = self.run_job("terasort", records, "-o", self.path("out3"), "-q")
        self.assert_ok(quiet)
        self.assertEqual(quiet.err, "")

    def test_misuse_as_json(self):
        result = self.weir("run", "wordcount", "--json")
        self.assertEqual(result.code, 2)
        self.assertIn("INPUT", json.loads(result.out)["error"]["message"])
        for words, message in ((["jobs", "wordcuont"], "wordcount"), (["list", "jobs", "--alive", "w1"], "--alive"),
                               (["list", "workers", "--alive", ""], "empty name"),
                               (["data", "generate", "wordcount", "--records", "1", "-o", self.path("x")], "terasort")):
            result = self.weir(*words, "--json")
            self.assert_fails(result, 2, message)
            self.assertIn(message, json.loads(result.out)["error"]["message"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
