"""cpu_statements: how every statement runs on one thread of a CPU, which runs a whole block.

Precondition: cpu_layouts. Effect: tile statements have a NestPlan or an OpPlan; plain statements
read tensors safely and address tiles where they lie; barriers are gone. Counts of rows and columns
that exist get a name before the statement that needs them.
Before: T.copy(A[by * BM, ko * BK], A_shared)
After:  const int rows = min(BM, M - by * BM); pack_rows(A_shared, &A[by * BM * K + ko * BK], K, rows, depth)
"""

from __future__ import annotations

from dataclasses import replace

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.passes.accesses import guard_statements
from tilegen.passes.cpu_copies import plan_copy, plan_fill
from tilegen.passes.cpu_gemm import plan_gemm
from tilegen.passes.cpu_loops import plan_parallel
from tilegen.passes.cpu_planner import CpuPlanner, Scope
from tilegen.passes.cpu_reduce import plan_reduce
from tilegen.passes.cpu_scan import plan_scan, votes
from tilegen.passes.plan_storage import alias_plan
from tilegen.plan import Check, SharedBuffer
from tilegen.targets.base import Target

_PLANNERS = {ir.Copy: plan_copy, ir.Fill: plan_fill, ir.Gemm: plan_gemm, ir.Parallel: plan_parallel,
             ir.Reduce: plan_reduce, ir.Scan: plan_scan}


