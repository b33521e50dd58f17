"""infer_layouts: which thread holds which element of every fragment, and which runs each iteration.

Precondition: gemm and reduce operands staged. Effect: `kernel.plan.layouts` has a layout for every
fragment; every Parallel has a NestAxes plan with one Axis per loop variable.

Method. Dimensions that must be spread alike form a class (union-find): the same loop variable indexes
them, a copy pairs them, a reduction keeps them. A class gets a thread number ('m' slow, 'n' fast,
'all', or none) and a vector width: gemm accumulators first (strict), then what they meet
(propagate), then the rest by size (free). Values that lack a thread number are replicated over it.
Before: m_local[BM], S_local[BM, BN] related by a reduction
After:  both spread over BM by thread number m; m_local has a copy in every thread n
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.layout import BY_WARP, Axis, FragmentLayout
from tilegen.passes.annotated_fragments import honoured
from tilegen.passes.layout_classes import Classes
from tilegen.passes.layout_relations import collect_classes, number_nests
from tilegen.passes.layout_threads import choose_threads
from tilegen.passes.planner import THREADS, widths
from tilegen.passes.ranges import knob_values
from tilegen.plan import Check, Constant, KernelPlan
from tilegen.targets.base import Target


@dataclass(frozen=True)
class NestAxes:
    """Axes of the loop variables of a Parallel; None: the nest has no fragment."""

    number: int
    axes: tuple[Axis | None, ...] | None = None


@dataclass(frozen=True)
class Component:
    """Fragments and nests that share thread numbers: THREADS_M x THREADS_N threads."""

    suffix: str
    threads_m: int
    threads_n: int
    arrangement: str = ""

    @property
    def warps(self) -> ir.Var:
        return ir.Var(f"WARPS_N{self.suffix}", kind="knob")

    @property
    def m(self) -> ir.Var:
        return ir.Var(f"THREADS_M{self.suffix}", kind="knob")

    @property
    def n(self) -> ir.Var:
        return ir.Var(f"THREADS_N{self.suffix}", kind="knob")


def infer_layouts(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    kernel = number_nests(kernel)
    classes = collect_classes(kernel)
    plan = _threads(kernel, target)
    env = knob_values(kernel)
    threads = next(c.value for c in plan.constants if c.name == "THREADS")
    layouts: dict[str, FragmentLayout] = {}
    nests: dict[int, tuple[Axis | None, ...]] = {}
    for position, members in enumerate(classes.components()):
        component, axes, plan = _component(kernel, plan, classes, members, threads, position, env)
        for buffer in members.buffers:
            layouts[buffer.name] = FragmentLayout(
                tuple(axes[classes.of(buffer.name, d)] for d in range(len(buffer.shape))),
                component.threads_m,
                component.threads_n,
                component.arrangement,
            )
        for number, variables in members.nests.items():
            nests[number] = tuple(axes[classes.of(number, v)] for v in variables)
    used = [a for f in layouts.values() for a in f.axes] + [a for axes in nests.values() for a in axes]
    plan = replace(plan, layouts=layouts, axes=tuple({a.name: a for a in used}.values()))

    def attach(node):
        if isinstance(node, ir.Parallel):
            return replace(node, plan=NestAxes(node.plan, nests.get(node.plan)))
        return None

    return replace(kernel, body=ir.rewrite(kernel.body, attach), plan=plan)


def _threads(kernel: ir.Kernel, target: Target) -> KernelPlan:
    """THREADS, from the kernel's threads= argument."""
    total = arith.product(kernel.threads)
    value = arith.evaluate(total, knob_values(kernel))
    if value is None:
        raise TilegenError("TG0109", "the number of threads has to be known at compile time", kernel.launch_loc)
    if not 1 <= value <= target.max_threads:
        raise TilegenError(
            "TG0202",
            f"{value} threads per block; {target.name} {target.arch} has 1 to {target.max_threads}",
            kernel.launch_loc,
            hint="lower threads= of T.Kernel",
        )
    named = not isinstance(total, ir.Const)
    constant = Constant(
        "THREADS",
        value,
        "threads of a block",
        expr=total if named else None,
        knob=not named,
        legal=f"up to {target.max_threads}",
    )
    warp = Constant("WARP", target.warp_size, "threads of a warp")
    before = kernel.plan or KernelPlan()
    return replace(before, constants=(*before.constants, constant, warp))


def _component(kernel, plan, classes: Classes, members, threads: int, position: int, env):
    """Thread numbers, vectors and names for one component; the constants and checks they need."""
    choice = choose_threads(kernel, classes, members, threads, env)
    choice = honoured(kernel, classes, members, choice, threads, env)
    suffix = "" if position == 0 else "_" + members.label.upper()
    component = Component(suffix, choice.threads_m, choice.threads_n, choice.arrangement)
    constants, checks = list(plan.constants), list(plan.checks)
    if choice.split:
        constants += _thread_constants(component, members)
        checks += _thread_checks(component)
    axes: dict = {}
    for root in members.roots:
        extent = classes.extents[root]
        axes[root] = axis = _axis(classes, choice, component, root, threads, env)
        clash = next((c for c in constants if c.name == axis.vector_name and c.value != axis.vector), None)
        if clash:
            axes[root] = axis = replace(axis, vector_name=f"{axis.slots_name}_VEC")
        if not _unit(extent):
            across = {"m": component.m, "n": component.n, "all": THREADS, "": ir.Const(1)}[axis.digit]
            constants += _axis_constants(axis, extent, across, classes.describe(root))
            checks += _axis_checks(axis, extent, across)
    checks += _group_checks(classes, axes)
    first, *others = members.buffers
    notes = (*plan.notes, (f"layout of {first.name}", choice.reason),
             *((f"layout of {b.name}", f"follows {first.name}") for b in others))
    unique = tuple({c.name: c for c in constants}.values())
    return component, axes, replace(plan, constants=unique, checks=tuple(dict.fromkeys(checks)), notes=notes)


