"""The texts that a hand-edited file is merged with: as it was emitted, and as it would be emitted today."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilegen import kernel_files, pristine, printer
from tilegen.api import Factory, Kernel
from tilegen.literals import emitted_with
from tilegen.emit.contract import digest
from tilegen.errors import TilegenError
from tilegen.jit import Specialised
from tilegen.runtime.contract import Contract, read_contract


def kernel_of(contract: Contract, path: str, given: str | None) -> Kernel | Factory:
    """The kernel `given` as kernel.py[:name], else the one in the Python file beside `path` that the contract names.

    Raises TG0505 where it is not there, TG0504, TG0507.
    """
    source = contract.source.rpartition(":")[0]
    near = Path(path).parent / source
    if given is None and (not source or not near.is_file()):
        raise TilegenError("TG0505", f"{source or 'the kernel'} of {path} is not beside it",
                           hint="name it by --kernel KERNEL.py[:NAME]")
    place, name = kernel_files.split(given or str(near))
    text = kernel_files.read(place)
    found = kernel_files.kernels(place, text)
    if not name and len(found) > 1 and contract.entry in found:
        return found[contract.entry]
    return kernel_files.find_in(place, name, text)


def emission(found: Kernel | Factory, contract: Contract, text: str, values: Mapping[str, Any]) -> Specialised:
    """What `found` is emitted as for the contract's target, with the values in the header of the emitted `text` and,
    above these, `values`."""
    chosen = {**emitted_with(text), **values}
    kernel = found(**chosen) if isinstance(found, Factory) else found.specialize(**chosen)
    return kernel.specialised(contract.target, contract.arch)


def base_of(path: str, text: str, contract: Contract, found: Kernel | Factory) -> str:
    """The text that the file `path`, whose content is `text`, was emitted as: from `.tilegen/` beside it, else
    emitted again, where the hash in the contract says that the kernel is still the same.

    Raises TG0704 where both fail.
    """
    kept = pristine.read(path)
    if kept is not None and _is_of(kept, contract):
        return kept
    try:
        made = emission(found, contract, text, {})
        if contract.ir and digest(printer.show(made.kernel)) == contract.ir:
            return made.source
    except TilegenError:
        pass            # the kernel has no longer what the header of the file gives to it
    raise TilegenError("TG0704", f"the text that {path} was emitted as is not in {pristine.place(path)}, and its "
                       "kernel has changed since",
                       hint="emit it from the kernel as it was then, and give all three files: "
                       "tilegen merge EMITTED EDITED NEW")


def _is_of(kept: str, contract: Contract) -> bool:
    """Whether a kept text is what the file with this contract was emitted as."""
    try:
        own = read_contract(kept)
    except TilegenError:
        return False
    return (own.entry, own.target, own.arch, own.ir) == (contract.entry, contract.target, contract.arch, contract.ir)
