"""What the compiler says of a job that lacks something: one sentence, and nothing of the engine's insides."""
import os
import re
import shutil
import subprocess
import unittest

from weir_process import ROOT

SOURCE = os.path.join(ROOT, "tests", "integration", "modules", "wrong_jobs.cc.in")
COMPILER = os.environ.get("CXX") or shutil.which("c++") or "g++"

# In the order of the jobs in that file.
SENTENCES = ["This job has no Reader: ", "This job has no Key: ", "This job has no Value: ", "This job cannot be copied: ",
             "The Key of this job is a view or a pointer", "The Value of this job is a view or a pointer",
             "Weir does not know the Key of this job as ordered bytes",
             "Weir does not know the Value of this job as bytes", "This job has neither Combine nor Reduce: ",
             "Combine of this job cannot be called", "Reduce of this job cannot be called", "This job has no Format: ",
             "Format of this job cannot be called", "Map of this job cannot be called with the records of its Reader",
             "Map of a job that follows another one cannot be called",
             "This vector job has no Place: ", "The Place of this vector job cannot be copied as memory",
             "Map of this vector job cannot be called with the records of its Reader", "This vector job has no Places: ",
             "Places of this vector job cannot be called", "This vector job has no Combine: ",
             "Combine of this vector job cannot be called", "This vector job has neither Format nor FormatAll: ",
             "Format of this vector job cannot be called",
             "This job of one value has no Value: ", "Weir does not know the Value of this job as bytes",
             "Map of this job of one value cannot be called", "This job of one value has no ValueBytes: ",
             "ValueBytes of this job of one value cannot be called", "This job of one value has no Combine: ",
             "Combine of this job of one value cannot be called", "This job of one value has no Format: ",
             "Format of this job of one value cannot be called",
             "This loop has no Place: ", "The Place of this loop cannot be copied as memory", "This loop has no Resident: ",
             "The Resident of this loop does not say what it holds", "Load of this loop cannot be called",
             "Map of this loop cannot be called", "This loop does not say how large it is",
             "This loop does not name what Update measures", "Combine of this loop cannot be called",
             "Update of this loop cannot be called as Weir does: ",
             "Update of this loop cannot be called as Weir does where kElementWise is true",
             "Format of this loop cannot be called as Weir does: ",
             "Format of this loop cannot be called as Weir does where kElementWise is true"]


def compile_jobs(*flags):
    return subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-I", ROOT, *flags, "-x", "c++", SOURCE],
                          capture_output=True, text=True, check=False, timeout=300)


class JobRules(unittest.TestCase):
    def test_each_wrong_job_gets_its_sentence_and_no_other(self):
        done = compile_jobs()
        self.assertNotEqual(done.returncode, 0)
        errors = re.findall(r"error: (.*)", done.stderr)
        said = [error.removeprefix("static assertion failed: ").strip('"') for error in errors]
        self.assertEqual(len(said), len(SENTENCES), done.stderr)
        for error, sentence in zip(said, SENTENCES, strict=True):
            self.assertTrue(error.startswith(sentence), f"{error!r} is not {sentence!r}...")

    def test_sound_jobs_compile(self):
        done = compile_jobs("-DSOUND")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
