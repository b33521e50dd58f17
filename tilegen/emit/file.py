"""The whole emitted file: provenance, knobs, helpers, memory map, layouts, kernel, contract, self-test."""

from __future__ import annotations

import os
import re

from tilegen import arith, ir, printer
from tilegen.emit import constants, contract, device_functions, launches, line_directives, selftest, templates
from tilegen.emit.cpu_entry import CpuEntry
from tilegen.emit.expressions import Printer
from tilegen.emit.provenance import provenance
from tilegen.emit.source_lines import origin, path_of
from tilegen.emit.statements import Emitter
from tilegen.emit.text import COLUMNS, wrap
from tilegen.launches import launches_of
from tilegen.layout import Axis, thread_name
from tilegen.passes.planner import memory_name
from tilegen.passes.ranges import collect
from tilegen.plan import EngineTile, KernelPlan, SharedBuffer
from tilegen.targets.base import Target
from tilegen.wishes import Placement


def emit_file(kernel: ir.Kernel, target: Target, original: ir.Kernel, command: str = "",
              directives: bool = False) -> str:
    """The text of a planned kernel for `target`. `original` is the kernel before planning, from which
    the self-test's plain loops come; `command` is what regenerates the file; with `directives` the kernel has
    `#line`s of its Python."""
    parts = launches.parts(kernel, original, target, [Frame(launch, target, kernel) for launch in launches_of(kernel)])
    body = "\n\n".join(part.text.rstrip("\n") for part in parts) + "\n"
    own = {name for part in parts for name in part.frame.own}
    e = Printer(target, {name: r for part in parts for name, r in part.frame.e.ranges.items()})
    hardware, plain = device_functions.needed(target, "\n".join([*kernel.sources, body]), own, kernel=kernel)
    grids = [" ".join(arith.names(part.frame.plan.walk.blocks)) for part in parts if part.frame.plan.walk]
    everything = "\n".join([body, *kernel.sources, *hardware, *plain, *grids])
    kept, checks = constants.used(*launches.merged(parts), everything)
    knobs = [c for c in kept if c.knob]
    derived = [c for c in kept if not c.knob]
    text = templates.render(
        target.folders,
        "file",
        kernel=kernel,
        target=target,
        hardware=hardware,
        plain=plain,
        body=body,
        provenance=provenance(kernel, target, e, command),
        knobs=constants.knob_lines(knobs, checks, e),
        derived=constants.derived_lines(derived, e),
        checks=constants.check_lines(checks, e),
    )
    text = wrap(text)
    if directives and kernel.loc:
        text = line_directives.added(text, path_of(kernel.loc), kernel.name + target.suffix)
    names, defined = [c.name for c in knobs], {c.name for c in kept}
    spoken = [launches.spoken(part, target) for part in parts]
    facts = contract.fields(kernel, target, names, defined, e.ranges, spoken, contract.digest(printer.show(original)))
    facts["map"] = contract.line_map(text, os.path.basename(kernel.loc.file) if kernel.loc else "")
    pieces = [text.rstrip("\n"), "", contract.render(facts)]
    test = selftest.render(original, target, spoken, defined)
    return "\n".join(pieces + (["", wrap(test)] if test else [])) + "\n"


