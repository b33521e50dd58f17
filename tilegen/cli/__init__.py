"""The command line: `tilegen emit gemm.py > gemm.cu`. Each verb is a module that is loaded when it is used."""

from __future__ import annotations

import importlib
import os
import sys
import warnings

import click

import tilegen
from tilegen.errors import TilegenError

# verb: (module, function, one line of help)
_VERBS = {
    "emit": ("emit", "emit", "Print the source that a kernel stands for."),
    "run": ("run", "run", "Run a kernel on random inputs, check it, and print its speed."),
    "check": ("check", "check", "Check an emitted file, perhaps edited by hand, against its kernel."),
    "bench": ("bench", "bench", "Race files, kernels and libraries, and say which is faster."),
    "diff": ("diff", "diff", "Show how two emitted files differ: knobs, launch, text by region."),
    "merge": ("merge", "merge", "Emit a kernel anew and keep the edits of an emitted file."),
    "where": ("where", "where", "From a line of an emitted file to its Python line, and back."),
    "explain": ("show", "explain", "Print every decision about a kernel, with its reason."),
    "targets": ("show", "targets", "List targets and architectures."),
    "doctor": ("show", "doctor", "Say what is installed, what works, and what to install."),
    "cache": ("cache", "cache", "List, show and remove compiled kernels."),
}


class _Verbs(click.Group):
    """The verbs by name, without loading those that are not used."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _VERBS:
            return None
        module, function, _ = _VERBS[name]
        return getattr(importlib.import_module(f"tilegen.cli.{module}"), function)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in _VERBS.items()])


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(tilegen.__version__, prog_name="tilegen")
@click.option("--traceback", is_flag=True, hidden=True, help="Show where an internal fault comes from.")
def cli(traceback: bool) -> None:
    """Tile kernels in Python, emitted as CUDA, HIP, MACA or C++ that reads as if written by hand."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns its exit status: 0, 1 for an error, 2 for a wrong use, 130 for Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else arguments
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    try:
        return cli.main(arguments, prog_name="tilegen", standalone_mode=False) or 0
    except TilegenError as error:
        return _fail(str(error), 1)
    except click.UsageError as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", 130)
    except BrokenPipeError:                     # the reader of our output, such as `head`, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if "--traceback" in arguments:
            raise
        return _fail(f"tilegen itself failed: {type(error).__name__}: {error}\n"
                     "   = help: `tilegen --traceback ...` shows where; please report it", 1)


def _fail(message: str, status: int) -> int:
    print(message, file=sys.stderr)
    return status


def entry() -> None:
    """The program `tilegen`."""
    sys.exit(main())
