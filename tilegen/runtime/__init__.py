"""Runs emitted files: reads the launch contract, checks the arguments, launches on the target."""
