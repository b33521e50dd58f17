"""What the planning passes of one kernel share: names, ranges, and the constants that plans ask for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilegen import arith, ir
from tilegen.layout import Axis, FragmentLayout
from tilegen.passes.layout_classes import short
from tilegen.passes.ranges import Ranges, collect, knob_values, loop_steps
from tilegen.plan import Check, Constant, KernelPlan, Loop
from tilegen.targets.base import Target

THREAD = ir.Var("threadIdx.x", kind="thread")
THREADS = ir.Var("THREADS", kind="knob")


@dataclass
class Planner:
    """Collects constants and checks while a pass rewrites; `finish` puts them on the kernel."""

    kernel: ir.Kernel
    target: Target
    ranges: Ranges = field(init=False)
    env: dict = field(init=False)
    steps: dict[str, int] = field(init=False)
    taken: set[str] = field(init=False)
    constants: dict[str, Constant] = field(init=False)
    checks: dict[Check, None] = field(init=False)
    alignments: dict[str, int] = field(init=False)          # bytes that tensors start at a multiple of

    def __post_init__(self) -> None:
        plan: KernelPlan = self.kernel.plan
        self.ranges = collect(self.kernel)
        self.constants = {c.name: c for c in plan.constants}
        self.checks = dict.fromkeys(plan.checks)
        self.alignments = dict(plan.alignments)
        self.env = knob_values(self.kernel) | {c.name: c.value for c in plan.constants}
        self.steps = loop_steps(self.kernel, {})
        nodes = list(ir.walk(self.kernel))
        self.taken = {n.name for n in nodes if isinstance(n, (ir.Var, ir.Buffer))} | set(self.env)
        self.taken |= {v.name for v in self.kernel.sizes} | {axis.name for axis in plan.axes}
        self.taken |= {"shared", memory_name(self.kernel)}

    @property
    def threads(self) -> int:
        """Of a block, those that compute."""
        if "THREADS" in self.constants:
            return self.constants["THREADS"].value
        return self.value(arith.product(self.kernel.threads)) or 0

    @property
    def loaders(self) -> int:
        """Threads of a block that only load."""
        return self.constants[self.kernel.plan.loaders].value if self.kernel.plan.loaders else 0

    @property
    def register_limit(self) -> int:
        """Registers that a thread can have when one block is on an SM, each of whose four parts holds whole warps."""
        target = self.target
        if not target.register_file:
            return target.max_registers
        warps = -(-(self.threads + self.loaders) // target.warp_size)
        of_a_warp = target.register_file // 4 // -(-warps // 4)
        return min(target.max_registers, of_a_warp // target.warp_size // 8 * 8)

    def layout(self, buffer: ir.Buffer) -> FragmentLayout:
        return self.kernel.plan.layouts[buffer.name]

    def value(self, expr: ir.Expr) -> int | None:
        return arith.evaluate(expr, self.env)

    def at(self, expr: ir.Expr, values: dict[str, ir.Expr]) -> ir.Expr:
        """`expr` folded where these names and the knobs have their values."""
        known = arith.names(expr)
        knobs = {k: ir.const(v) for k, v in self.env.items() if k in known and type(v) in (int, float)}
        return arith.fold(ir.substitute(expr, knobs | values))

    def multiple_of(self, expr: ir.Expr) -> int:
        """A number that divides `expr` in every turn of the loops around it."""
        return arith.multiple_of(expr, self.env, self.steps)

    def fresh(self, *wanted: str, used: set[str] = frozenset()) -> str:
        """The first of the wanted names that is free, else the last with a tail."""
        return ir.fresh_name(self.taken | used, *wanted)

    def constant(self, name: str, value: int, comment: str, legal: str = "", knob: bool = True,
                 expr: ir.Expr | None = None) -> ir.Var:
        """A constexpr of that name and value; a name that stands for another value gets a number."""
        candidate, count = name, 1
        while candidate in self.constants and self.constants[candidate].value != value or \
                candidate in self.taken and candidate not in self.constants:
            count += 1
            candidate = f"{name}{count}"
        self.env[candidate] = value
        self.constants.setdefault(candidate, Constant(candidate, value, comment, legal, expr, knob))
        return ir.Var(candidate, kind="knob")

    def vector(self, buffer: ir.Buffer, width: int) -> ir.Expr:
        """The constant for `width` elements of `buffer` moved at once."""
        if width == 1:
            return ir.Const(1)
        size = buffer.dtype.bytes
        step = self.constant(f"{tile_name(buffer)}_VEC", width, f"elements of {buffer.name} in one access",
                             legal=widths(size))
        widest = self.target.vector_bytes
        self.check(arith.binary("<=", arith.multiply(ir.Const(size), step), ir.Const(widest)),
                   f"one access moves at most {widest} bytes")
        return step

    def check(self, condition: ir.Expr, message: str) -> None:
        self.checks.setdefault(Check(condition, message))

    def check_multiple(self, extent: ir.Expr, step: ir.Expr, message: str) -> None:
        """static_assert(extent % step == 0), unless it says nothing."""
        condition = arith.binary("==", arith.modulo(extent, step), ir.Const(0))
        if not isinstance(condition, ir.Const):
            self.check(condition, message)

    def finish(self, body: tuple[ir.Stmt, ...], **changes) -> ir.Kernel:
        for condition in self.ranges.assumed:
            self.check(condition, "tiles fit into the tensors without a rest")
        plan = replace(self.kernel.plan, constants=tuple(self.constants.values()), checks=tuple(self.checks),
                       alignments=self.alignments, **changes)
        return replace(self.kernel, body=body, plan=plan)

    # ---- Loops over a thread's slots of a fragment ------------------------------------------------
    def slot_loop(self, axis: Axis, name: str, step: ir.Expr = ir.Const(1)) -> Loop:
        """for (int r = 0; r < C_ROWS; ++r), unrolled since registers have no addresses."""
        return Loop(ir.Var(name, kind="loop"), ir.Const(0), ir.Var(axis.slots_name, kind="knob"), step, unroll=True)

    def slot_names(self, axes: tuple[Axis | None, ...], used: set[str]) -> list[str]:
        """r and c for the last two dimensions, p and q before them; e for a single one."""
        real = [a for a in axes if a is not None and not unit(a)]
        pool = ["e"] if len(real) == 1 else ["p", "q", "r", "c"][-len(real):]
        names: list[str] = []
        for _ in real:
            name = self.fresh(pool[len(names)], pool[len(names)] + "_slot", used=used | set(names))
            names.append(name)
        return names


_MEMORY_NAMES = {"gpu": ("s", "smem", "shared_memory", "memory_of_the_block"),
                 "cpu": ("t", "tiles", "tiles_of_the_thread", "memory_of_the_block")}


def memory_name(kernel: ir.Kernel, family: str = "gpu") -> str:
    """The name of the block's Smem (on a CPU: Tiles) in the entry: `s` (`t`) where the kernel has no such
    name itself."""
    names = {n.name for n in ir.walk(kernel) if isinstance(n, (ir.Var, ir.Buffer))}
    return next(name for name in _MEMORY_NAMES[family] if name not in names)


def unit(axis: Axis) -> bool:
    """Whether an axis is a single element that needs no loop."""
    return axis.extent == 1 and axis.digit == "" and axis.threads == 1


def tile_name(buffer: ir.Buffer) -> str:
    """A for A_shared: the stem of constants about a tile."""
    return short(buffer.name.removesuffix("_shared").removesuffix("_smem")).upper()


def coordinate(axis: Axis, slot: ir.Expr) -> ir.Expr:
    """C_row(r): the element that this thread holds in a slot."""
    return ir.Call("device:" + axis.name, (slot,), ir.const(0).dtype)


def widths(size: int) -> str:
    """The legal vector widths for elements of `size` bytes: '1, 2 or 4'."""
    counts = [str(n) for n in (1, 2, 4, 8, 16) if n * size <= 16]
    return counts[0] if len(counts) == 1 else ", ".join(counts[:-1]) + " or " + counts[-1]
