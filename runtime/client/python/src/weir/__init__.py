"""Weir from Python: run jobs, plan them, and write mappers and reducers as functions (docs/guides/python.md)."""
import importlib

__version__ = "0.1.0"

# Where each name is. They are loaded when they are asked for: a worker needs the first two alone.
_WHERE = {
    "_codec": ("KeyRefused",),
    "_runner": ("Columns", "batch", "by_key", "count", "text"),
    "_ship": ("FunctionJob", "job"),
    "_client": ("Job", "Plan", "plan", "run", "submit"),
    "_errors": ("WeirError",),
}
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names}
__all__ = sorted([*_MODULE_OF, "errors"])


def __getattr__(name):
    if name == "errors":
        return importlib.import_module("._errors", __name__)
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'weir' has no attribute '{name}'")
    value = getattr(importlib.import_module("." + module, __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__
