"""Where kernels meet other programs. `torch`: kernels as operators of torch. Modules are imported when asked for."""

import importlib


def __getattr__(name: str):
    if name != "torch":
        raise AttributeError(f"module 'tilegen.interop' has no attribute {name!r}")
    return importlib.import_module("tilegen.interop.torch")
