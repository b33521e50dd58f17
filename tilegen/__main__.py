"""`python -m tilegen` is the program `tilegen`."""

from tilegen.cli import entry

entry()
