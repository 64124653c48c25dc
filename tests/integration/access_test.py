"""Other users of the machine: no job, no list, no file; the same user has nothing to type."""
import contextlib
import json
import os
import pwd
import shutil
import stat
import subprocess
import unittest

from weir_process import BINARY, Cluster, WeirTest, free_port, wait_for, write_words


class OtherUsers(WeirTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can try things as another user")
        try:
            self.stranger = pwd.getpwnam("nobody")
        except KeyError:
            self.skipTest("this machine has no user nobody")
        # What the test itself hides must not be what keeps strangers out.
        for directory in (self.dir, self.work):
            os.chmod(directory, 0o755)
        # Nor what lies above the build.
        self.program = shutil.copy(BINARY, self.path("weir"))
        os.chmod(self.program, 0o755)

    def as_stranger(self, *command, env=None):
        return subprocess.run(command, user=self.stranger.pw_uid, group=self.stranger.pw_gid, extra_groups=[],
                              capture_output=True, text=True, timeout=30, check=False, cwd="/",
                              env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(env or {})})

    def assert_refused(self, result):
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        self.assertIn("serves the user that started it", result.stderr)

    def test_no_job_and_no_list(self):
        cluster = Cluster(self, workers=1)
        probe = self.as_stranger(self.program, "--version")
        self.assertEqual(probe.returncode, 0, f"the stranger must be able to run the program: {probe.stderr}")
        secret = self.write("secret", "nobody may read this")
        os.chmod(secret, 0o600)
        self.assert_ok(cluster.submit("wordcount", secret, "-o", self.path("out")))
        job = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"][0]
        self.assertRegex(job["submitter"], r"^root@")
        status = self.weir("status", job["job_id"], "--master", cluster.address)
        self.assertRegex(status.out.decode(), r"submitted .* by root@")
        drop = self.path("drop")
        os.mkdir(drop, 0o777)
        os.chmod(drop, 0o777)
        before = self.text(self.path("master.log"))
        for arguments in (["list", "jobs"], ["list", "workers"], ["status", job["job_id"]], ["logs", job["job_id"]],
                          ["explain", job["job_id"]], ["watch", job["job_id"]], ["cancel", job["job_id"]],
                          ["submit", "wordcount", secret, "-o", os.path.join(drop, "out")],
                          ["submit", "wordcount", secret, "-o", self.path("out"), "--overwrite"],
                          ["run", "wordcount", secret, "-o", os.path.join(drop, "out")],
                          ["plan", "wordcount", secret], ["calibrate"]):
            self.assert_refused(self.as_stranger(self.program, *arguments, "--master", cluster.address))
        # With a token of their own as little as without any.
        guess = {"XDG_STATE_HOME": drop}
        os.mkdir(os.path.join(drop, "weir"))
        token = os.path.join(drop, "weir", "token")
        with open(token, "w", encoding="ascii") as file:
            file.write("0123456789abcdef" * 4 + "\n")
        os.chmod(token, 0o600)
        os.chown(token, self.stranger.pw_uid, self.stranger.pw_gid)
        os.chmod(os.path.join(drop, "weir"), 0o755)
        self.assert_refused(self.as_stranger(self.program, "list", "jobs", "--master", cluster.address, env=guess))
        # Nor does a worker of theirs get work.
        newcomer = subprocess.Popen(
            [self.program, "worker", "--master", cluster.address, "--name", "theirs", "--work-dir", drop],
            user=self.stranger.pw_uid, group=self.stranger.pw_gid, extra_groups=[], cwd="/", text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], **guess})
        try:
            line = ""
            while "keeps trying" not in line:
                line = newcomer.stderr.readline()
                self.assertNotEqual(line, "", "the worker ended")
            self.assertIn("serves the user that started it", line)
        finally:
            newcomer.terminate()
            newcomer.communicate(timeout=15)
        self.assertEqual(self.text(self.path("master.log")), before, "the master heard nothing of it")
        self.assertEqual(len(json.loads(self.weir("list", "workers", "--json", "--master",
                                                  cluster.address).out)["workers"]), 1)
        cluster.stop()

    def test_no_file(self):
        cluster = Cluster(self, workers=1)
        text = self.path("text.txt")
        write_words(text, 60)
        os.chmod(text, 0o600)
        client = self.start("submit", "wordcount", text, "-o", self.path("out"), "--wait", "--master", cluster.address)

        def written():
            paths = [os.path.join(d, f) for d, _, files in os.walk(self.work) for f in files]
            return [path for path in paths if os.path.exists(path) and os.path.getsize(path) > 10000]
        wait_for(written, 30, "the job writes runs")
        listed = self.as_stranger("find", self.work, cluster.journal, self.path("state"), "-type", "f", "-readable")
        self.assertEqual(listed.stdout, "", "files that a stranger can read")
        self.assert_ok(self.finish(client))
        token = self.path("state", "weir", "token")
        for private in (token, cluster.journal):
            self.assertEqual(stat.S_IMODE(os.stat(private).st_mode), 0o600, private)
        cluster.stop()

    def test_a_token_file_can_be_shared(self):
        shared = self.write("shared-token", "0123456789abcdef" * 4 + "\n")
        os.chmod(shared, 0o600)
        options = ("--token-file", shared)
        cluster = Cluster(self, workers=1, master_args=options, worker_args=options, client_args=options)
        self.assertEqual(self.weir("list", "workers", "--master", cluster.address).code, 4, "the user's own is another")
        os.chown(shared, 0, self.stranger.pw_gid)
        os.chmod(shared, 0o640)
        asked = self.as_stranger(self.program, "list", "workers", *options, "--master", cluster.address)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        os.chmod(shared, 0o644)
        refused = self.weir("list", "workers", *options, "--master", cluster.address)
        self.assert_fails(refused, 4, "mode 644", "chmod 640")
        cluster.stop()


