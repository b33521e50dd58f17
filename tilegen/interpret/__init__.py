"""Runs Tile IR in NumPy, statement by statement and block by block: the oracle of every back end.

`run` is plain recursion with one small function for each kind of node, so that a debugger can step
through a kernel. `MATH` holds the meaning of the math functions by name.
"""

from tilegen.interpret.functions import MATH
from tilegen.interpret.launch import run

__all__ = ["MATH", "run"]
