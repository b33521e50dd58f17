__version__ = "0.1.0"
# Tile kernels in Python, emitted as CUDA, HIP, MACA or C++ that reads as if written by hand.
# Importing this module loads nothing else: every name below is fetched when it is first asked for.

import importlib
import sys
import types

_PLACES = {
    "jit": "tilegen.api", "compile": "tilegen.api", "Kernel": "tilegen.api", "Factory": "tilegen.api",
    "interpret": "tilegen.interpreted", "load": "tilegen.runtime.load", "Loaded": "tilegen.runtime.load",
    "TilegenError": "tilegen.errors", "load_ipython_extension": "tilegen.notebook",
}
_MODULES = ("config", "interop", "language")

__all__ = ["__version__", *_PLACES, *_MODULES]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"tilegen.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module 'tilegen' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_PLACES[name]), name)
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))


class _Function:
    """A name that is both a function for users and a module of the package: as an attribute it is the
    function, whichever was imported first."""

    def __init__(self, name):
        self.name = name

    def __get__(self, module, owner=None):
        return __getattr__(self.name)

    def __set__(self, module, value):
        """Importing the module sets the attribute, to no effect."""


class _Package(types.ModuleType):
    jit = _Function("jit")
    interpret = _Function("interpret")


sys.modules[__name__].__class__ = _Package
