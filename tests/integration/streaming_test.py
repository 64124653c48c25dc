"""Scripts as mappers and reducers: the contract of Hadoop Streaming as a table of cases, scripts that misbehave, and
clusters."""
import collections
import io
import json
import os
import random
import signal
import sys
import tarfile
import unittest
import zipfile

from weir_process import Cluster, WeirTest, processes_mentioning, read_parts, wait_for

PYTHON = sys.executable

# One case of the table: options of `weir streaming` behind -input and -output; the lines of the result, in order,
# or a set of lines in any order; exit code; what stderr says.
Case = collections.namedtuple("Case", "name text options lines code says", defaults=(None, 0, ()))

PRINT_ENV = "bash -c 'cat >/dev/null; for v in %s; do echo \"$v:${!v}\"; done'"
KEYS = "b\t2\na\t1\nb\t1\nc\t3\n"
COUNT = "awk -F '\t' '{ n[$1] += $2 } END { for (k in n) print k \"\t\" n[k] }'"
COMPARATOR = "-Dmapreduce.job.output.key.comparator.class=" \
             "org.apache.hadoop.mapreduce.lib.partition.KeyFieldBasedComparator"


def mapper_env(names, *options):
    return ["-mapper", PRINT_ENV % names, "-reducer", "NONE", *options]


def hadoop_partition(text, count):
    value = 0
    for byte in text.encode():
        value = (31 * value + (byte - 256 if byte > 127 else byte)) & 0xffffffff
    return (value & 0x7fffffff) % count