class Frame:
    """The parts of one launch in the file that need the kernel and the printer; `whole` is the kernel with all
    its launches."""

    def __init__(self, kernel: ir.Kernel, target: Target, whole: ir.Kernel) -> None:
        self.kernel, self.target, self.whole = kernel, target, whole
        self.known: set[str] = set()         # layout functions that an earlier launch has declared alike
        self.plan: KernelPlan = kernel.plan
        ranges = collect(kernel).ranges | {c.name: (c.value, c.value) for c in self.plan.constants}
        self.own = {n.name for n in ir.walk(whole) if isinstance(n, (ir.Var, ir.Buffer))}
        self.memory = memory_name(kernel, target.family)
        scopes = {"gpu": ("shared",), "cpu": ("shared", "fragment")}[target.family]
        self.e = Printer(target, ranges, dict.fromkeys(scopes, f"{self.memory}."))

    @property
    def cpu(self) -> CpuEntry:
        return CpuEntry(self.kernel, self.target, self.memory)

    def kernel_text(self) -> str:
        """Memory map, layout functions and the entry."""
        emitter = Emitter(self.target, self.e, bool(self.plan.loaders))
        statements = device_functions.qualified(self.target, emitter.body(self.kernel.body, spaced=True), self.own)
        return templates.render(
            self.target.folders,
            "kernel",
            frame=self,
            kernel=self.kernel,
            plan=self.plan,
            e=self.e,
            type=self.target.type,
            target=self.target,
            body=statements,
            axes=[a for a in self.plan.axes if a.name + "(" in statements and a.name not in self.known],
            places=[self.place_function(name, place) for name, place in self.plan.places.items()
                    if name + "(" in statements],
        )

    def heading(self, title: str) -> str:
        """`// ---- The kernel ---...`, with the name of the launch where the file has several."""
        line = f"// ---- {title}{f' ({self.kernel.name})' if self.whole.launches else ''} "
        return line.ljust(COLUMNS - 1, "-")

    def signature(self) -> str:
        """The parameters of the entry, as C++."""
        parts = []
        for p in self.kernel.params:
            if p.name in self.plan.maps:
                parts.append(f"const __grid_constant__ TensorMap {p.name}")
            elif p.buffer is None:
                parts.append(f"{self.target.type(p.var.dtype)} {p.name}")
            else:
                const = "const " if p.access == "read" else ""
                parts.append(f"{const}{self.target.type(p.buffer.dtype)}* __restrict__ {p.name}")
        return ", ".join(parts + [f"int {size.name}" for size in self.kernel.sizes])

    def layout_function(self, axis: Axis) -> str:
        """`__device__ int C_row(int slot) { return slot * THREADS_M + threadIdx.x / THREADS_N; }`"""
        thread = {
            "m": f"threadIdx.x / {axis.fast_name}",
            "n": f"threadIdx.x % {axis.fast_name}",
            "all": "threadIdx.x",
            "": "0",
        }[axis.digit]
        if axis.arrangement and axis.digit in ("m", "n"):
            thread = f"{thread_name(axis, axis.digit)}()"
        if axis.pairs:
            value = f"slot / 2 * 2 * {axis.count_name} + {thread} + slot % 2 * 8"
            return f"__device__ int {axis.name}(int slot)\n{{\n    return {value};\n}}"
        run = "slot" if axis.vector == 1 else f"slot / {axis.vector_name}"
        value = run if axis.digit == "" else f"{run} * {axis.count_name} + {thread}"
        if axis.vector > 1:
            value = f"({value}) * {axis.vector_name} + slot % {axis.vector_name}"
        line = f"__device__ int {axis.name}(int slot) {{ return {value}; }}"
        return (
            line
            if len(line) <= COLUMNS
            else f"__device__ int {axis.name}(int slot)\n{{\n    return {value};\n}}"
        )

    def place_function(self, name: str, place: Placement) -> str:
        """The function that finds an element of a tile which T.annotate_layout places."""
        buffer = next(p.buffer for p in self.plan.shared if p.buffer.name == place.buffer)
        extents = "".join(f"[{self.e(x)}]" for x in buffer.shape[-len(place.vars):])
        indices = ", ".join(f"int {v.name}" for v in place.vars)
        value = arith.fold(place.value)
        printer = Printer(self.target, self.e.ranges | {v.name: (0, 2**20) for v in place.vars})
        return (f"// {buffer.name} lies as {origin(ir.Raw('', loc=place.loc))}\n"
                f"template <class T> __device__ T& {name}(T (&tile){extents}, {indices})\n{{\n"
                f"    return reinterpret_cast<T*>(tile)[{printer(value)}];\n}}")

    def block_variables(self, body: str) -> list[str]:
        """`bx = blockIdx.x`, for the block variables that the body reads and does not set itself."""
        return [] if self.plan.walk else [
            f"{var.name} = blockIdx.{axis}"
            for var, axis in zip(self.kernel.block_vars, "xyz")
            if re.search(rf"\b{var.name}\b", body)
        ]

    def panels(self) -> str:
        """`int bx, by;` and the call that sets them, where blocks run in panels; '' elsewhere."""
        order = self.plan.order
        if order is None:
            return ""
        x, y, *rest = (var.name for var in self.kernel.block_vars)
        lines = [f"int {x}, {y};", f"// {origin(ir.Raw('', loc=order.wish.loc))}",
                 f"{order.helper}<{self.e(order.size)}>({x}, {y});"]
        return "\n    ".join([*lines, *(f"const int {z} = blockIdx.z;" for z in rest)])

    @property
    def threads(self) -> str:
        """The threads of a block: those that compute, and those that load for them."""
        return f"THREADS + {self.plan.loaders}" if self.plan.loaders else "THREADS"

    @property
    def cluster(self) -> str:
        """` __cluster_dims__(CLUSTER, 1, 1)`, where blocks run in clusters."""
        walk = self.plan.walk
        return f" __cluster_dims__({self.e(walk.cluster)}, 1, 1)" if walk and walk.cluster is not None else ""

    @property
    def min_blocks(self) -> str:
        """The second launch bound."""
        return "MIN_BLOCKS" if any(c.name == "MIN_BLOCKS" for c in self.plan.constants) else "1"

    def launch_origin(self) -> str:
        """`gemm.py:8  with T.Kernel(...) as (bx, by):`"""
        return origin(ir.Raw("", loc=self.kernel.launch_loc))

    def shared_bytes(self) -> str:
        return "SMEM_BYTES" if self.plan.shared and self.target.family == "gpu" else "0"

    def shared_size(self) -> ir.Expr:
        """The bytes of Smem as an expression of the knobs: members start at multiples of their alignment."""
        total: ir.Expr = ir.Const(0)
        for group in self.plan.shared_groups:
            largest, *others = [_bytes(phase) for phase in group]
            for other in others:
                largest = ir.Select(arith.binary(">", largest, other), largest, other, largest.dtype)
            total = arith.add(total, largest)
        most = self.plan.shared_alignment
        return total if most == 16 else arith.multiply(arith.ceildiv(total, most), ir.Const(most))

    def member(self, place: SharedBuffer) -> str:
        """`alignas(16) float A_shared[BM][BK];`"""
        kind, why = self.target.type(place.buffer.dtype), f"  // {place.reason}" if place.reason else ""
        return f"alignas({place.alignment}) {kind} {place.buffer.name}{self.shape(place.buffer)};{why}"

    def shape(self, buffer: ir.Buffer) -> str:
        """[BM][BK]; of a tile of the copy engine [stages][BM * BK]"""
        if isinstance(buffer, EngineTile):
            lead, size = buffer.shape[:-2], arith.product(buffer.shape[-2:])
            return "".join(f"[{self.e(x)}]" for x in (*lead, size))
        return "".join(f"[{self.e(x)}]" for x in buffer.shape)


def _bytes(places: tuple[SharedBuffer, ...]) -> ir.Expr:
    """The bytes of tiles beside each other."""
    total: ir.Expr = ir.Const(0)
    for place in places:
        size = arith.product([ir.Const(place.buffer.dtype.bytes), *place.buffer.shape])
        ragged = place.exact % place.alignment
        size = arith.multiply(arith.ceildiv(size, place.alignment), place.alignment) if ragged else size
        total = arith.add(total, size)
    return total
