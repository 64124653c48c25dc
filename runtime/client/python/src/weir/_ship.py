"""Packs functions so that workers need nothing but python3: one zip with the functions, what they come from, and the runner.

Upstream: weir.job. Downstream: _client.py hands the file on with the job; _runner.py runs it.
"""
import io
import json
import os
import pickle
import pickletools
import site
import sys
import sysconfig
import zipfile

from . import _errors

try:
    import cloudpickle
except ImportError:
    cloudpickle = None

_HERE = os.path.dirname(os.path.abspath(__file__))
_MAIN = """import os
import sys
sys.path[0] = os.path.abspath(sys.path[0])
from weir import _runner
_runner.main(sys.path[0])
"""


def _refused(what, why):
    return _errors.named("FUNCTION_NOT_SHIPPABLE", f"{what} cannot be sent to workers: {why}")


def _installed_folders():
    folders = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += getattr(site, "getsitepackages", lambda: [])() + [site.getusersitepackages()]
    return tuple({os.path.join(os.path.realpath(folder), "") for folder in folders})


def _is_local(module):
    """Whether workers can only have it from us: it has a Python file, which lies outside of what is installed."""
    path = getattr(module, "__file__", None)
    return bool(path) and path.endswith(".py") and not os.path.realpath(path).startswith(_installed_folders()) \
        and module.__name__.split(".")[0] not in ("weir", "__main__", "__mp_main__")


def _sources_of(module):
    """Names in the zip and paths of a module, or of the whole package that it is part of."""
    top = sys.modules.get(module.__name__.split(".")[0], module)
    path = os.path.realpath(top.__file__)
    if not hasattr(top, "__path__"):
        yield top.__name__ + ".py", path
        return
    root = os.path.dirname(path)
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if name.endswith(".py"):
                full = os.path.join(folder, name)
                yield os.path.join(top.__name__, os.path.relpath(full, root)), full


class FunctionJob:
    """Mapper, combiner and reducer as functions; what weir.job makes."""

    def __init__(self, mapper, reducer=None, combiner=None, *, format="typed", modules=(), python=None, environment=None, silence_s=600):
        for name, function in (("mapper", mapper), ("reducer", reducer), ("combiner", combiner)):
            if not callable(function) and (function is not None or name == "mapper"):
                raise TypeError(f"the {name} must be a function; it is {function!r:.100}")
        if combiner is not None and reducer is None:
            raise ValueError("a combiner without a reducer has nothing to combine for")
        if format not in ("typed", "text", "json"):
            raise ValueError(f"format must be 'typed', 'text' or 'json'; it is {format!r}")
        self.mapper, self.reducer, self.combiner = mapper, reducer, combiner
        self.format, self.modules, self.python = format, tuple(modules), python
        self.environment, self.silence_s = dict(environment or {}), silence_s

    @property
    def name(self):
        return getattr(self.mapper, "__name__", "mapper")

    def archive(self):
        """Returns the bytes of the zip: the same for the same functions. Raises errors.FunctionNotShippable."""
        functions = (self.mapper, self.combiner, self.reducer)
        main = None
        if cloudpickle is not None:
            try:
                pickled = cloudpickle.dumps(functions)
            except Exception as error:
                raise _refused("a function", f"cloudpickle says: {error}") from error
        else:
            pickled = self._by_reference(functions)
        names = {arg for _, arg, _ in pickletools.genops(pickled) if isinstance(arg, str)}
        # Older protocols write "module name" in one word.
        names |= {word for name in names for word in name.split(" ")[:1]}
        if cloudpickle is None and "__main__" in names:
            main = self._main_source()
        local = {name: sys.modules[name] for name in names if name in sys.modules and _is_local(sys.modules[name])}
        for module in self.modules:
            module = sys.modules[module] if isinstance(module, str) else module
            local[module.__name__] = module
        files = {"__main__.py": _MAIN.encode(), "weir_job.pickle": pickled}
        options = {"format": self.format, "code": "source" if cloudpickle is None else "cloudpickle", "main": main is not None,
                   "python": list(sys.version_info[:2])}
        files["weir_job.json"] = json.dumps(options, sort_keys=True).encode()
        if main is not None:
            files["weir_main.py"] = main
        for module in local.values():
            self._add(files, _sources_of(module))
        self._add(files, ((f"weir/{name}", os.path.join(_HERE, name)) for name in os.listdir(_HERE) if name.endswith(".py")))
        if cloudpickle is not None:
            self._add(files, _sources_of(cloudpickle))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as out:  # not compressed: it is read at each start of a process
            for name in sorted(files):
                out.writestr(zipfile.ZipInfo(name), files[name])  # of 1980, so that equal contents are equal files
        return packed.getvalue()

    @staticmethod
    def _add(files, sources):
        for name, path in sources:
            with open(path, "rb") as file:
                files[name] = file.read()

    @staticmethod
    def _by_reference(functions):
        try:
            return pickle.dumps(functions, 4)
        except Exception as error:
            raise _refused("a function", f"{error}; without cloudpickle functions must stand at the top level of a module: "
                           "move it there, or install cloudpickle") from error

    @staticmethod
    def _main_source():
        path = getattr(sys.modules["__main__"], "__file__", None)
        if not path or not os.path.isfile(path):
            raise _refused("a function of an interactive session", "it has no file; install cloudpickle, or write it into a module")
        with open(path, "rb") as file:
            return file.read()


def job(mapper, reducer=None, combiner=None, **options):
    """Makes a job of functions.

    mapper(line) yields pairs (key, value); marked with weir.batch it takes a list of lines, with weir.text a text. reducer(key, values) and
    combiner(key, values) yield pairs; weir.by_key(sum) makes one of a function of the values. Options: format of the result ("typed", "text",
    "json"), modules (further modules to send), python (interpreter of the workers), environment (variables), silence_s."""
    return FunctionJob(mapper, reducer, combiner, **options)