CASES = [
    # Commands.
    Case("identity reducer sorts", KEYS, ["-mapper", "cat"], ["a\t1", "b\t2", "b\t1", "c\t3"]),
    Case("identity reducer by its class", KEYS,
         ["-mapper", "cat", "-reducer", "org.apache.hadoop.mapred.lib.IdentityReducer"], ["a\t1", "b\t2", "b\t1", "c\t3"]),
    Case("reducer gets key TAB value sorted", KEYS, ["-mapper", "cat", "-reducer", "cat -n"],
         ["     1\ta\t1", "     2\tb\t2", "     3\tb\t1", "     4\tc\t3"]),
    Case("single quotes", "x y\n", ["-mapper", "sed 's/x y/a b/'", "-reducer", "NONE"], ["a b\t"]),
    Case("double quotes", "x y\n", ["-mapper", 'sed "s/x y/a b/"', "-reducer", "NONE"], ["a b\t"]),
    Case("no shell", "x\n", ["-mapper", "echo $HOME | *", "-reducer", "NONE"], ["$HOME | *\t"]),
    Case("a quote ends the word before it", "x\n", ["-mapper", "echo a'b c'd", "-reducer", "NONE"], ["a b c d\t"]),
    Case("absolute program", KEYS, ["-mapper", "/bin/cat"], ["a\t1", "b\t2", "b\t1", "c\t3"]),
    Case("mapper gets the line only", "one\ntwo\n", ["-mapper", "cat", "-reducer", "NONE"], ["one\t", "two\t"]),
    Case("last line without newline", "one\ntwo", ["-mapper", "cat", "-reducer", "NONE"], ["one\t", "two\t"]),
    Case("empty lines are records", "a\n\n\nb\n", ["-mapper", "cat -n", "-reducer", "NONE"],
         ["     1\ta", "     2\t", "     3\t", "     4\tb"]),
    Case("output without newline at its end", "a\n", ["-mapper", "printf 'k\tv'", "-reducer", "NONE"], ["k\tv"]),
    Case("a mapper without output", "a\n", ["-mapper", "true"], []),
    Case("key with offset where ignoreKey is false", "ab\ncd\n",
         ["-D", "stream.map.input.ignoreKey=false", "-mapper", "cat", "-reducer", "NONE"], ["0\tab", "3\tcd"]),
    Case("KeyValueTextInputFormat", "a=1\nb\n",
         ["-inputformat", "KeyValueTextInputFormat", "-D",
          "mapreduce.input.keyvaluelinerecordreader.key.value.separator==", "-mapper", "cat", "-reducer", "NONE"],
         ["a\t1", "b\t"]),
    Case("NLineInputFormat: a process for a line", "a\nbc\nd",
         ["-inputformat", "org.apache.hadoop.mapred.lib.NLineInputFormat", "-mapper", "cat -n", "-reducer", "NONE"],
         ["     1\t0\ta", "     1\t2\tbc", "     1\t5\td"]),
    Case("NLineInputFormat: a process for two lines", "a\nb\nc\nd\ne\n",
         ["-inputformat", "NLineInputFormat", "-D", "mapred.line.input.format.linespermap=2", "-mapper",
          "bash -c 'cut -f 2 | tr \"\\n\" +; echo'", "-reducer", "NONE"], ["a+b+\t", "c+d+\t", "e+\t"]),
    Case("NLineInputFormat without offsets", "a\nb\n",
         ["-inputformat", "NLineInputFormat", "-D", "stream.map.input.ignoreKey=true", "-mapper", "cat -n", "-reducer", "NONE"],
         ["     1\ta", "     1\tb"]),
    Case("KeyValueTextInputFormat without keys", "a\t1\t2\nb\n",
         ["-inputformat", "KeyValueTextInputFormat", "-D", "stream.map.input.ignoreKey=true", "-mapper", "cat -n", "-reducer",
          "NONE"], ["     1\t1\t2", "     2\t"]),
    Case("TextInputFormat by its whole name", "a\n",
         ["-inputformat", "org.apache.hadoop.mapred.TextInputFormat", "-mapper", "cat", "-reducer", "NONE"], ["a\t"]),
    # Separators and key fields.
    Case("no separator: all is key", "b\na\n", ["-mapper", "cat", "-reducer", "cat"], ["a\t", "b\t"]),
    Case("map output separator", "a.x\nb.y\n",
         ["-D", "stream.map.output.field.separator=.", "-mapper", "cat", "-reducer", "cat"], ["a\tx", "b\ty"]),
    Case("number of key fields", "a.b.c.d\na.b.a.a\n",
         ["-D", "stream.map.output.field.separator=.", "-D", "stream.num.map.output.key.fields=2", "-mapper", "cat",
          "-reducer", "cat"], ["a.b\tc.d", "a.b\ta.a"]),
    Case("fewer fields than the key has", "a.b\n",
         ["-D", "stream.map.output.field.separator=.", "-D", "stream.num.map.output.key.fields=4", "-mapper", "cat",
          "-reducer", "cat"], ["a.b\t"]),
    Case("reduce input separator", KEYS,
         ["-D", "stream.reduce.input.field.separator=|", "-mapper", "cat", "-reducer", "cat"],
         ["a|1\t", "b|2\t", "b|1\t", "c|3\t"]),
    Case("reduce output separator and fields", "x\n",
         ["-D", "stream.reduce.output.field.separator=.", "-D", "stream.num.reduce.output.key.fields=2", "-mapper", "cat",
          "-reducer", "echo a.b.c"], ["a.b\tc"]),
    Case("output separator", KEYS,
         ["-D", "mapreduce.output.textoutputformat.separator=:", "-mapper", "cat"], ["a:1", "b:2", "b:1", "c:3"]),
    Case("deprecated name of the output separator", "a\t1\n",
         ["-D", "mapred.textoutputformat.separator=:", "-mapper", "cat"], ["a:1"]),
    Case("separator of several bytes", "a::1\n",
         ["-D", "stream.map.output.field.separator=::", "-mapper", "cat"], ["a\t1"]),
    Case("no separator of the output", "a\n",
         ["-D", "mapreduce.output.textoutputformat.separator=", "-mapper", "cat", "-reducer", "NONE"], ["a"]),
    # Comparator.
    Case("numeric reverse comparator", "a\t9\nb\t10\nc\t-1\n",
         ["-D", "stream.num.map.output.key.fields=2", COMPARATOR, "-D",
          "mapreduce.partition.keycomparator.options=-k2,2nr", "-mapper", "cat", "-reducer", "cut -f 1,2"],
         ["b\t10", "a\t9", "c\t-1"]),
    Case("comparator by two fields", "x\t1\ny\t2\nx\t2\n",
         ["-D", "stream.num.map.output.key.fields=2", COMPARATOR, "-D",
          "mapred.text.key.comparator.options=-k2,2nr -k1,1r", "-mapper", "cat", "-reducer", "cut -f 1,2"],
         ["y\t2", "x\t2", "x\t1"]),
    Case("comparator with its own separator", "a.2\nb.1\n",
         [COMPARATOR, "-D", "mapreduce.map.output.key.field.separator=.", "-D",
          "mapreduce.partition.keycomparator.options=-k2n", "-mapper", "cat", "-reducer", "cat"], ["b.1\t", "a.2\t"]),
    Case("equal keys stay together where the comparator finds others equal", "b\t1\na\t1\nb\t1\na\t1\n",
         ["-D", "stream.num.map.output.key.fields=2", COMPARATOR, "-D",
          "mapreduce.partition.keycomparator.options=-k2,2n", "-mapper", "cat", "-reducer", "uniq -c"],
         ["      2 a\t1\t", "      2 b\t1\t"]),
    # Environment.
    Case("the input file", "x\n", mapper_env("mapreduce_map_input_file map_input_file"),
         ["mapreduce_map_input_file:{input}\t", "map_input_file:{input}\t"]),
    Case("the range of the file", "x\n", mapper_env("mapreduce_map_input_start map_input_length"),
         ["mapreduce_map_input_start:0\t", "map_input_length:2\t"]),
    Case("the task", "x\n", mapper_env("mapreduce_task_ismap mapred_task_is_map mapreduce_task_partition"),
         ["mapreduce_task_ismap:true\t", "mapred_task_is_map:true\t", "mapreduce_task_partition:0\t"]),
    Case("properties", "x\n", mapper_env("my_own_1 mapreduce_job_name mapred_job_name", "-D", "my.own-1=a b", "-jobconf",
                                         "mapred.job.name=n"),
         ["my_own_1:a b\t", "mapreduce_job_name:n\t", "mapred_job_name:n\t"]),
    Case("cmdenv", "x\n", mapper_env("A_B C", "-cmdenv", "A_B=1=2", "-cmdenv", "C=x y"), ["A_B:1=2\t", "C:x y\t"]),
    Case("cmdenv goes before properties", "x\n", mapper_env("P", "-D", "P=property", "-cmdenv", "P=given"), ["P:given\t"]),
    Case("long properties are cut where asked", "x\n",
         mapper_env("long_one", "-D", "long.one=abcdef", "-D", "stream.jobconf.truncate.limit=3"), ["long_one:abc\t"]),
    Case("the environment of a reducer", "x\n",
         ["-mapper", "cat", "-reducer", PRINT_ENV % "mapreduce_task_ismap mapreduce_task_partition"],
         ["mapreduce_task_ismap:false\t", "mapreduce_task_partition:0\t"]),
    Case("TMPDIR can be written to", "x\n",
         ["-mapper", "bash -c 'cat > $TMPDIR/side; cat $TMPDIR/side; rm $TMPDIR/side'", "-reducer", "NONE"], ["x\t"]),
    Case("ids", "x\n",
         ["-mapper", "bash -c 'cat >/dev/null; [[ $mapreduce_task_attempt_id == attempt_${mapreduce_job_id}_m_000000_0 ]]"
          " && [[ $mapred_tip_id == task_* ]] && [[ -d $mapreduce_job_local_dir ]] && echo good'", "-reducer", "NONE"],
         ["good\t"]),
    Case("set-user-ID programs have no rights of others", "x\n",
         ["-mapper", "sed -n s/NoNewPrivs:.//p /proc/self/status", "-reducer", "NONE"], ["1\t"]),
    # Reducers.
    Case("NONE keeps the order", "b\t1\na\t2\n", ["-mapper", "cat", "-reducer", "NONE"], ["b\t1", "a\t2"]),
    Case("numReduceTasks 0", "b\t1\na\t2\n", ["-mapper", "cat", "-reducer", "cat -n", "-numReduceTasks", "0"],
         ["b\t1", "a\t2"]),
    Case("no reducers by property", "b\t1\na\t2\n", ["-mapper", "cat", "-reducer", "false", "-D", "mapred.reduce.tasks=0"],
         ["b\t1", "a\t2"]),
    Case("a reducer without input runs", "x\n", ["-mapper", "true", "-reducer", "echo ran"], ["ran\t"]),
    Case("equal pairs all come", "a\t1\n" * 7, ["-mapper", "cat", "-reducer", "wc -l"], ["7\t"]),
    Case("aggregate sums", "w\nv\nw\n", ["-mapper", "sed 's/.*/LongValueSum:&\t1/'", "-reducer", "aggregate"],
         ["v\t1", "w\t2"]),
    Case("aggregate in letters of any case", "w\nv\nw\n",
         ["-mapper", "sed 's/.*/longValueSum:&\t1/'", "-combiner", "AGGREGATE", "-reducer", "Aggregate"], ["v\t1", "w\t2"]),
    Case("aggregate of other types", "x\n",
         ["-mapper", "bash -c 'cat >/dev/null; printf \"LongValueMax:m\t3\nLongValueMax:m\t7\nLongValueMin:n\t3\n"
          "UniqValueCount:u\ta\nUniqValueCount:u\ta\nValueHistogram:h\ta\nStringValueMax:s\tb\nDoubleValueSum:d\t1.5\n\"'",
          "-reducer", "aggregate"], {"m\t7", "n\t3", "u\t1", "h\t1\t1\t1\t1\t1.0\t0.0", "s\tb", "d\t1.5"}),
    Case("aggregate names what it cannot read", "x\n", ["-mapper", "echo word", "-reducer", "aggregate"], None, 1,
         ("aggregate", "'word'")),
    Case("combiner", KEYS, ["-mapper", "cat", "-combiner", COUNT, "-reducer", COUNT], {"a\t1", "b\t3", "c\t3"}),
    Case("combiner behind a mapper with its own separator", "a,1\nb,1\na,1\n",
         ["-D", "stream.map.output.field.separator=,", "-mapper", "cat", "-combiner", COUNT, "-reducer", COUNT],
         {"a\t2", "b\t1"}),
    Case("combiner of keys of two fields", "a\tx\tv\na\n",
         ["-D", "stream.num.map.output.key.fields=2", "-mapper", "cat", "-combiner", "cat", "-reducer", "cat"],
         ["a\t", "a\tx\tv"]),
    # Exit codes.
    Case("a failing mapper", "x\n", ["-mapper", "bash -c 'cat >/dev/null; echo why >&2; exit 3'"], None, 1,
         ("mapper", "exited with code 3", "{input}", "| why", "USER_ERROR", "worker")),
    Case("a failing reducer", "x\n", ["-mapper", "cat", "-reducer", "bash -c 'cat >/dev/null; exit 9'"], None, 1,
         ("reducer", "code 9", "'x'")),
    Case("a failing combiner", "x\n", ["-mapper", "cat", "-combiner", "false", "-reducer", "cat"], None, 1,
         ("combiner", "code 1")),
    Case("non-zero exit is no failure", "x\n",
         ["-D", "stream.non.zero.exit.is.failure=false", "-mapper", "bash -c 'cat; exit 3'", "-reducer", "NONE"], ["x\t"]),
    Case("a program that is not there", "x\n", ["-mapper", "no-such-program -x"], None, 1, ("no-such-program", "PATH")),
    Case("a signal", "x\n", ["-mapper", "bash -c 'cat >/dev/null; kill -SEGV $$'"], None, 1, ("SIGSEGV",)),
    # Options.
    Case("an unknown option", "x\n", ["-maper", "cat"], None, 1, ("-maper", "'-mapper'")),
    Case("lazyOutput is refused by name", "x\n", ["-mapper", "cat", "-lazyOutput"], None, 1, ("-lazyOutput",)),
    Case("a partitioner of one's own", "x\n", ["-mapper", "cat", "-partitioner", "my.Class"], None, 3, ("my.Class",)),
    Case("a Java class as mapper", "x\n", ["-mapper", "org.apache.hadoop.mapred.lib.IdentityMapper"], None, 3,
         ("no Java classes",)),
    Case("a wrong number of key fields", "x\n", ["-D", "stream.num.map.output.key.fields=x", "-mapper", "cat"], None, 3,
         ("stream.num.map.output.key.fields",)),
    Case("a filter of paths", "x\n", ["-D", "mapred.input.pathFilter.class=my.Filter", "-mapper", "cat"], None, 3,
         ("mapreduce.input.pathFilter.class", "patterns")),
    Case("splits as large as files", "x\n", ["-D", "mapreduce.input.fileinputformat.split.minsize=1000000000", "-mapper", "cat"],
         None, 3, ("split.minsize", "--mappers 1 --slots 1")),
    Case("no mapper", "x\n", ["-reducer", "cat"], None, 1, ("-mapper",)),
    Case("an empty command", "x\n", ["-mapper", " "], None, 3, ("mapper",)),
    Case("binary io", "x\n", ["-io", "typedbytes", "-mapper", "cat"], None, 1, ("typedbytes",)),
    Case("another output format", "x\n", ["-outputformat", "SequenceFileOutputFormat", "-mapper", "cat"], None, 1,
         ("SequenceFileOutputFormat",)),
]


