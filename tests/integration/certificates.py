"""Certificates for tests, by openssl(1)."""
import os
import subprocess


class Authority:
    """NAME.pem and NAME.key in a directory: signs certificates for 127.0.0.1."""

    def __init__(self, directory, name, days=2):
        self.directory, self.name = directory, name
        self._openssl("req", "-x509", *self._key(name), "-out", f"{name}.pem", "-days", str(days))

    def issue(self, name, days=2, usage=None, role=None):
        """Makes name.pem and name.key; `days` below 0 has expired; `usage`: the only use that it is made out for; `role`: what
        its holder may call as."""
        with open(os.path.join(self.directory, "san"), "w", encoding="ascii") as file:
            file.write("subjectAltName=IP:127.0.0.1" + (f",URI:weir:{role}" if role else "") + "\n")
            file.write(f"extendedKeyUsage={usage}\n" if usage else "")
        self._openssl("req", *self._key(name), "-out", f"{name}.csr")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.pem", "-CAkey", f"{self.name}.key",
                      "-CAcreateserial", "-out", f"{name}.pem", "-days", str(days), "-extfile", "san")

    @staticmethod
    def _key(name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                "-subj", f"/CN={name}"]

    def _openssl(self, *args):
        made = subprocess.run(["openssl", *args], cwd=self.directory, capture_output=True, text=True)
        if made.returncode != 0:
            raise RuntimeError(made.stderr)
