"""Runs, submits and plans jobs by driving the program `weir`. Upstream: users. Downstream: `weir run|submit|plan|... --json`.

A job that is run here is a process of its own, in a session of its own: Ctrl-C reaches Python first, which cancels the job. It ends
with this process, however that ends (_ends.py).
"""
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref

from . import __version__, _ends, _errors, _progress, _results
from ._ship import FunctionJob

_ARCHIVE = "weir_job.zip"  # as tasks find it
_CANCEL_SECONDS = 20
_LOOK_SECONDS = 0.1
_POLL_SECONDS = 0.5
_MASTER_GRACE_SECONDS = 600  # as that of `weir watch`
_AWAY = ("MASTER_UNREACHABLE", "MASTER_NOT_READY")
_ENDED = ("succeeded", "failed", "cancelled")
# Keywords that are flags of `weir`; all other keywords are parameters of the job.
_SWITCHES = {"overwrite": "--overwrite", "no_sample": "--no-sample", "no_check_operation": "--no-check-operation"}
_VALUES = {"mappers": "--mappers", "reducers": "--reducers", "skip_bad": "--skip-bad", "plan_method": "--plan-method",
           "plan_file": "--plan-file", "write": "--write", "codec": "--codec", "combine": "--combine", "deadline": "--deadline",
           "module": "--module", "token_file": "--token-file", "tls_cert": "--tls-cert", "tls_key": "--tls-key", "tls_ca": "--tls-ca"}
_PATHS = ("plan_file", "module", "token_file", "tls_cert", "tls_key", "tls_ca", "work_dir")  # of these and those below
# Of jobs that run here.
_EMBEDDED = {"workers": "--workers", "slots": "--slots", "memory": "--memory", "work_dir": "--work-dir"}
_EMBEDDED_SWITCHES = {"no_history": "--no-history"}
_PATH = (str, bytes, os.PathLike)
_SHIPPED = {"files": "--file", "archives": "--archive"}
_NOT_OF_A_PLAN = ("--overwrite", "--no-check-operation", "--deadline")

_checked = set()


def find_program():
    """Returns the path of `weir`: $WEIR_PROGRAM, beside this package, in PATH. Raises errors.ProgramNotFound, ProgramVersion."""
    named = os.environ.get("WEIR_PROGRAM")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "weir")
    found = named or (beside if os.access(beside, os.X_OK) else shutil.which("weir"))
    if not found or not os.access(found, os.X_OK):
        where = f"WEIR_PROGRAM names {named}, which cannot be run" if named else "it is neither beside this package nor in PATH"
        raise _errors.named("PROGRAM_NOT_FOUND", f"the program weir is not there: {where}", advice="install Weir, or set WEIR_PROGRAM")
    if found not in _checked:
        version = _ask([found, "version", "--json"]).get("version", "")
        if version.split(".")[:2] != __version__.split(".")[:2]:
            raise _errors.named("PROGRAM_VERSION", f"{found} is weir {version}, and this package is of {__version__}",
                                advice="install both in one version")
        _checked.add(found)
    return found