class Streaming(WeirTest):
    def streaming(self, *args, timeout=60):
        return self.weir("streaming", *args, "--work-dir", self.work, "--workers", "1", timeout=timeout)

    def script(self, name, text):
        path = self.write(name, f"#!{PYTHON}\n{text}")
        os.chmod(path, 0o755)
        return path

    def test_contract(self):
        self.assertGreaterEqual(len(CASES), 60)
        for number, case in enumerate(CASES):
            with self.subTest(case.name):
                source = self.write(f"in-{number}", case.text)
                out = self.path(f"out-{number}")
                result = self.streaming("-input", source, "-output", out, *case.options)
                if case.code:
                    self.assert_fails(result, case.code, *(says.replace("{input}", source) for says in case.says))
                    self.assertFalse(os.path.exists(out))
                    continue
                self.assert_ok(result)
                lines = [line.decode() for line in read_parts(out)]
                if isinstance(case.lines, set):
                    self.assertEqual(sorted(lines), sorted(case.lines))
                else:
                    self.assertEqual(lines, [line.replace("{input}", source) for line in case.lines])
                self.assertIn("part-00000", os.listdir(out))
                mark = os.stat(os.path.join(out, "_SUCCESS"))
                self.assertEqual(mark.st_size, 0)
                self.assertEqual(mark.st_mode, os.stat(os.path.join(out, "manifest.json")).st_mode, "as readable as the rest")
                self.assert_ok(self.weir("verify", out))
        self.assert_nothing_left()

    def test_pairs_that_the_memory_does_not_hold_go_to_disk(self):
        source = self.write("in", "".join("%05d\t%d\n" % (i * 7919 % 100_003, i) for i in range(500_000)))
        parts = []
        for options in ((), ("--memory", "8MiB"), ("--memory", "8MiB", "-combiner", "cat")):
            out = self.path(f"out-{len(parts)}")
            result = self.streaming("-input", source, "-output", out, "-mapper", "cat", "-reducer", "cat", "-numReduceTasks", "2",
                                    "--json", *options)
            self.assert_ok(result)
            spilled = json.loads(result.out)["counters"].get("spilled_bytes", 0)
            self.assertEqual(spilled > 0, bool(options), result.out[-300:])
            parts.append(read_parts(out))
            self.assertEqual(len(parts[-1]), 500_000)
        self.assertEqual(parts[0], parts[1])
        self.assertEqual(parts[0], parts[2])
        self.assert_nothing_left()

    def test_every_few_lines_of_a_file_have_a_process_wherever_it_is_cut(self):
        files = [[f"{name}{i}" for i in range(count)] for name, count in (("a", 100), ("b", 7), ("c", 31))]
        for number, lines in enumerate(files):
            self.write(f"in/{number}", "".join(line + "\n" for line in lines))
        out = self.path("out")
        self.assert_ok(self.streaming(
            "-input", self.path("in"), "-output", out, "-inputformat", "NLineInputFormat", "-D",
            "mapreduce.input.lineinputformat.linespermap=8", "-mapper", "bash -c 'cut -f 2 | tr \"\\n\" +; echo'", "-reducer",
            "NONE", "--mappers", "2", "--slots", "2"))
        expected = ["+".join(lines[i:i + 8]) + "+\t" for lines in files for i in range(0, len(lines), 8)]
        self.assertEqual(sorted(read_parts(out)), sorted(line.encode() for line in expected))

    def test_a_property_says_how_many_reducers(self):
        source = self.write("in", "".join(f"{i}\t1\n" for i in range(100)))
        given = ("--set", "mapper=cat", "--set", "reducer=wc -l", "--set", "properties=mapreduce.job.reduces=1")
        out = self.path("out")
        self.assert_ok(self.run_job("stream", source, "-o", out, *given, "--workers", "3"))
        self.assertEqual(read_parts(out), [b"100\t"])
        self.assert_ok(self.run_job("stream", source, "-o", out, *given, "--workers", "3", "--reducers", "1", "--overwrite"))
        refused = self.run_job("stream", source, "-o", out, *given, "--workers", "3", "--reducers", "2", "--overwrite")
        self.assert_fails(refused, 2, "--reducers is 2", "mapreduce.job.reduces is 1")

    def test_lines_of_mappers_alone_that_the_memory_does_not_hold_go_to_disk(self):
        text = "".join("%07d\tvalue\n" % i for i in range(1_000_000))
        source = self.write("in", text)
        out = self.path("out")
        result = self.streaming("-input", source, "-output", out, "-mapper", "cat", "-reducer", "NONE", "--slots", "1", "--memory",
                                "8MiB", "--mappers", "2", "--json")
        self.assert_ok(result)
        self.assertGreater(json.loads(result.out)["counters"].get("spilled_bytes", 0), len(text) // 2)
        self.assertEqual(b"\n".join(read_parts(out)) + b"\n", text.encode())
        self.assert_nothing_left()

    def test_partitions_are_those_of_hadoop(self):
        lines = [f"{a}.{b}.{c}\tv" for a in "abcdä" for b in "xyz" for c in "12"]
        source = self.write("in", "\n".join(lines) + "\n")
        out = self.path("out")
        self.assert_ok(self.weir(
            "streaming", "-input", source, "-output", out, "-mapper", "cat", "-reducer", "cat", "-numReduceTasks", "5",
            "-partitioner", "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner", "-D",
            "mapreduce.map.output.key.field.separator=.", "-D", "mapreduce.partition.keypartitioner.options=-k1,2",
            "--work-dir", self.work, "--workers", "3"))
        self.assertEqual(sorted(n for n in os.listdir(out) if n.startswith("part-")), [f"part-{i:05}" for i in range(5)])
        for part in range(5):
            expected = sorted(line.encode() for line in lines
                              if hadoop_partition(".".join(line.split(".")[:2]), 5) == part)
            with open(self.path("out", f"part-{part:05}"), "rb") as file:
                self.assertEqual(file.read().split(b"\n")[:-1], expected)

    def test_counters_and_status_are_shown(self):
        script = self.script("count.py", """
import sys
for line in sys.stdin:
    sys.stderr.write("reporter:counter:My group,lines,2\\n")
    sys.stderr.write("reporter:counter:broken\\n")
    print(line.strip())
sys.stderr.write("reporter:status:nearly there\\n")
""")
        source = self.write("in", "a\nb\nc\n")
        result = self.streaming("-input", source, "-output", self.path("out"), "-mapper", script)
        self.assert_ok(result)
        self.assertIn("Counters: 1\n\tMy group\n\t\tlines=6\n", result.err)

    def test_every_pair_comes_and_keys_are_sorted(self):
        draw = random.Random(5)
        pairs = [f"{draw.choice('abcdefgh') * draw.randint(1, 3)}\t{draw.randint(0, 3)}" for _ in range(30000)]
        for i in range(4):
            self.write(f"in/{i}", "\n".join(pairs[i::4]) + "\n")
        for workers, reducers, slots in ((1, 1, 1), (3, 4, 1), (2, 3, 2)):
            out = self.path(f"out-{workers}")
            self.assert_ok(self.weir("streaming", "-input", self.path("in"), "-output", out, "-mapper", "cat", "-reducer",
                                     "cat", "-numReduceTasks", str(reducers), "--workers", str(workers), "--slots",
                                     str(slots), "--work-dir", self.work))
            self.assertEqual(sorted(read_parts(out)), sorted(pair.encode() for pair in pairs))
            for part in range(reducers):
                with open(os.path.join(out, f"part-{part:05}"), "rb") as file:
                    keys = [line.split(b"\t")[0] for line in file.read().split(b"\n")[:-1]]
                self.assertEqual(keys, sorted(keys))

    def test_results_are_inputs_of_the_next_job(self):
        source = self.write("in", KEYS)
        first, second = self.path("first"), self.path("second")
        self.assert_ok(self.streaming("-input", source, "-output", first, "-mapper", "cat"))
        self.assert_ok(self.streaming("-input", first, "-output", second, "-mapper", "cat", "-reducer", "wc -l"))
        self.assertEqual(read_parts(second), [b"4\t"])
        again = self.streaming("-input", first, "-output", second, "-mapper", "cat")
        self.assert_fails(again, 4, "OUTPUT_EXISTS")
        self.assert_ok(self.streaming("-input", first, "-output", second, "-mapper", "cat", "--overwrite"))

    def test_missing_input_and_help(self):
        self.assert_fails(self.streaming("-input", self.path("none"), "-output", self.path("out"), "-mapper", "cat"), 2,
                          "INPUT_NOT_FOUND")
        self.assertIn(b"-numReduceTasks", self.weir("streaming", "-help").out)
        self.assert_fails(self.weir("streaming", "-input", "/dev/null", "-output", self.path("o"), "-mapper", "cat",
                                    "--master", "127.0.0.1:1"), 5)

    def test_empty_input_is_mapped_and_reduced_once(self):
        source = self.write("in", "")
        out = self.path("out")
        self.assert_ok(self.streaming("-input", source, "-output", out, "-mapper", "wc -l", "-reducer", "cat"))
        self.assertEqual(read_parts(out), [b"0\t"])

    def test_a_mapper_for_each_file_or_for_all(self):
        for name in "abc":
            self.write(f"in/{name}", "x\n")
        mapper = "bash -c 'cat >/dev/null; echo ${map_input_file##*/}'"
        out, one = self.path("out"), self.path("one")
        self.assert_ok(self.streaming("-input", self.path("in"), "-output", out, "-mapper", mapper, "-reducer", "NONE"))
        self.assertEqual(sorted(read_parts(out)), [b"a\t", b"b\t", b"c\t"])
        self.assert_ok(self.run_job("stream", self.path("in"), "-o", one, "--set", f"mapper={mapper}", "--set",
                                    "reducer=NONE", "--set", "mapper_process=slot", "--workers", "1"))
        self.assertEqual(read_parts(one), [b"a\t"])

    # What scripts do wrong.

    def assert_misuse(self, mapper, *says, text="x\n" * 300000, options=(), timeout=60):
        source = self.write("in", text)
        out = self.path("out")
        result = self.streaming("-input", source, "-output", out, "-mapper", mapper, *options, timeout=timeout)
        self.assert_fails(result, 1, *says)
        self.assert_nothing_left(out)

    def test_a_script_that_reads_nothing_and_ends(self):
        self.assert_misuse("head -n 1", "closed its input", "exited with code 0", self.path("in"))

    def test_a_script_that_hangs(self):
        self.assert_misuse("bash -c 'read line; echo waiting >&2; sleep 1000'", "TASK_HUNG", "neither read nor wrote",
                           "| waiting", self.path("in"), "worker", options=("-D", "mapreduce.task.timeout=3000"))

    def test_a_silent_script_lives_longer_than_a_silent_task(self):
        source = self.write("in", "x\n")
        out = self.path("out")
        self.assert_ok(self.streaming("-input", source, "-output", out, "-mapper", "bash -c 'sleep 11; cat'"))
        self.assertEqual(read_parts(out), [b"x\t"])

    def test_a_script_killed_in_the_middle(self):
        self.assert_misuse("bash -c 'head -c 100000 >/dev/null; echo last words >&2; kill -9 $$'", "SIGKILL",
                           "| last words", "at byte")

    def test_a_line_without_end(self):
        self.assert_misuse("head -c 1000000000 /dev/zero", "line of more than 67108864 bytes", text="x\n")

    def test_what_lies_beside_the_output_of_a_task_goes_with_it(self):
        out = self.path("out")
        self.assert_ok(self.streaming(
            "-input", self.write("in", "x\n"), "-output", out, "-reducer", "NONE", "-mapper",
            "bash -c 'cat >/dev/null; echo more > $mapreduce_task_output_dir/side;"
            " [[ $mapred_work_output_dir == $mapreduce_task_output_dir ]] && echo good'"))
        self.assertEqual(read_parts(out), [b"good\t"])
        self.assertEqual([name for _, _, names in os.walk(out) for name in names if "side" in name], [])
        self.assert_nothing_left()

    def test_binary_output_passes(self):
        source = self.write("in", "x\n")
        out = self.path("out")
        script = self.script("binary.py", "import sys\nsys.stdin.read()\n"
                             "sys.stdout.buffer.write(bytes(b for b in range(256) if b not in (9, 10)) + b'\\t\\xff\\0\\n')\n")
        self.assert_ok(self.streaming("-input", source, "-output", out, "-mapper", script))
        self.assertEqual(read_parts(out), [bytes(b for b in range(256) if b not in (9, 10)) + b"\t\xff\0"])

    def test_much_on_stderr_and_stdout_before_anything_is_read(self):
        source = self.write("in", "x\n" * 500000)
        out = self.path("out")
        self.assert_ok(self.streaming(
            "-input", source, "-output", out, "-mapper",
            "bash -c 'head -c 5000000 /dev/zero | tr \"\\0\" e | fold >&2; seq 200000; cat'", "-reducer", "wc -l"))
        self.assertEqual(read_parts(out), [b"700000\t"])

    def test_too_many_counters(self):
        self.assert_misuse("bash -c 'cat >/dev/null; seq 2000 | sed s/.*/reporter:counter:g,n\\&,1/ >&2'", "1000 names")

    def test_interrupt_leaves_nothing(self):
        source = self.write("in", "x\n" * 100)
        process = self.start("streaming", "-input", source, "-output", self.path("out"), "-mapper",
                             f"bash -c 'sleep 1000 & sleep 1000 & wait; echo {self.dir}'", "--work-dir", self.work)
        wait_for(lambda: len([c for _, c in processes_mentioning(self.dir) if c.startswith("sleep")]) >= 2, 20,
                 "scripts run")
        process.send_signal(signal.SIGINT)
        result = self.finish(process)
        self.assertEqual(result.code, 6, result.err)
        self.assert_nothing_left(self.path("out"))

    def test_a_lost_task_process_takes_its_scripts_with_it(self):
        source = self.write("in", "x\n" * 100)
        process = self.start("streaming", "-input", source, "-output", self.path("out"), "-mapper",
                             f"bash -c 'sleep 1000 & wait; echo {self.dir}'", "--work-dir", self.work, "--workers", "1")
        wait_for(lambda: [c for _, c in processes_mentioning(self.dir) if c.startswith("sleep")], 20, "scripts run")
        # Its guardian is a fork of it.
        tasks = lambda: {pid for pid, c in processes_mentioning(self.dir) if " task " in c + " "}
        scripts = lambda: {pid for pid, c in processes_mentioning(self.dir) if c.startswith("sleep")}
        first = scripts()
        os.kill(min(tasks()), signal.SIGKILL)
        # It is tried once more, by another one.
        wait_for(lambda: (now := scripts()) and not now & first, 20, "scripts run again")
        os.kill(min(tasks()), signal.SIGKILL)
        self.assert_fails(self.finish(process), 1, "SIGKILL", "so did another one before")
        self.assert_nothing_left(self.path("out"))

    # Clusters.

    def write_words(self, lines=40000):
        draw = random.Random(3)
        words = ["".join(draw.choice("abcdef") for _ in range(draw.randint(1, 4))) for _ in range(300)]
        counts = collections.Counter()
        for i in range(4):
            text = []
            for _ in range(lines // 4):
                line = [draw.choice(words) for _ in range(6)]
                counts.update(line)
                text.append(" ".join(line))
            self.write(f"books/{i}", "\n".join(text) + "\n")
        return sorted(f"{word}\t{count}".encode() for word, count in counts.items())

    def word_count(self):
        mapper = self.script("map.py", """
import sys
for line in sys.stdin:
    for word in line.split():
        print(word + "\\t1")
""")
        reducer = self.script("reduce.py", """
import itertools
import sys
pairs = (line.rstrip("\\n").split("\\t") for line in sys.stdin)
for word, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
    print("%s\\t%d" % (word, sum(int(pair[1]) for pair in group)))
""")
        return mapper, reducer

    def test_cluster_counts_words_and_names_a_killed_script(self):
        expected = self.write_words()
        mapper, reducer = self.word_count()
        cluster = Cluster(self, workers=4)
        for combiner in ([], ["-combiner", reducer]):
            out = self.path(f"out{len(combiner)}")
            self.assert_ok(self.weir("streaming", "-input", self.path("books"), "-output", out, "-mapper", mapper,
                                     "-reducer", reducer, "-numReduceTasks", "3", *combiner, "--master", cluster.address,
                                     timeout=120))
            self.assertEqual(sorted(read_parts(out)), expected)
        out = self.path("none")
        self.assert_ok(self.weir("streaming", "-input", self.path("books"), "-output", out, "-mapper", "cat",
                                 "-numReduceTasks", "0", "--master", cluster.address))
        lines = []
        for i in range(4):
            with open(self.path("books", str(i)), "rb") as file:
                lines += [line + b"\t" for line in file.read().split(b"\n")[:-1]]
        self.assertEqual(sorted(read_parts(out)), sorted(lines))
        killed = self.weir("streaming", "-input", self.path("books"), "-output", self.path("killed"), "-mapper",
                           "bash -c 'read line; kill -9 $$'", "--master", cluster.address)
        self.assert_fails(killed, 1, "SIGKILL", "(worker ", "books/", "mapper")
        self.assertFalse(os.path.exists(self.path("killed")))
        cluster.stop()
        self.assert_nothing_left()

    def test_two_at_once(self):
        expected = self.write_words(20000)
        mapper, reducer = self.word_count()
        running = [self.start("streaming", "-input", self.path("books"), "-output", self.path(f"out{i}"), "-mapper", mapper,
                              "-reducer", reducer, "--work-dir", self.work, "--workers", "2") for i in range(2)]
        for process in running:
            self.assert_ok(self.finish(process, timeout=120))
        for i in range(2):
            self.assertEqual(read_parts(self.path(f"out{i}")), expected)
        self.assert_nothing_left()


class ShippedFiles(WeirTest):
    """Files and archives that go with a job."""

    def setUp(self):
        super().setUp()
        self.input = self.write("in", "b\na\nb\n")
        self.out = self.path("out")

    def streaming(self, *args, **options):
        return self.weir("streaming", "-input", self.input, "-output", self.out, *args, "--work-dir", self.work, "--workers",
                         "2", **options)

    def tar(self, name, files, mode="w:gz", links=()):
        path = self.path(name)
        with tarfile.open(path, mode) as archive:
            for inside, text in files.items():
                info = tarfile.TarInfo(inside)
                info.size = len(text)
                info.mode = 0o755 if inside.endswith(".py") else 0o644
                archive.addfile(info, io.BytesIO(text.encode()))
            for inside, target in links:
                info = tarfile.TarInfo(inside)
                info.type, info.linkname = tarfile.SYMTYPE, target
                archive.addfile(info)
        return path

    def zip(self, name, files):
        with zipfile.ZipFile(self.path(name), "w") as archive:
            for inside, text in files.items():
                archive.writestr(inside, text)
        return self.path(name)

    def assert_lines(self, lines):
        self.assertEqual(sorted(line.decode() for line in read_parts(self.out)), sorted(lines))

    def test_files_lie_where_scripts_run_and_are_executable(self):
        script = self.write("map.py", f"#!{PYTHON}\nimport sys\nnames = dict(l.split() for l in open('names'))\n"
                                      "for line in sys.stdin: print(names[line.strip()])\n")
        os.chmod(script, 0o644)
        words = self.write("long-names.txt", "a Alice\nb Bob\n")
        self.assert_ok(self.streaming("-files", f"{script},file://{words}#names", "-mapper", "map.py", "-reducer", "uniq -c"))
        self.assert_lines(["      1 Alice\t", "      2 Bob\t"])
        self.assert_nothing_left()

    def test_a_command_that_begins_with_a_shipped_path_means_the_file(self):
        self.write("scripts/my-cat", "#!/bin/sh\nexec sed -e 's/$/!/' \"$@\"\n")
        self.assert_ok(self.streaming("-file", "scripts/my-cat", "-mapper", "./scripts/my-cat -n -e p", "-reducer", "NONE",
                                      cwd=self.dir))
        self.assert_lines(["a!\t", "b!\t", "b!\t"])

    def test_archives_are_there_again_after_a_task_was_killed(self):
        self.input = self.write("lines", "".join(f"{i}\n" for i in range(600)))
        archive = self.tar("a.tar", {"text": "a\n"}, "w")
        mapper = self.write("map.py", f"""#!{PYTHON}
import os, signal, sys
try:
    os.close(os.open({self.path("killed")!r}, os.O_CREAT | os.O_EXCL))
    os.kill(os.getppid(), signal.SIGKILL)
except FileExistsError:
    pass
for line in sys.stdin:
    print(line.strip() + open("code/text").read().strip())
""")
        self.assert_ok(self.streaming("-D", "mapreduce.job.maps=6", "-files", mapper, "-archives", f"{archive}#code",
                                      "-mapper", f"{PYTHON} map.py", "-reducer", "NONE"))
        self.assertTrue(os.path.exists(self.path("killed")))
        self.assert_lines([f"{i}a\t" for i in range(600)])
        self.assert_nothing_left()

    def test_archives_are_folders_where_scripts_run(self):
        package = self.tar("package.tar.gz", {"lib/code.py": "def shout(s): return s.upper()\n", "run.py":
                                              f"#!{PYTHON}\nimport sys; sys.path.insert(0, 'code/lib')\nimport code_of\n"},
                           links=[("lib/code_of.py", "code.py")])
        plain = self.tar("plain.tar", {"text": "plain\n"}, "w")
        zipped = self.zip("y.zip", {"deep/er/text": "zipped\n"})
        jar = self.zip("z.jar", {"text": "jar\n"})
        mapper = f"{PYTHON} -c \"import sys; sys.path.insert(0, 'code/lib'); import code_of; " \
                 "print(code_of.shout(sys.stdin.readline().strip()), open('plain.tar/text').read().strip(), " \
                 "open('y.zip/deep/er/text').read().strip(), open('z.jar/text').read().strip())\""
        self.assert_ok(self.streaming("-archives", f"{package}#code,{zipped},{jar}", "-cacheArchive", plain, "-mapper", mapper,
                                      "-reducer", "NONE"))
        self.assertEqual(set(read_parts(self.out)), {b"B plain zipped jar\t"})
        self.assert_nothing_left()

    def test_the_environment_names_them(self):
        archive = self.tar("x.tar", {"inside": ""}, "w")
        mapper = PRINT_ENV % "mapreduce_job_cache_local_files mapred_cache_localFiles mapreduce_job_cache_local_archives " \
                             "mapred_cache_localArchives PWD"
        self.assert_ok(self.streaming("-files", f"{self.input},{self.input}#second", "-archives", f"{archive}#folder",
                                      "-mapper", mapper, "-reducer", "NONE"))
        seen = dict(line.decode().rstrip("\t").split(":", 1) for line in read_parts(self.out))
        here = seen["PWD"]
        self.assertEqual(seen["mapreduce_job_cache_local_files"], f"{here}/in,{here}/second")
        self.assertEqual(seen["mapred_cache_localFiles"], f"{here}/in,{here}/second")
        self.assertEqual(seen["mapreduce_job_cache_local_archives"], f"{here}/folder")
        self.assertEqual(seen["mapred_cache_localArchives"], f"{here}/folder")

    def test_flags_of_every_job(self):
        script = self.write("m.sh", "#!/bin/sh\nexec cat - a/text\n")
        archive = self.zip("a.zip", {"text": "from the archive\n"})
        ship = ("--file", f"{script}#m", "--archive", f"{archive}#a", "--set", "mapper=m")
        self.assert_ok(self.run_job("stream", self.input, "-o", self.out, *ship, "--set", "reducer=NONE", "--workers", "1"))
        self.assert_lines(["a\t", "b\t", "b\t", "from the archive\t"])
        self.assert_ok(self.weir("plan", "stream", self.input, *ship))
        # A job that has no use for them takes them all the same.
        self.assert_ok(self.run_job("wordcount", self.input, "-o", self.path("counts"), "--file", script))

    def test_a_cluster_gets_each_once(self):
        scripts = {name: self.write(name, f"#!/bin/sh\nsed s/^/{name}-/\ncat folder/{name}\n") for name in ("x", "y")}
        archive = self.tar("folder.tar.gz", {"x": "archived x\n", "y": "archived y\n"})
        for i in range(6):
            self.write(f"many/{i}", f"{i}\n")
        cluster = Cluster(self, workers=3)
        for number, name in enumerate(("x", "y", "x")):
            out = self.path(f"out-{number}")
            self.assert_ok(self.weir("streaming", "-input", self.path("many"), "-output", out, "-files",
                                     f"{scripts[name]}#script", "-archives", f"{archive}#folder", "-mapper", "script",
                                     "-reducer", "NONE", "--mappers", "3", "--master", cluster.address))
            self.assertEqual(sorted(read_parts(out)),
                             sorted([f"{name}-{i}\t".encode() for i in range(6)] + [f"archived {name}\t".encode()] * 6))
        # What was unpacked went with its job; the archive and both scripts wait for the next one, on each worker.
        kept = [os.path.join(path, file) for path, _, files in os.walk(self.work) for file in files]
        wait_for(lambda: not any("/jobs/" in path for path, _, files in os.walk(self.work) for file in files), 5, "jobs gone")
        self.assertEqual(len([path for path in kept if "/artifacts/" in path]), 9)
        cluster.stop()
        self.assert_nothing_left()

    def test_what_cannot_be_shipped_is_refused_by_name(self):
        self.write("folder/file", "x")
        refused = [
            (("-files", self.path("none")), 3, ("there is no file", "none", "check the path")),
            (("-files", self.path("folder")), 3, ("is a directory", "tar -czf")),
            (("-files", "/dev/null"), 3, ("/dev/null", "no regular file")),
            (("-files", f"{self.input}#a/b"), 1, ("-files", "a/b", "PATH#NAME")),
            (("-files", f"{self.input}#"), 1, ("PATH#NAME",)),
            (("-archives", f"{self.input}#.."), 1, ("-archives", "PATH#NAME")),
            (("-files", f"{self.input},{self.write('other/in', 'y')}"), 3, ("two files", "'in'", "PATH#NAME")),
            (("-files", self.input, "-archives", f"{self.tar('t.tar', {})}#in"), 3, ("two files", "'in'"))]
        for words, code, says in refused:
            with self.subTest(words):
                self.assert_fails(self.streaming(*words, "-mapper", "cat"), code, *says)
                self.assert_nothing_left(self.out)
        large = self.write("large", "")
        os.truncate(large, (256 << 20) + 1)
        self.assert_fails(self.streaming("-files", large, "-mapper", "cat"), 5, "ARTIFACT_TOO_LARGE")
        # The same file twice is one.
        self.assert_ok(self.streaming("-files", f"{self.input},{self.input}", "-file", self.input, "-mapper", "cat"))

    def test_archives_that_would_harm_are_refused_by_name(self):
        refused = [(self.tar("climbs.tar", {"../evil": "x"}, "w"), ("climbs.tar", "'../evil'", "leads out")),
                   (self.tar("absolute.tar", {"/tmp/evil": "x"}, "w"), ("'/tmp/evil'", "absolute")),
                   (self.tar("links.tar", {}, "w", [("l", "/etc/passwd")]), ("'l'", "/etc/passwd", "out of its folder")),
                   (self.tar("up.tar", {}, "w", [("a/l", "../../b")]), ("'a/l'", "out of its folder")),
                   (self.zip("climbs.zip", {"a/../../evil": "x"}), ("climbs.zip", "evil", "leads out")),
                   (self.write("text.zip", "no archive\n"), ("text.zip", "cannot be unpacked"))]
        for archive, says in refused:
            with self.subTest(archive):
                self.assert_fails(self.streaming("-archives", archive, "-mapper", "cat"), 1, "ARCHIVE_REFUSED", "worker", *says)
                self.assert_nothing_left(self.out)
        self.assertFalse(os.path.exists("/tmp/evil"))

    def test_an_archive_of_too_many_entries_is_refused(self):
        bomb = self.path("bomb.tar.gz")
        with tarfile.open(bomb, "w:gz", compresslevel=1) as archive:
            info = tarfile.TarInfo("again")
            for _ in range(200_001):
                archive.addfile(info)
        self.assertLess(os.path.getsize(bomb), 10 << 20)
        self.assert_fails(self.streaming("-archives", bomb, "-mapper", "cat"), 1, "ARCHIVE_REFUSED", "200000 entries")
        self.assert_nothing_left(self.out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
