"""The example of weir/reduce.h as processes of their own: joined by a real master, killed, and without its token."""
import os
import signal
import subprocess
import time
import unittest

from weir_process import BINARY, ROOT, WeirTest, free_port, wait_for

EXAMPLE = os.environ.get("WEIR_REDUCE_EXAMPLE",
                         os.path.join(ROOT, "build/release/runtime/reduce/example/weir_reduce_example"))
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
        self.start(BINARY, "master", "--listen", self.address, "--journal", self.path("journal.db"), "--token-file",
                   self.token)

    def tearDown(self):
        for process in self.running:
            process.kill()
            process.communicate()
        super().tearDown()

    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=self.dir)
        self.running.append(process)
        return process

    def member(self, size, rank, *more):
        return self.start(EXAMPLE, self.address, str(size), str(rank), *more)

    def test_processes_sum(self):
        members = [self.member(3, rank, self.token) for rank in range(3)]
        for member in members:
            out, error = member.communicate(timeout=60)
            self.assertEqual(member.returncode, 0, error)
            self.assertTrue(out.startswith("sum 6 by "), out)

    def test_a_killed_member_is_named_by_all_others(self):
        members = [self.member(4, rank, self.token, "100000000") for rank in range(4)]
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
        member = self.member(1, 0)
        _, error = member.communicate(timeout=90)
        self.assertEqual(member.returncode, 1)
        self.assertIn("UNAUTHENTICATED", error)

    @staticmethod
    def sockets_of(process):
        folder = f"/proc/{process.pid}/fd"
        try:
            return sum("socket" in os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder))
        except OSError:
            return 0


if __name__ == "__main__":
    unittest.main()
