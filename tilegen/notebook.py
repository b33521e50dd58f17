"""`%load_ext tilegen`: kernels from raw cells, races of calls, errors without a traceback, sources as pages.

    %%tilegen KERNEL [--as NAME] [--on gpu|emulator|cpu] [--check]
    %tilegen_bench CALL, CALL, ... [--on gpu|host]
"""

from __future__ import annotations

import argparse
import ast
import html
import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tilegen import placement, timing, trial
from tilegen.api import Factory, Kernel
from tilegen.display.page import page
from tilegen.errors import Loc, TilegenError
from tilegen.racing.race import interval, race, speedup
from tilegen.runtime.contract import MARK, read_contract
from tilegen.runtime.constants import read_constants
from tilegen.runtime.load import Loaded, load

_ROUNDS, _BUDGET = 21, 3.0             # of a race, and seconds after which no round begins


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext tilegen` calls: adds the two magics, shows errors of tilegen as they are on the command line,
    and loaded files as pages."""
    shell.register_magic_function(lambda line, cell: _cell(shell, line, cell), "cell", "tilegen")
    shell.register_magic_function(lambda line: _bench(shell, line), "line", "tilegen_bench")
    shell.set_custom_exc((TilegenError,), _show_error)
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type(Loaded, lambda loaded: page(loaded.source))


def _show_error(shell: Any, kind: type, error: TilegenError, traceback: Any, tb_offset: int | None = None) -> list[str]:
    text = [str(error)]
    shell._showtraceback(kind, error.message, text)
    return text


# ---- %%tilegen ---------------------------------------------------------------------------------
def _cell(shell: Any, line: str, cell: str) -> None:
    options = _parsed(line, [("kernel", {}), ("--as", {"dest": "name"}),
                             ("--on", {"choices": ("gpu", "emulator", "cpu")}), ("--check", {"action": "store_true"})])
    kernel = shell.user_ns.get(options.kernel)
    if not isinstance(kernel, Kernel):
        what = "a factory: call it first" if isinstance(kernel, Factory) else "not a kernel in this notebook"
        raise TilegenError("TG0505", f"{options.kernel} is {what}", hint="write %%tilegen KERNEL, the name of a kernel")
    place = options.on or ("gpu" if placement.gpu() else "emulator")
    made = kernel.here("cpu" if place == "cpu" else "cuda")
    bound = of_cell(cell, made.source)
    loaded = load(bound, target="emulator" if place == "emulator" else None)
    with Progress(shell, 2 if options.check else 1) as progress:
        progress.step(f"compiling {options.kernel}")
        loaded.artifact                 # errors of the compiler belong to this cell
        if options.check:
            progress.step("checking")
            _check(kernel, loaded, place)
    name = options.name or f"{options.kernel}_cell"
    shell.user_ns[name] = loaded
    changed = {k: v for k, v in loaded.knobs.items() if made.loaded.knobs.get(k, v) != v}
    knobs = f", {', '.join(f'{k}={v}' for k, v in changed.items())}" if changed else ""
    print(f"{name}: {loaded.contract.entry} on the {place}{knobs}{', right' if options.check else ''}")


def _check(kernel: Kernel, loaded: Loaded, place: str) -> None:
    """Raises TG0703 where the results on random inputs are not those of the kernel."""
    own = {name: value for name, value in loaded.knobs.items() if name in kernel.knob_names()}
    reference = kernel.specialize(**own).specialised(loaded.contract.target).kernel
    for check in trial.run(loaded, reference, place, {}, timed=False).checks:
        if not check.ok:
            raise TilegenError("TG0703", f"{loaded.contract.entry}: {check}")


def of_cell(cell: str, emitted: str) -> str:
    """`cell` as a file with the launch contract of the `emitted` text; a cell that has a contract stays as it is.

    Constants of the contract that the cell does not declare get the values that they have in `emitted`, on a line
    before the cell, so that lines have the numbers that the notebook shows. Raises TG0701 for a cell without the entry.
    """
    if MARK in cell:
        return cell
    contract = read_contract(emitted)
    for launch in contract.launches:
        if f"{launch.entry}(" not in cell.replace(" (", "("):
            raise TilegenError("TG0701", f"the cell has no function {launch.entry}", Loc("<cell>", 1),
                               f"its first lines have to be: {_signature(emitted, launch.entry)}")
    declared = read_constants(cell, "<cell>")
    missing = [name for name in sorted(contract.named())
               if name in contract.constants and name not in declared]
    prelude = " ".join(f"constexpr int {name} = {int(contract.constants[name])};" for name in missing)
    raw = json.JSONDecoder().raw_decode(_uncommented(emitted))[0]
    raw.pop("map", None)                # of lines that are not these
    raw["knobs"] = [name for name in raw.get("knobs", ()) if name in declared or name in missing]
    prelude = prelude or f"// bound to the contract of {contract.entry}"
    return f"{prelude}\n{cell.rstrip()}\n\n{MARK} {json.dumps(raw)}\n"


def _uncommented(text: str) -> str:
    """The JSON of the contract, and what follows it."""
    lines = text[text.index(MARK):].splitlines()
    return "\n".join([lines[0][len(MARK):], *[line.lstrip()[2:] for line in lines[1:]]]).lstrip()


def _signature(text: str, entry: str) -> str:
    """`extern "C" __global__ void matmul(...)` as the emitted text has it, on one line."""
    lines = text.splitlines()
    first = next((n for n, line in enumerate(lines) if line.lstrip().startswith(f"{entry}(")), 0)
    start = first - 1 if first and 'extern "C"' in lines[first - 1] else first
    end = next((n for n in range(first, len(lines)) if ")" in lines[n]), first)
    return " ".join(" ".join(lines[start:end + 1]).split())


# ---- %tilegen_bench ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Race:
    """Seconds of the rounds of each candidate, by the text of its call; speeds are relative to the first."""

    seconds: Mapping[str, list[float]]
    place: str

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Call, median in microseconds, its interval of 95 %, and how many times as fast as the first it is."""
        first = next(iter(self.seconds.values()))
        found = [(name, interval(some), speedup(some, first)) for name, some in self.seconds.items()]
        return [(name, f"{1e6 * time.median:.1f} us", f"{1e6 * time.low:.1f} .. {1e6 * time.high:.1f}",
                 f"{speed.median:.2f}x") for name, time, speed in found]

    def __repr__(self) -> str:
        width = max(map(len, self.seconds))
        return "\n".join(f"{name:{width}}  {time:>12}  {low_high:>20}  {speed:>8}"
                         for name, time, low_high, speed in self.rows())

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td style='text-align:left'><code>{html.escape(name)}</code></td>"
                       + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" for name, *cells in self.rows())
        where = "between events of the GPU" if self.place == "gpu" else "by the clock of the host"
        heads = "".join(f"<th>{head}</th>" for head in (f"median, {where}", "95 %", "speed"))
        return (f"<table><thead><tr><th style='text-align:left'>call</th>{heads}</tr></thead>"
                f"<tbody>{rows}</tbody></table>")


def _bench(shell: Any, line: str) -> Race:
    calls, _, options = line.partition("--")
    place = _parsed(f"--{options}" if options else "", [("--on", {"choices": ("gpu", "host")})]).on
    place = place or ("gpu" if placement.gpu() else "host")
    try:
        tree = ast.parse(f"({calls.strip()},)", mode="eval").body
    except SyntaxError as error:
        raise TilegenError("TG0506", f"%tilegen_bench cannot read {calls.strip()!r}: {error.msg}",
                           hint="write calls with commas between them: %tilegen_bench kernel(A, B), A @ B") from None
    candidates = {ast.unparse(call): _function(call, shell.user_ns) for call in tree.elts}
    clock = timing.gpu_clock() if place == "gpu" else timing.host_clock()
    with Progress(shell, (_ROUNDS + 1) * len(candidates)) as progress:
        for call in candidates.values():
            call()                      # which compiles it
        return Race(race(candidates, lambda call: progress.timed(clock, call), _ROUNDS, _BUDGET), place)


def _function(call: ast.expr, names: dict[str, Any]) -> Callable[[], Any]:
    return eval(compile(ast.Expression(ast.parse(f"lambda: ({ast.unparse(call)})", mode="eval").body),
                        "<tilegen_bench>", "eval"), names)


# ---- Both --------------------------------------------------------------------------------------
class Progress:
    """A bar for steps that take a while, in notebooks; it is gone when they are done. A terminal shows none."""

    def __init__(self, shell: Any, total: int) -> None:
        self.total, self.done, self.label = total, 0, ""
        self._shown = None
        self._wanted = hasattr(shell, "kernel")

    def step(self, label: str) -> None:
        """Another step begins."""
        self.label, self.done = label, self.done + 1
        if self._wanted:
            self._show(_Bar(f"{html.escape(self.label)}, {self.done} of {self.total}", self.done - 1, self.total))

    def timed(self, clock: Callable, call: Callable[[], Any]) -> float:
        """A step that is one sample of `clock`. The bar moves between the samples."""
        self.step(f"round {self.done // max(self.total // (_ROUNDS + 1), 1)}")
        return clock(call)

    def _show(self, bar: Any) -> None:
        from IPython.display import display
        if self._shown is None:
            self._shown = display(bar, display_id=True)
        else:
            self._shown.update(bar)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown is not None:
            self._show(_Bar("", 0, 0))


@dataclass(frozen=True)
class _Bar:
    label: str
    done: int
    total: int

    def _repr_html_(self) -> str:
        return f"<progress value='{self.done}' max='{self.total}'></progress> {self.label}" if self.total else " "

    def __repr__(self) -> str:
        return ""


class _Options(argparse.ArgumentParser):
    """Options of a magic; a mistake is an error of tilegen."""

    def error(self, message: str) -> None:
        raise TilegenError("TG0506", message, hint=self.format_usage().strip())


def _parsed(line: str, arguments: Iterable[tuple[str, dict[str, Any]]]) -> argparse.Namespace:
    options = _Options(prog="%%tilegen", add_help=False)
    for name, how in arguments:
        options.add_argument(name, **how)
    return options.parse_args(shlex.split(line))
