"""Processor time at the speed of a known machine, so that a limit means the same on a slow or a busy one."""

import argparse
import time
from pathlib import Path

TEXT = Path(argparse.__file__).read_text()
ON_RECORD = 0.015       # seconds that compiling argparse.py takes on the machine whose figures the limits follow


def slowness() -> float:
    """What a time measured now is multiplied with to be one of the machine on record."""
    times = []
    for _ in range(3):
        started = time.process_time()
        compile(TEXT, "argparse.py", "exec")
        times.append(time.process_time() - started)
    return ON_RECORD / min(times)
