"""Shows how far a job is: one line of a terminal, a bar in a notebook, nothing elsewhere."""
import html as _html
import sys


def describe(status):
    progress = status.get("progress", {})
    text = f"{100 * progress.get('done_fraction', 0.0):3.0f} % {status.get('state', '')}"
    left = progress.get("remaining_s", 0.0)
    if left and left > 0 and status.get("state") == "running":
        text += f", {left:.0f} s left"
    return text


def html(status):
    share = 1.0 if status.get("state") == "succeeded" else status.get("progress", {}).get("done_fraction", 0.0)
    error = status.get("error") or {}
    said = f"<br><code>{_html.escape(error.get('code', ''))}: {_html.escape(error.get('message', ''))}</code>" if error else ""
    job = f"{status.get('spec', {}).get('job', '')} {status.get('job_id', '')}".strip()
    return (f"<div>Weir job {_html.escape(job)}: <progress value=\"{share:.3f}\" max=\"1\"></progress> "
            f"{_html.escape(describe(status))}{said}</div>")


class _Nothing:
    def show(self, status):
        pass

    def close(self, status):
        pass


class _Line:
    """Redrawn in place on stderr."""

    def __init__(self, out):
        self._out, self._last = out, ""

    def show(self, status):
        text = "weir: " + describe(status)
        if text != self._last:
            self._last = text
            self._out.write("\r" + text + "\x1b[K")
            self._out.flush()

    def close(self, status):
        if self._last:
            self._out.write("\r\x1b[K")
            self._out.flush()


class _Bar:
    """The display of a notebook, updated."""

    def __init__(self, display, make):
        self._display, self._make, self._handle, self._last = display, make, None, ""

    def show(self, status):
        text = html(status)
        if text == self._last:
            return
        self._last = text
        if self._handle is None:
            self._handle = self._display(self._make(text), display_id=True)
        elif self._handle is not None:
            self._handle.update(self._make(text))

    def close(self, status):
        if self._handle is not None:
            self.show(status)


def _notebook():
    """display and HTML of IPython, where this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not getattr(shell, "kernel", None):
        return None
    from IPython.display import HTML, display
    return display, HTML


def shown(wanted):
    """wanted: True, False, or None for what fits where we are."""
    if wanted is False:
        return _Nothing()
    notebook = _notebook()
    if notebook is not None:
        return _Bar(*notebook)
    if wanted or sys.stderr is not None and sys.stderr.isatty():
        return _Line(sys.stderr)
    return _Nothing()