def _group_checks(classes: Classes, axes: dict) -> list[Check]:
    """A dimension that is also seen as groups has runs of one length under both names."""
    pairs = [(axes.get(classes.of(*s.coarse)), axes.get(classes.of(*s.inner))) for s in classes.splits]
    return [Check(arith.binary("==", *(ir.Var(a.vector_name, kind="knob") for a in pair)),
                  "groups are runs of one length") for pair in pairs if all(pair) and pair[0].vector > 1]


def _axis(classes: Classes, choice, component: Component, root, threads: int, env) -> Axis:
    """How one class of dimensions is spread, and what its functions and constants are called."""
    digit, vector = choice.digits.get(root, ""), choice.vectors.get(root, 1)
    count = {"m": choice.threads_m, "n": choice.threads_n, "all": threads, "": 1}[digit]
    name, slots_name = classes.names(root)
    vector_name = f"{slots_name.rpartition('_')[0]}_VEC" if vector > 1 else ""
    counter = {"m": component.m.name, "n": component.n.name, "all": "THREADS", "": ""}[digit]
    return Axis(name, slots_name, arith.evaluate(classes.extents[root], env), digit, count, vector, vector_name,
                counter, component.n.name, component.arrangement, component.warps.name)


def _thread_checks(component: Component) -> list[Check]:
    threads = ir.Var("THREADS", kind="knob")
    if component.arrangement in BY_WARP:
        whole = arith.multiply(component.warps, ir.Var("WARP", kind="knob"))
        return [Check(_divides(threads, whole), "rows of warps are whole")]
    checks = [Check(_divides(threads, component.n), "rows of threads are whole")]
    if component.arrangement == "fma":
        checks += [
            Check(_divides(n, ir.Const(size)), "warps are whole blocks of 4 x 8 threads")
            for n, size in ((component.m, 4), (component.n, 8))
        ]
    return checks


def _divides(whole: ir.Expr, part: ir.Expr) -> ir.Expr:
    return arith.binary("==", arith.modulo(whole, part), ir.Const(0))


def _thread_constants(component: Component, members) -> list[Constant]:
    subject = members.label
    threads = ir.Var("THREADS", kind="knob")
    if component.arrangement in BY_WARP:
        warp = ir.Var("WARP", kind="knob")
        fixed = component.arrangement == "wgmma"               # a warpgroup holds whole rows
        rows = Constant(
            component.warps.name.replace("_N", "_M", 1),
            component.threads_m // 8,
            f"warps along the rows of {subject}",
            expr=arith.divide(arith.divide(threads, warp), component.warps),
        )
        return [
            Constant(
                component.warps.name,
                component.threads_n // 4,
                f"warps along the columns of {subject}",
                legal="" if fixed else "a power of two",
                knob=not fixed,
            ),
            rows,
            Constant(component.m.name, component.threads_m, expr=arith.multiply(rows.var, ir.Const(8))),
            Constant(component.n.name, component.threads_n, expr=arith.multiply(component.warps, ir.Const(4))),
        ]
    return [
        Constant(
            component.n.name,
            component.threads_n,
            f"threads across a row of {subject}",
            legal="a power of two that divides THREADS",
            knob=True,
        ),
        Constant(
            component.m.name,
            component.threads_m,
            expr=arith.divide(ir.Var("THREADS", kind="knob"), component.n),
        ),
    ]


def _axis_constants(axis: Axis, extent: ir.Expr, across: ir.Expr, what: str) -> list[Constant]:
    constants = []
    vector: ir.Expr = ir.Const(1)
    if axis.vector > 1:
        constants.append(
            Constant(
                axis.vector_name,
                axis.vector,
                f"neighbouring {what} in a thread",
                legal="" if axis.arrangement in BY_WARP else widths(16 // axis.vector),
                knob=axis.arrangement not in BY_WARP,          # the instruction fixes it
            )
        )
        vector = ir.Var(axis.vector_name, kind="knob")
    step = arith.multiply(across, vector)
    slots = (
        arith.divide(extent, across) if not axis.padded else arith.multiply(arith.ceildiv(extent, step), vector)
    )
    constants.append(Constant(axis.slots_name, axis.slots, f"{what} that a thread holds", expr=slots))
    return constants


def _axis_checks(axis: Axis, extent: ir.Expr, across: ir.Expr) -> list[Check]:
    if axis.padded:
        return []
    vector = ir.Var(axis.vector_name, kind="knob") if axis.vector > 1 else ir.Const(1)
    step = arith.multiply(across, vector)
    if step == ir.Const(1):
        return []
    return [
        Check(arith.binary("==", arith.modulo(extent, step), ir.Const(0)), "every thread holds an equal part")
    ]


def _unit(extent: ir.Expr) -> bool:
    return isinstance(extent, ir.Const) and extent.value == 1
