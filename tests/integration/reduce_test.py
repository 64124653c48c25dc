"""The example of weir/reduce.h as processes of their own: joined by a real master, with tokens and TLS, and killed."""
import os
import re
import signal
import subprocess
import time
import unittest

from certificates import Authority
from weir_process import BINARY, ROOT, WeirTest, free_port, wait_for

EXAMPLE = os.environ.get("WEIR_REDUCE_EXAMPLE",
                         os.path.join(ROOT, "build/release/runtime/reduce/example/weir_reduce_example"))
BUILD = os.path.join(os.path.dirname(EXAMPLE), "../../..")
DEATH_NOTICED_S = 10


class Reduce(WeirTest):
    def setUp(self):
        super().setUp()
        self.running = []
        self.address = f"127.0.0.1:{free_port()}"
        self.token = self.path("token")
        with open(self.token, "w", encoding="ascii") as file:
            file.write("0123456789abcdef" * 4 + "\n")
        os.chmod(self.token, 0o600)

    def tearDown(self):
        for process in self.running:
            process.kill()
            process.communicate()
        super().tearDown()

    def master(self, *more):
        self.begin(BINARY, "master", "--listen", self.address, "--journal", self.path("journal.db"), *more)

    def begin(self, *command, token="", home="state"):
        env = {**os.environ, "XDG_STATE_HOME": self.path(home), "WEIR_TOKEN_FILE": token}
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=self.dir, env=env)
        self.running.append(process)
        return process

    def member(self, size, rank, *more, **environment):
        return self.begin(EXAMPLE, self.address, str(size), str(rank), *more, **environment)

    def assert_all_sum(self, members):
        for member in members:
            out, error = member.communicate(timeout=60)
            self.assertEqual(member.returncode, 0, error)
            self.assertTrue(out.startswith("sum 6 by "), out)

    def test_members_find_their_users_token(self):
        self.master()
        wait_for(lambda: os.path.exists(self.path("state", "weir", "token")), 20, "the master's token")
        self.assert_all_sum([self.member(3, rank) for rank in range(3)])

    def test_a_token_may_be_named(self):
        self.master("--token-file", self.token)
        self.assert_all_sum([self.member(3, rank, token=self.token) for rank in range(3)])

    def test_a_master_with_tls_takes_members_whose_files_fit(self):
        authority = Authority(self.dir, "ours")
        authority.issue("good")
        Authority(self.dir, "theirs").issue("foreign")
        good = [self.path(name) for name in ("good.pem", "good.key", "ours.pem")]
        self.master("--tls-cert", good[0], "--tls-key", good[1], "--tls-ca", good[2])
        self.assert_all_sum([self.member(3, rank, "1", *good) for rank in range(3)])
        # Files that do not fit together are named before anybody is asked; others by who refuses them.
        for files, needle in (((good[0], self.path("foreign.key"), good[2]), "foreign.key"),
                              ((self.path("foreign.pem"), self.path("foreign.key"), good[2]), "foreign.pem"),
                              (("", good[1], good[2]), "must be given together")):
            member = self.member(3, 0, "1", *files)
            _, error = member.communicate(timeout=60)
            self.assertEqual(member.returncode, 1)
            self.assertIn(needle, error)

    def test_a_killed_member_is_named_by_all_others(self):
        self.master("--token-file", self.token)
        members = [self.member(4, rank, "100000000", token=self.token) for rank in range(4)]
        # All are in the middle of their calls: each has connections to the others, beside the master's.
        wait_for(lambda: all(self.sockets_of(m) >= 2 * 3 for m in members), 30, "connections of all members")
        time.sleep(0.5)
        members[2].send_signal(signal.SIGKILL)
        killed = time.monotonic()
        for rank in (0, 1, 3):
            _, error = members[rank].communicate(timeout=DEATH_NOTICED_S)
            self.assertEqual(members[rank].returncode, 1, error)
            self.assertIn("rank 2", error)
            self.assertIn("died", error)
        self.assertLess(time.monotonic() - killed, DEATH_NOTICED_S)

    def test_without_the_token_nobody_joins(self):
        self.master("--token-file", self.token)
        member = self.member(1, 0, home="nobody")
        _, error = member.communicate(timeout=90)
        self.assertEqual(member.returncode, 1)
        self.assertIn("UNAUTHENTICATED", error)

    def test_a_program_elsewhere_links_what_is_installed(self):
        prefix, program = self.path("installed"), self.path("program")
        source = os.path.join(ROOT, "runtime/reduce/example/gradient_sum.cc")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component", "dev"], check=True,
                       capture_output=True)
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "weir-reduce"], check=True, capture_output=True, text=True,
                               env={**os.environ, "PKG_CONFIG_PATH": os.path.join(prefix, "lib/pkgconfig")}).stdout.split()
        built = subprocess.run(["c++", "-o", program, source, *self.sanitizers(), *flags], capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr[-2000:])
        self.master()
        wait_for(lambda: os.path.exists(self.path("state", "weir", "token")), 20, "the master's token")
        self.assert_all_sum([self.begin(program, self.address, "3", str(rank)) for rank in range(3)])

    @staticmethod
    def sanitizers():
        """What the build is linked with beside the libraries."""
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
            found = re.search(r"^WEIR_SANITIZE\w*:\w+=(.+)$", file.read(), re.MULTILINE)
        return [f"-fsanitize={found[1].replace(';', ',')}"] if found else []

    @staticmethod
    def sockets_of(process):
        folder = f"/proc/{process.pid}/fd"
        try:
            return sum("socket" in os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder))
        except OSError:
            return 0


if __name__ == "__main__":
    unittest.main()
