"""TLS between real processes: who fits together works, and whatever does not is named where it is noticed."""
import os
import re
import socket
import subprocess
import unittest

from certificates import Authority
from weir_process import BINARY, ROOT, WeirTest, free_port, read_parts, wait_for


class Tls(WeirTest):
    def flags(self, certificate, key, authority):
        return ["--tls-cert", self.path(f"{certificate}.pem"), "--tls-key", self.path(f"{key}.key"),
                "--tls-ca", self.path(f"{authority}.pem")]

    def setUp(self):
        super().setUp()
        self.ours = Authority(self.dir, "ours")
        self.ours.issue("good")
        self.ours.issue("expired", days=-1)
        Authority(self.dir, "theirs").issue("foreign")

    def test_a_master_that_nobody_would_accept_does_not_start(self):
        for certificate, key, code, needles in (
                ("expired", "expired", 4, ["expired.pem", "CN=expired", "has expired"]),
                ("foreign", "foreign", 4, ["foreign.pem", "is not signed by the authority", "ours.pem"]),
                ("good", "foreign", 2, ["foreign.key", "is not that of the certificate in", "good.pem"])):
            with self.subTest(certificate=certificate, key=key):
                result = self.weir("master", "--listen", "127.0.0.1:0", "--journal", self.path("j.db"),
                                   *self.flags(certificate, key, "ours"), timeout=20)
                self.assert_fails(result, code, *needles)

    def test_a_file_that_cannot_be_read_is_named_with_its_flag(self):
        good = self.flags("good", "good", "ours")
        gone = self.path("gone")
        for flag, at in (("--tls-cert", 1), ("--tls-key", 3), ("--tls-ca", 5)):
            flags = [*good[:at], gone, *good[at + 1:]]
            with self.subTest(flag):
                self.assert_fails(self.weir("list", "workers", "--master", "127.0.0.1:1", *flags), 4, f"{flag}: ", gone)
                self.assert_fails(self.weir("master", "--listen", "127.0.0.1:0", "--journal", self.path("j.db"), *flags,
                                            timeout=20), 4, f"{flag}: ", gone)
        not_pem = [*good[:5], self.write("text", "x")]
        self.assert_fails(self.weir("list", "workers", "--master", "127.0.0.1:1", *not_pem), 2,
                          f"--tls-ca {self.path('text')} holds no certificate")

    def test_whoever_does_not_fit_is_told_why(self):
        good = self.flags("good", "good", "ours")
        port = free_port()
        address = f"127.0.0.1:{port}"
        master = self.start("master", "--listen", address, "--journal", self.path("j.db"), *good)
        self.addCleanup(self.end, master)
        wait_for(lambda: self.weir("list", "workers", "--master", address, *good).code == 0, 20, "the master serves")
        # A client that trusts another authority, and one in plain text.
        other = self.weir("list", "workers", "--master", address, *self.flags("foreign", "foreign", "theirs"))
        self.assert_fails(other, 4, "CN=good", "is not signed by the authority", "--tls-ca")
        self.assert_fails(self.weir("list", "workers", "--master", address), 3, "does it want TLS", "--tls-cert")
        # A worker likewise keeps trying, and says what is wrong.
        worker = self.start_worker(address, "stranger", self.flags("foreign", "foreign", "theirs"))
        wait_for(lambda: "is not signed by the authority" in self.text(self.path("stranger.log")), 20, "it says why")
        self.end(worker)
        # Those of one authority work together.
        self.start_worker(address, "friend", good)
        text = self.write("text", "x y x")
        wait_for(lambda: b"alive" in self.weir("list", "workers", "--master", address, *good).out, 20, "it registers")
        self.assert_ok(self.weir("submit", "wordcount", text, "-o", self.path("out"), "--wait", "--master", address,
                                 *good))
        self.assertEqual(sorted(read_parts(self.path("out"))), [b"x\t2", b"y\t1"])

    def test_a_certificate_for_servers_only_is_refused_by_its_own_side(self):
        self.ours.issue("server", usage="serverAuth")
        self.ours.issue("client", usage="clientAuth")
        for certificate, lacks in (("server", "clientAuth"), ("client", "serverAuth")):
            for daemon in (["master", "--listen", "127.0.0.1:0", "--journal", self.path("j.db")],
                           ["worker", "--work-dir", self.work, "--no-measure", "--master-grace", "1s"]):
                with self.subTest(certificate=certificate, daemon=daemon[0]):
                    self.assert_fails(self.weir(*daemon, *self.flags(certificate, certificate, "ours"), timeout=20), 4,
                                      f"{certificate}.pem", f"is not made out for {lacks}")
        address = f"127.0.0.1:{free_port()}"
        good = self.flags("good", "good", "ours")
        master = self.start("master", "--listen", address, "--journal", self.path("j.db"), *good)
        self.addCleanup(self.end, master)
        # Who only calls needs no more.
        wait_for(lambda: self.weir("list", "workers", "--master", address, *self.flags("client", "client", "ours")).code == 0, 20,
                 "the master serves")
        self.assert_fails(self.weir("list", "workers", "--master", address, *self.flags("server", "server", "ours")), 4,
                          "is not made out for clientAuth")

    def test_the_commands_of_the_guide_make_files_that_work(self):
        [commands] = re.findall(r"(?s)```sh\n(.*?)```", self.text(os.path.join(ROOT, "docs/guides/operate.md")))
        commands, hosts = re.subn(r"(?m)^host=.*$", "host=node7 names=DNS:node7,IP:127.0.0.1", commands)
        self.assertEqual(hosts, 1, commands)
        made = subprocess.run(["sh", "-eu", "-c", commands], cwd=self.dir, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        flags = self.flags("node7", "node7", "weir-ca")
        address = f"127.0.0.1:{free_port()}"
        master = self.start("master", "--listen", address, "--journal", self.path("j.db"), *flags)
        self.addCleanup(self.end, master)
        self.start_worker(address, "node7-worker", flags)
        wait_for(lambda: b"alive" in self.weir("list", "workers", "--master", address, *flags).out, 20, "it registers")

    def test_strangers_do_not_fill_the_log(self):
        good = self.flags("good", "good", "ours")
        address = f"127.0.0.1:{free_port()}"
        with open(self.path("master.log"), "wb") as log:
            master = subprocess.Popen([BINARY, "master", "--listen", address, "--journal", self.path("j.db"), *good],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(self.end, master)
        wait_for(lambda: self.weir("list", "workers", "--master", address, *good).code == 0, 20, "the master serves")
        host, port = address.split(":")
        for _ in range(100):
            with socket.create_connection((host, int(port)), timeout=10) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                # Until it is told off, or hung up on: by then the line is written.
                try:
                    while stranger.recv(100):
                        pass
                except ConnectionResetError:
                    pass
        reported = self.text(self.path("master.log")).count("gRPC reports")
        # Once, or twice where a minute ended meanwhile.
        self.assertIn(reported, (1, 2), self.text(self.path("master.log"))[-2000:])

    def test_certificates_that_end_soon_are_told_of(self):
        # Those of setUp end in two days.
        Authority(self.dir, "lasting", days=400).issue("later", days=300)
        for certificate, authority, told in (("good", "ours", True), ("later", "lasting", False)):
            with self.subTest(certificate):
                flags = self.flags(certificate, certificate, authority)
                address = f"127.0.0.1:{free_port()}"
                log = open(self.path(f"{certificate}-master.log"), "wb")
                self.addCleanup(log.close)
                master = subprocess.Popen([BINARY, "master", "--listen", address, "--journal", self.path(certificate), *flags],
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                self.addCleanup(self.end, master)
                self.start_worker(address, certificate, flags)
                wait_for(lambda: b"alive" in self.weir("list", "workers", "--master", address, *flags).out, 20, "it registers")
                for name in (log.name, self.path(f"{certificate}.log")):
                    sentence = "A certificate of the TLS files ends soon"
                    if told:
                        wait_for(lambda: sentence in self.text(name), 10, lambda: self.text(name))
                    self.assertEqual(self.text(name).count(sentence), int(told), self.text(name))

    def test_workers_beyond_loopback_send_runs_in_plain_text_where_that_is_allowed(self):
        good = self.flags("good", "good", "ours")
        address = f"127.0.0.1:{free_port()}"
        master = self.start("master", "--listen", address, "--journal", self.path("j.db"), *good)
        self.addCleanup(self.end, master)
        beyond = ["--data-listen", "0.0.0.0:0", "--advertise", "127.0.0.1", *good]
        refused = self.weir("worker", "--master", address, "--work-dir", self.work, *beyond, timeout=20)
        self.assert_fails(refused, 4, "the data plane has no TLS", "--insecure")
        # As in /etc/default/weir-worker: calls are by TLS all the same, which this master asks for.
        for name in ("one", "two"):
            self.start_worker(address, name, [*beyond, "--insecure"])
        wait_for(lambda: self.weir("list", "workers", "--master", address, *good).out.count(b"alive") == 2, 20, "both register")
        text = self.write("text", "x y x\n" * 1000)
        self.assert_ok(self.weir("submit", "wordcount", text, "-o", self.path("out"), "--wait", "--master", address,
                                 "--mappers", "2", "--reducers", "2", *good))
        self.assertEqual(sorted(read_parts(self.path("out"))), [b"x\t2000", b"y\t1000"])

    def test_certificates_that_name_roles_are_answered_by_their_services_alone(self):
        for role in ("client", "worker", "master"):
            self.ours.issue(role, role=role)
        client, worker, master = (self.flags(role, role, "ours") for role in ("client", "worker", "master"))
        address = f"127.0.0.1:{free_port()}"
        serving = self.start("master", "--listen", address, "--journal", self.path("j.db"), *master)
        self.addCleanup(self.end, serving)
        wait_for(lambda: self.weir("list", "workers", "--master", address, *client).code == 0, 20, "the master serves")
        # Who asks with a worker's certificate, and a worker with a client's.
        self.assert_fails(self.weir("list", "workers", "--master", address, *worker), 4, "CN=worker", "weir:worker",
                          "URI:weir:client")
        self.start_worker(address, "impostor", client)
        wait_for(lambda: "URI:weir:worker" in self.text(self.path("impostor.log")), 20, "it says why")
        self.assertNotIn(b"impostor", self.weir("list", "workers", "--master", address, *client).out)
        # The master's own lets it call a worker back and give it orders.
        self.start_worker(address, "friend", worker)
        wait_for(lambda: b"alive" in self.weir("list", "workers", "--master", address, *client).out, 20, "it registers")
        text = self.write("text", "x y x")
        self.assert_ok(self.weir("submit", "wordcount", text, "-o", self.path("out"), "--wait", "--master", address,
                                 *client))
        self.assertEqual(sorted(read_parts(self.path("out"))), [b"x\t2", b"y\t1"])

    def start_worker(self, address, name, flags):
        work = os.path.join(self.work, name)
        os.mkdir(work)
        log = open(self.path(f"{name}.log"), "wb")
        self.addCleanup(log.close)
        worker = subprocess.Popen([BINARY, "worker", "--master", address, "--name", name, "--no-measure", "--work-dir",
                                   work, *flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(self.end, worker)
        return worker

    def end(self, process):
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=15)


if __name__ == "__main__":
    unittest.main(verbosity=2)
