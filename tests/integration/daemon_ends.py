"""How the daemons of a test ended: whether one crashed, which nobody else may notice, since jobs go on without it."""
import signal

# By these a process ends through a fault of its own; tests that end one use others.
CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP)


def crashes_of(processes):
    """One sentence for each that has ended by such a signal."""
    return [f"crashed by {signal.Signals(-process.returncode).name}: {process.args}" for process in processes
            if process.returncode is not None and -process.returncode in CRASHES]


def bad_ends_of(told):
    """One sentence for each process that was told to end and ended with an error. One that a test has just killed, or that was
    told before it could listen, did not end in order, and is no fault of the daemon's."""
    fine = (0, -signal.SIGTERM, -signal.SIGKILL, *(-crash for crash in CRASHES))
    return [f"ended with {process.returncode} when told to end: {process.args}" for process in told
            if process.returncode not in fine]
