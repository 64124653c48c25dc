"""Errors of Weir by their own names, as exceptions: USER_ERROR is weir.errors.UserError."""

CODES = (
    "WORKER_LOST", "WORKER_UNREACHABLE", "TASK_CRASHED", "TASK_HUNG", "USER_ERROR", "BAD_RECORD", "WORK_DIRECTORY_LOST", "DISK_FULL",
    "OUT_OF_MEMORY", "OUTPUT_EXISTS", "OUTPUT_NOT_SHARED", "OUTPUT_UNUSABLE", "INPUT_NOT_FOUND", "INPUT_UNREADABLE", "INPUT_CHANGED",
    "INVALID_JOB", "NO_WORKERS", "TRANSFER_FAILED", "DATA_LOSS", "MASTER_RESTARTED", "DEADLINE", "CANCELLED", "ARTIFACT_TOO_LARGE",
    "ARTIFACT_MISSING", "ARTIFACT_DAMAGED", "ARTIFACT_STORE_FULL", "ARCHIVE_REFUSED", "MODULE_REFUSED", "MODULE_CRASHED", "MODULE_HUNG",
    "WRONG_VERSION", "MASTER_NOT_READY", "NOT_COMMUTATIVE", "NOT_ASSOCIATIVE", "NOT_NEUTRAL", "DOES_NOT_SPLIT", "INTERNAL",
    # Of the client, and of this package.
    "MASTER_UNREACHABLE", "INVALID_ARGUMENT", "PROGRAM_NOT_FOUND", "PROGRAM_VERSION", "FUNCTION_NOT_SHIPPABLE",
)


class WeirError(Exception):
    """What went wrong, as Weir says it: `code`, `message`, and where they are known `worker`, `step`, `file`, `offset` (of the batch
    or record), `advice` and `stderr`, the last lines of the task."""

    code = "INTERNAL"

    def __init__(self, message, code=None, worker="", step="", file="", offset=None, advice="", stderr=""):
        super().__init__(message)
        self.code = code or type(self).code
        self.message, self.worker, self.step = message, worker, step
        self.file, self.offset, self.advice, self.stderr = file, offset, advice, stderr

    def __str__(self):
        text = f"{self.code}: {self.message}"
        place = [self.worker and f"worker {self.worker}", self.step, self.file and f"{self.file} at byte {self.offset}"]
        if any(place):
            text += f" ({', '.join(filter(None, place))})"
        if self.advice:
            text += f"; {self.advice}"
        if self.stderr:
            text += "\nlast output of the task:\n" + "\n".join("  | " + line for line in self.stderr.rstrip("\n").split("\n"))
        return text

    def __reduce__(self):
        return _again, (self.code, self.message, self.worker, self.step, self.file, self.offset, self.advice, self.stderr)


def _class_name(code):
    return "".join(word.capitalize() for word in code.split("_"))


for _code in CODES:
    _name = _class_name(_code)
    globals()[_name] = type(_name, (WeirError,), {"code": _code, "__doc__": f"The error {_code}.", "__module__": __name__})


def named(code, message, **where):
    """Makes the exception of a code; of one that is not known here it is a WeirError."""
    return globals().get(_class_name(code) if code in CODES else "", WeirError)(message, code=code, **where)


def from_json(error):
    """Makes the exception of an error as `weir --json` writes it."""
    return named(error.get("code", "INTERNAL"), error.get("message", ""), worker=error.get("worker", ""), step=error.get("step", ""),
                 file=error.get("file", ""), offset=error.get("byte_offset"), advice=error.get("advice", ""),
                 stderr=error.get("stderr_tail", ""))


def _again(code, message, worker, step, file, offset, advice, stderr):
    return named(code, message, worker=worker, step=step, file=file, offset=offset, advice=advice, stderr=stderr)
