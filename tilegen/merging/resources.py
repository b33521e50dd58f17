"""What two emitted files cost, as far as their compiler tells: registers, memory, occupancy, instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from tilegen import targets
from tilegen.build import sass
from tilegen.build.lint import Resources
from tilegen.errors import TilegenError
from tilegen.merging.difference import Row
from tilegen.runtime.contract import Contract
from tilegen.runtime.expressions import Number
from tilegen.runtime.load import Loaded

_REGISTER_UNIT = 256            # registers that a warp gets at once
_SYSTEM_SHARED = 1024           # bytes of a block's shared memory that the system keeps, from sm_80 on
_SHOWN = 12                     # instructions, those whose count differs most


@dataclass(frozen=True)
class Cost:
    """One file: rows by name, and the count of each instruction (empty where nothing disassembles; `missing` says
    why)."""

    facts: Mapping[str, str]
    instructions: Mapping[str, int] = field(default_factory=dict)
    missing: str = ""


def cost(loaded: Loaded, known: Mapping[str, Number]) -> Cost | None:
    """What `loaded` costs with the sizes in `known`; compiles it. None where the compiler does not tell. Raises TG0301
    and TG0302."""
    used, contract = loaded.resources, loaded.contract
    if used is None:
        return None
    facts = {name.replace("_", " "): str(value) for name, value in asdict(used).items() if name != "shared"}
    facts["static shared"] = str(used.shared)
    facts |= {f"blocks on an SM{name}": text for name, text in _occupancies(used, contract, known)}
    try:
        counts = sass.mix(loaded.artifact.path) if contract.target == "cuda" else {}
    except TilegenError as error:
        return Cost(facts, missing=error.message)
    return Cost(facts, counts)


def rows(old: Cost, new: Cost) -> list[Row]:
    """The facts that differ, and the instructions whose counts differ most."""
    found = [Row(name, old.facts.get(name), new.facts.get(name)) for name in dict.fromkeys([*old.facts, *new.facts])]
    found = [row for row in found if row.old != row.new]
    counts: Sequence[Mapping[str, int]] = (old.instructions, new.instructions)
    if not all(counts):
        return found
    changed = {name: abs(counts[0].get(name, 0) - counts[1].get(name, 0)) for name in {**counts[0], **counts[1]}}
    ordered = sorted((name for name, by in changed.items() if by), key=lambda name: (-changed[name], name))
    totals = [sum(one.values()) for one in counts]
    found += [Row("instructions", str(totals[0]), str(totals[1]))] if ordered else []
    return found + [Row(f"  {name}", *(str(one.get(name, 0)) for one in counts)) for name in ordered[:_SHOWN]]


def _occupancies(used: Resources, contract: Contract, known: Mapping[str, Number]) -> list[tuple[str, str]]:
    """`2 of 256 threads (25 %), registers` for each launch of a target whose SM is known; nothing where the block
    depends on sizes that are not."""
    try:
        target = targets.find(contract.target, contract.arch)
        if not target.register_file:
            return []
        found = []
        for launch in contract.launches:
            shape = [int(contract.value(extent, known)) for extent in launch.block]
            threads = shape[0] * (shape[1] if len(shape) > 1 else 1) * (shape[2] if len(shape) > 2 else 1)
            shared = int(contract.value(launch.shared, known)) + used.shared
            name = f" ({launch.entry})" if len(contract.launches) > 1 else ""
            found.append((name, _blocks(used.registers, threads, shared, target)))
        return found
    except (KeyError, TilegenError):            # a size that is not known here, an arch of another version
        return []


def _blocks(registers: int, threads: int, shared: int, target: targets.Target) -> str:
    """How many blocks an SM holds at once, and what bounds it (CUDA C++ Programming Guide, compute capabilities)."""
    warps = -(-threads // target.warp_size)
    per_warp = -(-registers * target.warp_size // _REGISTER_UNIT) * _REGISTER_UNIT
    bounds = {"blocks": target.resident_blocks, "threads": target.resident_threads // (warps * target.warp_size)}
    if registers:
        bounds["registers"] = target.register_file // (per_warp * warps)
    if shared:
        bounds["shared memory"] = (target.max_shared + _SYSTEM_SHARED) // (shared + _SYSTEM_SHARED)
    least = min(bounds, key=bounds.__getitem__)
    share = 100 * bounds[least] * warps * target.warp_size / target.resident_threads
    return f"{bounds[least]} of {threads} threads ({share:.0f} %), by {least}"