def cpu_statements(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    _refuse_threads(kernel)
    _refuse_reinterpreted_operands(kernel)
    planner = CpuPlanner(kernel, target)
    planned = _Body(planner, kernel)
    body = planned.statements(kernel.body, Scope())
    lets = tuple(ir.Let(var, value) for value, var in planner.top.items())
    planner.layouts = {name: layout for name, layout in planner.layouts.items()
                       if name in planned.touched or layout in planner.scratch}
    for condition in planner.known.assumed:
        planner.checks.setdefault(Check(condition, "tiles fit into the tensors without a rest"))
    plan = replace(kernel.plan, constants=tuple(planner.constants.values()), checks=tuple(planner.checks),
                   layouts=planner.layouts, shared=_storage(planner), notes=tuple(planner.notes))
    return replace(kernel, body=lets + body, plan=plan)


def _refuse_threads(kernel: ir.Kernel) -> None:
    for node in ir.walk(kernel.body):
        if isinstance(node, ir.Var) and node.kind == "thread":
            raise TilegenError("TG0204", f"a CPU runs a block on one thread, and has no thread index {node.name}",
                               node.loc, hint="write the loop over elements as `for i, j in T.Parallel(...)`")
        if isinstance(node, ir.Call) and node.name in ir.WARP_FUNCTIONS:
            raise TilegenError("TG0204", f"a CPU runs a block on one thread, and has no warps for T.{node.name}",
                               node.loc, hint="use T.reduce_*, T.cumsum, T.any_of or T.all_of on a tile")


def _refuse_reinterpreted_operands(kernel: ir.Kernel) -> None:
    """C++ compilers may reorder accesses through pointers of two types, which the packing of operands uses."""
    for gemm in (n for n in ir.walk(kernel.body) if isinstance(n, ir.Gemm)):
        for region in (gemm.a, gemm.b):
            buffer = region.buffer
            if isinstance(buffer, ir.Alias) and buffer.reinterprets:
                raise TilegenError("TG0204", f"target cpu has no gemm of {buffer.name}, memory of another type",
                                   region.loc or gemm.loc, f"T.copy {buffer.name} into a tile of its own")


def _storage(planner: CpuPlanner) -> tuple[SharedBuffer, ...]:
    """The members of the memory map; TG0201 where they are too large to stay in a cache."""
    places = []
    for layout in planner.layouts.values():
        storage = layout.storage
        if isinstance(storage, ir.Alias):
            continue
        elements = planner.value(arith.product(storage.shape))
        if elements is None:
            raise TilegenError("TG0109", f"the shape of {storage.name} has to be known at compile time", storage.loc)
        places.append(SharedBuffer(storage, elements * storage.dtype.bytes, layout.reason))
    total = sum(p.bytes for p in places)
    if total > planner.target.max_shared:
        ledger = ", ".join(f"{p.buffer.name} {p.bytes}" for p in places)
        raise TilegenError("TG0201", f"the tiles of a block take {total} bytes, and a thread may have "
                           f"{planner.target.max_shared}: {ledger}", planner.kernel.launch_loc or planner.kernel.loc,
                           hint="make the tiles smaller")
    return tuple(places)


class _Body:
    """Plans lists of statements, with what is known at each place."""

    def __init__(self, planner: CpuPlanner, kernel: ir.Kernel) -> None:
        self.planner = planner
        self.used = arith.names(kernel.body)
        self.touched = {n.buffer.name for n in ir.walk(kernel.body)
                        if isinstance(n, (ir.Load, ir.Region)) or isinstance(n, (ir.Store, ir.Atomic))}
        self.touched |= {n.base.name for n in ir.walk(kernel.body) if isinstance(n, ir.Alias)}

    def statements(self, statements: tuple[ir.Stmt, ...], scope: Scope) -> tuple[ir.Stmt, ...]:
        result: list[ir.Stmt] = []
        for s in statements:
            planned = self.statement(s, scope)
            result += [replace(let, loc=s.loc) for let in scope.pending]
            scope.pending.clear()
            result += planned
        return tuple(result)

    def statement(self, s: ir.Stmt, scope: Scope) -> tuple[ir.Stmt, ...]:
        plan = _PLANNERS.get(type(s))
        if plan is not None:
            planned = plan(self.planner, scope, s)
            if isinstance(s, ir.Parallel):
                scope.forget(written((s,)))
            return (planned,)
        match s:
            case ir.Vote():
                return self.statements(votes(self.planner, s), scope)
            case ir.Alloc():
                return self.alloc(s)
            case ir.Let() if s.var.name not in self.used:
                return ()
            case ir.For() | ir.While():
                return (self.loop(s, scope),)
            case ir.If():
                inner = [self.statements(part, scope.child()) for part in (s.then, s.otherwise)]
                scope.forget(written((s,)))
                return (replace(s, condition=self.planner.scalar(s.condition), then=inner[0], otherwise=inner[1]),)
        scope.forget(written((s,)))
        safe = guard_statements((s,), self.planner.known)
        return self.planner.placed(safe)

    def alloc(self, s: ir.Alloc) -> tuple[ir.Stmt, ...]:
        if isinstance(s.buffer, ir.Alias) and s.buffer.name in self.touched:
            return (replace(s, plan=alias_plan(self.planner.kernel, s.buffer, s.buffer.shape)),)
        if s.buffer.name in self.planner.layouts or s.buffer.name not in self.touched:
            return ()                                          # a member of the memory map, or never used
        return self.planner.placed(guard_statements((s,), self.planner.known))

    def loop(self, s: ir.For | ir.While, scope: Scope) -> ir.Stmt:
        changed = written(s.body)
        scope.forget(changed)
        body = self.statements(s.body, scope.child())
        if isinstance(s, ir.While):
            return replace(s, condition=self.planner.scalar(s.condition), body=body)
        start, stop, step = (self.planner.scalar(e) for e in (s.start, s.stop, s.step))
        return replace(s, kind="serial", start=start, stop=stop, step=step, body=body)


def written(statements: tuple[ir.Stmt, ...]) -> set[str]:
    """The names of the buffers that statements write."""
    names: set[str] = set()
    for n in ir.walk(statements):
        match n:
            case ir.Copy() | ir.Fill() | ir.Reduce() | ir.Scan():
                names.add(n.dst.buffer.name)
            case ir.Gemm():
                names.add(n.c.buffer.name)
            case ir.Store() | ir.Atomic():
                names.add(n.buffer.name)
            case ir.Vote():
                names.add(n.dst.name)
            case ir.Raw():
                names.update(region.buffer.name for region in n.writes)
    return names
