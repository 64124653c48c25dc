"""Real text, from packages of Debian: the sources of Linux, and prose of manuals and dictionaries.

Upstream: inputs.py. Downstream: apt-get, dpkg-deb. Packages are fetched once and kept; nothing is installed.
"""
import glob
import gzip
import os
import re
import subprocess
import sys
import tarfile
import urllib.parse

PACKAGES = {
    "sources": ["linux-source-6.1"],
    "prose": ["dict-gcide", "wordnet-base", "cppreference-doc-en-html", "perl-doc", "linux-doc-6.1", "openjdk-17-doc"],
}
TAGS = re.compile(rb"<(script|style)\b.*?</\1>|<[^>]*>", re.S)


def fetch(package, folder):
    """Path of the package's file. One that is there already is taken, whatever its version."""
    pattern = os.path.join(folder, glob.escape(package) + "_*.deb")
    if not glob.glob(pattern):
        done = subprocess.run(["apt-get", "download", "-q", package], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"tests/bench/run: apt-get download {package} failed (apt-get update?):\n{done.stderr}")
    return glob.glob(pattern)[0]


def files_of(archive):
    """(name, content) of all files of a tar archive, those of tar archives within it, too; in its order."""
    with tarfile.open(fileobj=archive, mode="r|*") as members:
        for member in members:
            if not member.isfile():
                continue
            file = members.extractfile(member)
            if member.name.endswith((".tar.xz", ".tar.gz")):
                yield from files_of(file)
            else:
                yield member.name, file.read()


def files_of_package(path):
    # Who has read enough closes the pipe, of which dpkg-deb complains; that a package is damaged, tar says, too.
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as unpack:
        yield from files_of(unpack.stdout)


def plain(name, content):
    """The text of a file, or None. Only UTF-8 with bare newlines: what others count must be what we count."""
    if name.endswith((".gz", ".dz")):
        content, name = gzip.decompress(content), name.rsplit(".", 1)[0]
    if name.endswith((".html", ".htm")):
        content = TAGS.sub(b" ", content)
    if b"\0" in content or b"\r" in content:
        return None
    try:
        content.decode()
    except UnicodeDecodeError:
        return None
    return content


def write(kind, num_bytes, output, folder):
    """Writes the first `num_bytes` of the text, whole files; returns the names of the packages with their versions."""
    os.makedirs(folder, exist_ok=True)
    used, written = [], 0
    with open(output + ".part", "wb") as out:
        for package in PACKAGES[kind]:
            if written >= num_bytes:
                break
            path = fetch(package, folder)
            used.append(" ".join(urllib.parse.unquote(os.path.basename(path)).split("_")[:2]))
            for name, content in files_of_package(path):
                text = plain(name, content)
                if text:
                    written += out.write(text if text.endswith(b"\n") else text + b"\n")
                if written >= num_bytes:
                    break
    if written < num_bytes:
        print(f"tests/bench/run: {kind} ends at {written} bytes: its packages have no more", file=sys.stderr)
    os.rename(output + ".part", output)
    return used
