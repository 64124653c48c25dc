"""Programs and temporary directories that end with this process, however that ends: by SIGKILL too, when nothing here runs any more.

Each program has as its stdin a line, a pipe whose writing end this process alone holds: the kernel closes it with the process. Not
PR_SET_PDEATHSIG, which comes when the thread ends that started the program.
"""
import os
import shutil
import subprocess
import tempfile
import threading
import weakref

# 50 tries: what writes there may take a moment to end. Signals to all, as of a service that is stopped, are not meant for it.
_SWEEP = """trap '' HUP INT TERM
read -r _
tries=0
until rm -rf -- "$1" || [ $((tries += 1)) -ge 50 ]; do sleep 0.1; done"""

_lines = weakref.WeakSet()  # guarded by _making
_making = threading.RLock()


def _let_go():
    # A fork without an exec, as of multiprocessing, would hold them after this process has ended.
    for line in list(_lines):
        line.close()
    _making.release()


os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_let_go)


def start(command, **options):
    """Starts a program that is to end when its stdin does, in a session of its own."""
    with _making:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, **options)
        _lines.add(process.stdin)
    return process


class TemporaryDirectory:
    """A directory that a small process removes when this one, and who else is given `line`, has ended without removing it."""

    def __init__(self):
        self._owner = os.getpid()
        self.path = tempfile.mkdtemp(prefix="weir-python-")
        try:
            self._sweeper = start(["/bin/sh", "-c", _SWEEP, "weir-python", self.path], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, cwd="/")
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    @property
    def line(self):
        """Descriptor for a process that writes here to inherit."""
        return self._sweeper.stdin.fileno()

    def remove(self):
        if os.getpid() != self._owner:  # a fork has it from its parent
            return
        shutil.rmtree(self.path, ignore_errors=True)
        self._sweeper.kill()
        self._sweeper.wait()
        self._sweeper.stdin.close()