class SameUser(WeirTest):
    def test_masters_and_workers_that_start_at_once_take_the_same_token(self):
        cluster = Cluster(self, workers=4)
        self.assert_ok(cluster.submit("wordcount", self.write("a", "x y x"), "-o", self.path("out")))
        cluster.stop()

    def test_a_token_file_that_was_named_is_made_by_a_master_alone(self):
        named = self.path("named", "token")
        options = ("--token-file", named)
        worker = ("worker", "--master", f"127.0.0.1:{free_port()}", "--work-dir", self.work)
        for result in (self.weir(*worker, *options, timeout=15),
                       self.weir(*worker, env={"WEIR_TOKEN_FILE": named}, timeout=15),
                       self.weir("list", "workers", *options, timeout=15)):
            self.assert_fails(result, 4, named, "--token-file", "start the master with it first")
            self.assertFalse(os.path.exists(os.path.dirname(named)), result.err)
        cluster = Cluster(self, workers=0, master_args=options, client_args=options)
        self.assertEqual(stat.S_IMODE(os.stat(named).st_mode), 0o600)
        self.assertIn(named, self.text(self.path("master.log")), "it says that it made it")
        cluster.workers.append(cluster.start_worker(0, options))
        cluster.wait_for_workers(1)
        cluster.stop()

    def test_the_token_stands_in_its_file_alone(self):
        """Not in words of a command line, nor in logs, journal, plans, traces or what a job was given."""
        cluster = Cluster(self, workers=1)
        token_file = self.path("state", "weir", "token")
        token = self.text(token_file).strip()
        self.assertEqual(len(token), 64)
        output = self.path("out")
        given = self.weir("streaming", "-input", self.write("a", "x\n"), "-output", output, "-mapper", "env", "-reducer", "NONE",
                          "--master", cluster.address)
        self.assert_ok(given)
        job = json.loads(self.weir("list", "jobs", "--json", "--master", cluster.address).out)["jobs"][0]["job_id"]
        shown = [given]
        for question in (["status", job, "--json"], ["explain", job, "--json"], ["logs", job, "--json"], ["list", "workers", "--json"]):
            shown.append(self.weir(*question, "--master", cluster.address))
            self.assert_ok(shown[-1])
        # With a wrong one there is something to complain about.
        refused = self.weir("list", "jobs", "--master", cluster.address, env={"XDG_STATE_HOME": self.path("another")})
        self.assertEqual(refused.code, 4)
        for said in (*shown, refused):
            self.assertNotIn(token.encode(), said.out)
            self.assertNotIn(token, said.err)
        for process in (cluster.master, *cluster.workers):
            with open(f"/proc/{process.pid}/cmdline", "rb") as words:
                self.assertNotIn(token.encode(), words.read())
        self.assertTrue(os.path.exists(os.path.join(output, "_weir", "plan.json")))
        looked_into = set()
        for directory, _, names in os.walk(self.dir):
            for name in names:
                path = os.path.join(directory, name)
                # The worker may still clear up after the job.
                with contextlib.suppress(FileNotFoundError):
                    if path == token_file or not stat.S_ISREG(os.lstat(path).st_mode):
                        continue
                    with open(path, "rb") as file:
                        self.assertNotIn(token.encode(), file.read(), path)
                    looked_into.add(name)
        self.assertLessEqual({"master.log", "worker0.log", os.path.basename(cluster.journal), "plan.json", "part-00000"}, looked_into)
        cluster.stop()

    def test_insecure_serves_whoever_comes(self):
        cluster = Cluster(self, workers=1, master_args=("--insecure",), worker_args=("--insecure",))
        listed = self.weir("list", "workers", "--master", cluster.address, env={"XDG_STATE_HOME": self.path("another")})
        self.assert_ok(listed)
        cluster.stop()

    def test_a_daemon_without_a_place_for_its_token_says_what_to_do(self):
        result = self.weir("master", "--listen", "127.0.0.1:0", "--journal", self.path("j.db"), timeout=10,
                           env={"XDG_STATE_HOME": "/proc/nowhere"})
        self.assertNotEqual(result.code, 0)
        self.assertIn("--token-file FILE", result.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