def _ask(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return _answer(done.returncode, done.stdout, done.stderr)


def _answer(code, out, err):
    try:
        document = json.loads(out)
    except ValueError:
        document = None
    if isinstance(document, dict) and (code == 0 or document.get("error")):
        return document
    said = err.decode("utf-8", "replace").strip() if isinstance(err, bytes) else err.strip()
    said = said[6:] if said.startswith("weir: ") else said
    raise _errors.named("INVALID_ARGUMENT" if code == 2 else "INTERNAL", said or f"weir ended with code {code}")


def _raise_error(document):
    if document.get("error") and "state" not in document:
        raise _errors.from_json(document["error"])
    return document


def _words(path):
    return shlex.quote(path) if "'" not in path else f'"{path}"'


def _value(value):
    if value is True or value is False:
        return "true" if value else "false"
    return os.fspath(value) if hasattr(value, "__fspath__") else str(value)


def _path(value):
    path = os.fsdecode(value)  # Anything else than a path is a TypeError that names its type.
    return "./" + path if path.startswith("-") else path  # a name, not a flag of `weir`


class _Call:
    """The command line of a job, and the temporary files that it needs."""

    def __init__(self, job, inputs, output, master, parameters, flags):
        if os.environ.get("WEIR_IN_TASK"):
            raise RuntimeError("weir was called while a worker imported this file: put the call behind `if __name__ == \"__main__\":`")
        self.program = find_program()
        self.master, self.folder = master, None
        self.embedded = not master
        self.format = "lines"
        inputs = [_path(path) for path in ([inputs] if isinstance(inputs, _PATH) else inputs)]
        if not inputs:
            raise ValueError("a job needs an input")
        parameters = dict(parameters or {})
        self.flags = []
        for name, value in flags.items():
            if value is None or value is False and (name in _SWITCHES or name in _EMBEDDED_SWITCHES):
                continue
            if name in _SHIPPED:
                for path in [value] if isinstance(value, _PATH) else value:
                    self.flags += [_SHIPPED[name], _path(path)]
            elif name in _SWITCHES:
                self.flags.append(_SWITCHES[name])
            elif name in _EMBEDDED_SWITCHES and self.embedded:
                self.flags.append(_EMBEDDED_SWITCHES[name])
            elif name in _VALUES or name in _EMBEDDED and self.embedded:
                several = isinstance(value, (list, tuple))
                text = ",".join(map(str, value)) if several else _path(value) if name in _PATHS else _value(value)
                self.flags += [_VALUES.get(name) or _EMBEDDED[name], text]
            elif name in _EMBEDDED or name in _EMBEDDED_SWITCHES:
                raise ValueError(f"{name} is for jobs that run here; {master} and its workers have their own")
            else:
                parameters[name] = value
        try:
            if isinstance(job, FunctionJob):
                self._pack(job, parameters)
                job = "framed"
            self.job = str(job)
            if output is None and master:
                raise ValueError("a job on a cluster needs an output that all its workers see")
            self.output = os.path.join(self._temporary(), "output") if output is None else os.path.abspath(os.fsdecode(output))
        except BaseException:
            self.remove()
            raise
        self.words = [self.job, *inputs]
        for name, value in parameters.items():
            self.words += ["--set", f"{name}={_value(value)}"]

    def _temporary(self):
        if self.folder is None:
            self.folder = _ends.TemporaryDirectory()
        return self.folder.path

    def _pack(self, job, parameters):
        archive = os.path.join(self._temporary(), _ARCHIVE)
        with open(archive, "wb") as file:
            file.write(job.archive())
        python = job.python or (sys.executable if self.embedded else "python3")
        self.flags += ["--file", f"{archive}#{_ARCHIVE}"]
        command = f"{_words(python)} {_ARCHIVE}"
        parameters["mapper"] = command
        if job.reducer is not None:
            parameters["reducer"] = command
        if job.environment:
            parameters["environment"] = "\n".join(
                f"{name}={str(value)}".replace("\\", "\\\\").replace("\n", "\\n") for name, value in job.environment.items())
        parameters["silence_s"] = job.silence_s
        self.format = job.format

    def command(self, verb, *more):
        flags = list(self.flags)
        if verb == "plan":
            for name in _NOT_OF_A_PLAN:
                while name in flags:
                    at = flags.index(name)
                    del flags[at:at + (2 if name in _VALUES.values() else 1)]
        words = [self.program, verb, *self.words, *flags, "--json", *more]
        if verb != "plan":
            words += ["--output", self.output]
        if self.master:
            words += ["--master", self.master]
        return words

    def cluster_flags(self):
        """Flags of commands that ask the same master."""
        wanted = ("--token-file", "--tls-cert", "--tls-key", "--tls-ca")
        pairs = zip(self.flags, self.flags[1:])
        return ["--master", self.master, *[word for pair in pairs if pair[0] in wanted for word in pair]]

    def remove(self):
        if self.folder is not None:
            self.folder.remove()


class Job:
    """A job that runs or has ended. Iterating gives its result as pairs (key, value), and waits for the end first.

    Thread-safety: any thread may ask; one at a time waits."""

    def __init__(self, call):
        self._call = call
        self._status = {"state": "queued", "progress": {}}
        self._error = None
        self._ended = False
        self._remove = weakref.finalize(self, call.remove)

    # What is known of it.

    def status(self):
        """The newest status as a dict: state, progress, counters, ... as `weir status --json` has them."""
        self._look()
        return dict(self._status)

    @property
    def id(self):
        self._look()
        return self._status.get("job_id", "")

    @property
    def state(self):
        return self.status()["state"]

    @property
    def progress(self):
        """Share of the planned work that is done, 0 .. 1."""
        status = self.status()
        return 1.0 if status["state"] == "succeeded" else float(status.get("progress", {}).get("done_fraction", 0.0))

    @property
    def counters(self):
        return dict(self.status().get("counters", {}))

    @property
    def output(self):
        return self._call.output

    def done(self):
        self._look()
        return self._ended

    # Its end.

    def wait(self, timeout=None, progress=None):
        """Waits for the end. Returns self. Raises the job's error, TimeoutError; KeyboardInterrupt cancels the job first."""
        end = None if timeout is None else time.monotonic() + timeout
        shown = _progress.shown(progress)
        try:
            while not self._wait_some(_LOOK_SECONDS if end is None else max(0.0, min(_LOOK_SECONDS, end - time.monotonic()))):
                shown.show(self._status)
                if end is not None and time.monotonic() >= end:
                    raise TimeoutError(f"the job has not ended within {timeout} s")
        except KeyboardInterrupt:
            self.cancel("interrupted by the user")
            raise
        finally:
            shown.close(self._status)
        if self._error is not None:
            raise self._error
        return self

    def __iter__(self):
        self.wait()
        return self._held(_results.pairs(self._call.output, self._call.format))

    def lines(self):
        """The lines of all parts, in their order."""
        self.wait()
        return self._held(_results.lines(self._call.output))

    def _held(self, rows):
        yield from rows  # and the job with its temporary directory stays as long

    def to_pandas(self, columns=("key", "value")):
        """The result as a DataFrame; a key or value that is a tuple is one cell. Needs pandas."""
        import pandas
        return pandas.DataFrame.from_records(list(self), columns=list(columns))

    def to_arrow(self, columns=("key", "value")):
        """The result as a Table. Needs pyarrow."""
        import pyarrow
        rows = list(self)
        return pyarrow.table({columns[0]: [key for key, _ in rows], columns[1]: [value for _, value in rows]})

    def svg(self):
        """The Gantt chart of the plan, as SVG; of a job that succeeded."""
        self.wait()
        with open(os.path.join(self._call.output, "_weir", "gantt.svg"), encoding="utf-8") as file:
            return file.read()

    def __repr__(self):
        return f"<weir job {self._status.get('job_id', '')} {self._call.job}: {self._status['state']}>"

    def _repr_html_(self):
        return _progress.html(self._status)


def _end_process(process, call):
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_CANCEL_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    process.stdin.close()
    call.remove()


class _LocalJob(Job):
    """A process of ours: `weir run`, here or as the client of a cluster."""

    def __init__(self, call):
        super().__init__(call)
        self._out = tempfile.TemporaryFile()
        self._said = []
        self._ending = threading.Lock()
        try:
            self._process = _ends.start(call.command("run", "--progress-json", "--end-with-stdin"), stdout=self._out,
                                        stderr=subprocess.PIPE, pass_fds=[call.folder.line] if call.folder else [])
        except BaseException:
            call.remove()
            raise
        # A job that nobody waited for ends with this process. While it runs the thread below holds it.
        self._remove.detach()
        self._remove = weakref.finalize(self, _end_process, self._process, call)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stderr:
            if line.startswith(b"{"):
                try:
                    self._status = json.loads(line)
                    continue
                except ValueError:
                    pass
            self._said.append(line)
            del self._said[:-200]

    def _look(self):
        if not self._ended and self._process.poll() is not None:
            self._end()

    def _wait_some(self, seconds):
        if not self._ended:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
            self._end()
        return True

    def _end(self):
        with self._ending:
            if self._ended:
                return
            self._reader.join()
            self._process.stderr.close()
            self._process.stdin.close()
            self._out.seek(0)
            out = self._out.read()
            self._out.close()
            try:
                document = _answer(self._process.returncode, out, b"".join(self._said))
                if "state" in document:
                    self._status = document
                else:
                    self._status = dict(self._status, state="failed", error=document.get("error"))
                if document.get("error"):
                    self._error = _errors.from_json(document["error"])
            except _errors.WeirError as error:
                self._error = error
                self._status = dict(self._status, state="failed")
            self._ended = True

    def cancel(self, reason=""):
        """Ends the job and waits until nothing of it is left. A job that has ended stays as it is."""
        end = time.monotonic() + _CANCEL_SECONDS
        while not self._ended and time.monotonic() < end:
            try:
                self._process.send_signal(signal.SIGINT)
                if self._wait_some(_CANCEL_SECONDS / 2):
                    return
            except KeyboardInterrupt:  # we are at it
                continue
        if not self._ended:
            self._process.kill()
            self._wait_some(None)


class _ClusterJob(Job):
    """A job of a master, asked for by its id; it outlives this process. While the master is away, its status is the last one known."""

    def __init__(self, call):
        super().__init__(call)
        try:
            self._status = dict(self._status, **_raise_error(_ask(call.command("submit"))))
        except BaseException:
            call.remove()
            raise
        self._asked = 0.0
        self._away_since = None

    def _ask_master(self, *words):
        """Returns the answer; None while the master is away, which it may be for as long as other clients wait for it."""
        answer = _ask([self._call.program, *words, "--json", *self._call.cluster_flags()])
        if "state" not in answer and answer.get("error", {}).get("code") in _AWAY:
            now = time.monotonic()
            self._away_since = self._away_since or now
            if now - self._away_since < _MASTER_GRACE_SECONDS:
                return None
        else:
            self._away_since = None
        return answer

    def _look(self):
        now = time.monotonic()
        if self._ended or now - self._asked < _POLL_SECONDS / 5:
            return
        self._asked = now
        # Without patience of its own, which would outlast the timeout of a wait.
        answer = self._ask_master("status", self._status["job_id"], "--master-grace", "0s")
        if answer is None:
            return
        status = _raise_error(answer)
        self._status = status
        if status["state"] in _ENDED:
            self._ended = True
            if status.get("error"):
                self._error = _errors.from_json(status["error"])

    def _wait_some(self, seconds):
        self._look()
        if not self._ended:
            time.sleep(min(seconds, _POLL_SECONDS) if seconds is not None else _POLL_SECONDS)
        return self._ended

    def cancel(self, reason=""):
        """Ends the job; its output stays absent. A job that has ended stays as it is."""
        if self._ended:
            return
        more = [f"--reason={reason}"] if reason else []
        told = None
        end = time.monotonic() + _CANCEL_SECONDS
        while not self._ended and time.monotonic() < end:
            # One that is away has not heard it.
            told = told or self._ask_master("cancel", self._status["job_id"], *more)
            self._wait_some(_POLL_SECONDS)
        if told is None and not self._ended:
            raise _errors.named("MASTER_UNREACHABLE", f"{self._call.master} is away, and the job goes on", advice="cancel it again later")


def run(job, inputs, output=None, *, master=None, progress=None, parameters=None, **flags):
    """Runs a job to its end and returns it: `for key, value in weir.run("wordcount", "books")`.

    job: a name (`weir jobs`) or what weir.job made. inputs: a path or several; files, directories, globs. output: directory to make;
    without one the result lies in a temporary directory, as long as the returned Job does. master: "host:port" of a cluster;
    without one the job runs in a process here. files, archives: paths that go with the job, each "PATH" or "PATH#NAME"; tasks find
    them where they run. progress: False hides it, True shows it also where stderr is no terminal. Other keywords are the flags of
    `weir run` (workers=, slots=, memory=, mappers=, reducers=, overwrite=, deadline=, ...) and, where no flag has the name,
    parameters of the job; `parameters` is a dict of such whose names are flags. Raises WeirError; KeyboardInterrupt cancels the job first."""
    return _LocalJob(_Call(job, inputs, output, master, parameters, flags)).wait(progress=progress)


def submit(job, inputs, output=None, *, master=None, parameters=None, **flags):
    """Starts a job and returns it at once; arguments as for run. A job of a cluster goes on when this process ends, one here does not."""
    call = _Call(job, inputs, output, master, parameters, flags)
    return _ClusterJob(call) if master else _LocalJob(call)


class Plan(dict):
    """A plan as `weir plan --json` writes it; notebooks show its Gantt chart."""

    svg = ""

    def _repr_svg_(self):
        return self.svg


def plan(job, inputs, *, master=None, parameters=None, **flags):
    """Plans a job without running it; arguments as for run. Returns a Plan: a dict with the attribute `svg`."""
    call = _Call(job, inputs, "unused", master, parameters, flags)
    try:
        gantt = os.path.join(call._temporary(), "gantt.svg")
        made = Plan(_raise_error(_ask(call.command("plan", "--gantt", gantt))))
        with open(gantt, encoding="utf-8") as file:
            made.svg = file.read()
        return made
    finally:
        call.remove()
