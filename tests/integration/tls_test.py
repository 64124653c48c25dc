"""TLS between real processes: who fits together works, and whatever does not is named where it is noticed."""
import os
import subprocess
import unittest

from weir_process import BINARY, WeirTest, free_port, read_parts, wait_for


class Tls(WeirTest):
    def openssl(self, *args):
        made = subprocess.run(["openssl", *args], cwd=self.dir, capture_output=True)
        self.assertEqual(made.returncode, 0, made.stderr.decode())

    def key_arguments(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                "-subj", f"/CN={name}"]

    def authority(self, name):
        self.openssl("req", "-x509", *self.key_arguments(name), "-out", f"{name}.pem", "-days", "2")

    def issue(self, name, authority, days=2):
        self.write("san", "subjectAltName=IP:127.0.0.1")
        self.openssl("req", *self.key_arguments(name), "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                     "-CAcreateserial", "-out", f"{name}.pem", "-days", str(days), "-extfile", "san")

    def flags(self, certificate, key, authority):
        return ["--tls-cert", self.path(f"{certificate}.pem"), "--tls-key", self.path(f"{key}.key"),
                "--tls-ca", self.path(f"{authority}.pem")]

    def setUp(self):
        super().setUp()
        self.authority("ours")
        self.authority("theirs")
        self.issue("good", "ours")
        self.issue("expired", "ours", days=-1)
        self.issue("foreign", "theirs")

    def test_a_master_that_nobody_would_accept_does_not_start(self):
        for certificate, key, code, needles in (
                ("expired", "expired", 4, ["expired.pem", "CN=expired", "has expired"]),
                ("foreign", "foreign", 4, ["foreign.pem", "is not signed by the authority", "ours.pem"]),
                ("good", "foreign", 2, ["foreign.key", "is not that of the certificate in", "good.pem"])):
            with self.subTest(certificate=certificate, key=key):
                result = self.weir("master", "--listen", "127.0.0.1:0", "--journal", self.path("j.db"),
                                   *self.flags(certificate, key, "ours"), timeout=20)
                self.assert_fails(result, code, *needles)

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
