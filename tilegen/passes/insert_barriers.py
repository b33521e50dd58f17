"""insert_barriers: Sync nodes where one thread's write meets another's access.

Precondition: every tile statement planned. Effect: before a statement that reads shared memory which
was written since the last barrier, or writes what was read or written since then, stands a Sync with
its reason; loops are walked twice, so that an iteration is safe from the one before, and what only the first
iteration waits for is waited for before the loop. Stores to a tensor that another statement of the block stores
to, or reads, with other threads wait in the same way. A barrier under a condition that may differ between threads
is an error.
Before: T.copy(A, A_shared); T.gemm(A_shared, ...)
After:  T.copy(A, A_shared); Sync("A_shared is complete"); T.gemm(A_shared, ...)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilegen import arith, ir
from tilegen.errors import TilegenError
from tilegen.passes.divergence import depends_on_thread, differing, heads
from tilegen.passes.find_gathers import Gather
from tilegen.plan import KeptOperand, NestPlan, PipelinePlan
from tilegen.targets.base import Target


@dataclass
class Since:
    """Shared buffers written and read since the last barrier; global ones written. Of the written ones, those that
    were updated atomically, which further updates need not wait for, and those that were stored to."""

    written: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    updated: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    last: dict[str, ir.Stmt] = field(default_factory=dict)    # global tensors: the last statement that stored to them
    readers: dict[str, tuple[ir.Stmt, ...]] = field(default_factory=dict)           # those that have read them
    operations: dict[str, frozenset[str]] = field(default_factory=dict)     # how what is written was updated; "": else
    phases: dict[str, int] = field(default_factory=dict)      # of tiles that share their place with others

    def copy(self) -> Since:
        return Since(set(self.written), set(self.read), set(self.updated), set(self.stored), dict(self.last),
                     dict(self.readers), dict(self.operations), self.phases)

    def fresh(self) -> Since:
        """After a barrier."""
        return Since(phases=self.phases)

    def merge(self, other: Since) -> None:
        self.written |= other.written
        self.read |= other.read
        self.updated |= other.updated
        self.stored |= other.stored
        self.last |= other.last
        for name, statements in other.readers.items():
            self.readers[name] = self.readers.get(name, ()) + statements
        for name, operations in other.operations.items():
            self.operations[name] = self.operations.get(name, frozenset()) | operations

    def note_reads(self, s: ir.Stmt, reads: list[ir.Buffer]) -> None:
        self.read |= {b.name for b in reads if b.scope == "shared"}
        for name in {b.name for b in reads if b.scope == "global"}:
            self.readers[name] = (*self.readers.get(name, ()), s)

    def note_writes(self, s: ir.Stmt, writes: list[ir.Buffer], own: dict[str, frozenset[str]]) -> None:
        """What `s` writes; `own` are its `_operations`."""
        updates = _updates(s)
        self.written |= {b.name for b in writes}
        self.updated |= {b.name for b in writes} & updates
        self.stored |= {b.name for b in writes} - updates
        self.last |= {b.name: s for b in writes if b.scope == "global" and b.name not in updates}
        for name in {b.name for b in writes}:
            self.operations[name] = self.operations.get(name, frozenset()) | own.get(name, {""})


def insert_barriers(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    body, _ = _sequence(kernel.body, Since(phases=kernel.plan.phases), None, differing(kernel))
    return replace(kernel, body=body)


def _sequence(statements, since: Since, divergent: ir.Stmt | None, own: set[str]) -> tuple[tuple[ir.Stmt, ...], Since]:
    """`statements` with barriers; `divergent` is a condition around them that differs between threads, `own`
    are the names whose values do."""
    result: list[ir.Stmt] = []
    for s in statements:
        if isinstance(s, ir.Sync):
            _refuse_divergence(s, divergent, s.reason)
            result.append(s)
            since = since.fresh()
            continue
        if isinstance(s, (ir.Reduce, ir.Scan, ir.Vote, ir.Finalize)):
            _refuse_divergence(s, divergent, "the threads exchange values")
        reads, writes = _own_accesses(s)
        operations = _operations(s)
        reason = _hazard((reads, writes), since, operations) or _hazard_of_updates(s, since) \
            or _hazard_of_stores(s, writes, since, divergent)
        if reason:
            _refuse_divergence(s, divergent, reason)
            result.append(ir.Sync(reason, loc=s.loc))
            since = since.fresh()
        if reason := _before_loop(s, since, divergent, own):
            _refuse_divergence(s, divergent, reason)
            result.append(ir.Sync(reason, loc=s.loc))
            since = since.fresh()
        since.note_reads(s, reads)
        if not _is_awaited(s):
            since.note_writes(s, writes, operations)
        s, since = _inside(s, since, divergent, own)
        result.append(s)
    return tuple(result), since


def _before_loop(s: ir.Stmt, since: Since, divergent, own: set[str]) -> str:
    """Why a barrier stands before a loop: it spares one in each turn that only the first turn needs."""
    if not isinstance(s, (ir.For, ir.While)) or _begins_with_barrier(s) or since == since.fresh():
        return ""
    here, spared = (_syncs(_inside(s, state, divergent, own)[0]) for state in (since.copy(), since.fresh()))
    return next((reason for reason in here if reason not in spared), here[0]) if len(spared) < len(here) else ""


def _begins_with_barrier(s: ir.For | ir.While) -> bool:
    """Whether each step of a loop does: not where warps wait, each for itself, for the copy engine."""
    return isinstance(s.plan, PipelinePlan) and not s.plan.engine


def _syncs(s: ir.Stmt) -> list[str]:
    return [n.reason for n in ir.walk(s) if isinstance(n, ir.Sync)]


def _inside(s: ir.Stmt, since: Since, divergent, own: set[str]) -> tuple[ir.Stmt, Since]:
    """The statement with barriers inside its body."""
    inner = divergent or (s if depends_on_thread(heads(s), own) else None)
    if isinstance(s, ir.For) and _begins_with_barrier(s):
        once, _ = _sequence(s.plan.once, since, inner, own)
        s, after = _pipeline(replace(s, plan=replace(s.plan, once=once)), since, inner, own)
        after.merge(since)
        return s, after
    if isinstance(s, (ir.For, ir.While)):
        once, after = _sequence(s.body, since.copy(), inner, own)
        again = after.copy()
        again.merge(since)
        body, after = _sequence(s.body, again, inner, own)
        after.merge(since)
        return replace(s, body=body), after
    if isinstance(s, ir.If) and not _plain(s):      # the accesses of a plain one are counted already
        then, first = _sequence(s.then, since.copy(), inner, own)
        otherwise, second = _sequence(s.otherwise, since.copy(), inner, own)
        first.merge(second)
        return replace(s, then=then, otherwise=otherwise), first
    return s, since


def _pipeline(s: ir.For, since: Since, divergent, own: set[str]) -> tuple[ir.Stmt, Since]:
    """Each step of a pipelined loop begins with its own barrier, which orders it after all of the step before;
    what is loaded for other steps goes to other stages."""
    _refuse_divergence(s, divergent, "each step of the pipeline")
    ahead, rest = s.body[:s.plan.ahead], s.body[s.plan.ahead:]
    rest, after = _sequence(rest, since.fresh(), None, own)
    after.read |= {c.dst.buffer.name for c in ir.walk(ahead) if isinstance(c, ir.Copy)}
    return replace(s, body=ahead + rest), after


def _is_awaited(s: ir.Stmt) -> bool:
    """Whether the user has promised a T.sync() before what `s` writes is read."""
    return isinstance(s, ir.Copy) and bool(dict(s.options).get("asynchronous"))


def _hazard(accesses, since: Since, operations: dict[str, frozenset[str]]) -> str:
    """Why accesses to shared tiles wait. Updates by one and the same operation may come in any order."""
    reads, writes = accesses
    shared_writes = [b.name for b in writes if b.scope == "shared"]
    for b in reads:
        if b.name in since.written:
            return f"{b.name} is complete before it is read"
    for name in shared_writes:
        if name in since.read:
            return f"nobody still reads {name} when it is overwritten"
        alike = operations.get(name)
        if name in since.written and not (alike and since.operations.get(name) == alike):
            return f"the earlier writes to {name} come first"
        phase = since.phases.get(name)
        before = [n for n in (*since.read, *since.written) if phase is not None and since.phases.get(n, phase) != phase]
        if before:
            return f"nobody still uses {min(before)}, whose place {name} takes"
    return ""


def _hazard_of_updates(s: ir.Stmt, since: Since) -> str:
    """Plain writes to a global tensor, and atomic updates of it, wait for each other."""
    updates = _updates(s)
    _, writes = _own_accesses(s)
    for b in writes:
        if b.name in (since.stored if b.name in updates else since.updated):
            return f"the earlier writes to {b.name} come first"
    return ""


def _hazard_of_stores(s: ir.Stmt, writes: list[ir.Buffer], since: Since, divergent: ir.Stmt | None) -> str:
    """A store to a global tensor waits for other statements that store to the same place or read it, where the
    block runs them: its threads may share the two out differently. Plain stores are those of one thread."""
    for b in writes if not divergent else ():
        if b.scope == "global" and b.name in since.last and _meet(since.last[b.name], s):
            return f"the earlier writes to {b.name} come first"
        if b.scope == "global" and any(_meet(reader, s) for reader in since.readers.get(b.name, ())):
            return f"nobody still reads {b.name} when it is overwritten"
    return ""


def _meet(first: ir.Stmt, second: ir.Stmt) -> bool:
    """Whether two threads may come to one element of a tensor in these two statements."""
    if first.loc == second.loc or not (_by_the_block(first) or _by_the_block(second)):
        return False
    if not all(isinstance(s, (ir.Copy, ir.Fill)) for s in (first, second)):
        return True
    boxes = [s.dst if isinstance(s, ir.Fill) or s.dst.buffer.scope == "global" else s.src for s in (first, second)]
    return not _apart(*boxes) and not _shared_out_alike(first, second)


def _shared_out_alike(first: ir.Copy | ir.Fill, second: ir.Copy | ir.Fill) -> bool:
    """Whether what one copy brings into a fragment goes back from it to the same place."""
    return isinstance(first, ir.Copy) and isinstance(second, ir.Copy) and first.dst == second.src \
        and first.src == second.dst and first.dst.buffer.scope == "fragment"


def _by_the_block(s: ir.Stmt) -> bool:
    return isinstance(s, (ir.Copy, ir.Fill, ir.Parallel)) and isinstance(s.plan, NestPlan)


def _apart(a: ir.Region, b: ir.Region) -> bool:
    """Whether two boxes certainly have no element in common."""
    if a.buffer != b.buffer:
        return False
    for start, extent, other, length in zip(a.offsets, a.extents, b.offsets, b.extents):
        distance = arith.fold(arith.subtract(other, start))
        if isinstance(distance, ir.Const) and isinstance(extent, ir.Const) and isinstance(length, ir.Const) and \
                (distance.value >= extent.value or -distance.value >= length.value):
            return True
    return False


def _updates(s: ir.Stmt) -> set[str]:
    """What a statement itself updates atomically."""
    if isinstance(s, (ir.Parallel, ir.Atomic)) or isinstance(s, ir.If) and _plain(s):
        return {ir.owner(n.buffer).name for n in ir.walk(s) if isinstance(n, ir.Atomic)}
    return set()


def _operations(s: ir.Stmt) -> dict[str, frozenset[str]]:
    """{name: the operation} of what a statement updates atomically by one operation, and touches by nothing else."""
    if not isinstance(s, (ir.Parallel, ir.Atomic)) and not (isinstance(s, ir.If) and _plain(s)):
        return {}
    nodes = list(ir.walk(s))
    others = {ir.owner(n.buffer).name for n in nodes if isinstance(n, (ir.Load, ir.Store))}
    found: dict[str, frozenset[str]] = {}
    for n in nodes:
        if isinstance(n, ir.Atomic):
            name = ir.owner(n.buffer).name
            found[name] = found.get(name, frozenset()) | {"" if n.previous or n.order != "relaxed" else n.op}
    return {name: ops for name, ops in found.items() if len(ops) == 1 and "" not in ops and name not in others}


def _own_accesses(s: ir.Stmt) -> tuple[list[ir.Buffer], list[ir.Buffer]]:
    """What `_accesses` finds, under the first name of each memory."""
    reads, writes = _accesses(s)
    return [ir.owner(b) for b in reads], [ir.owner(b) for b in writes]


def _accesses(s: ir.Stmt) -> tuple[list[ir.Buffer], list[ir.Buffer]]:
    """Buffers in shared and global memory that the statement itself reads and writes (not its body)."""
    match s:
        case ir.Copy():
            reads, writes = [s.src.buffer, *(_loads(s.lets) if isinstance(s, Gather) else ())], [s.dst.buffer]
        case ir.Vote():
            reads, writes = [s.src.buffer], []
        case ir.Fill():
            reads, writes = [], [s.dst.buffer]
        case KeptOperand():
            reads, writes = [s.region.buffer], []
        case ir.Gemm():
            reads, writes = [s.a.buffer, s.b.buffer], []
        case ir.Parallel() | ir.Store() | ir.Atomic() | ir.Raw() | ir.Let() | ir.Assert() | ir.Alloc():
            return _element_accesses(s)
        case ir.For(plan=PipelinePlan()):
            reads, writes = _loaded(s)
        case ir.For():
            reads, writes = _loads(s.start) + _loads(s.stop), []
        case ir.While() | ir.If():
            if isinstance(s, ir.If) and _plain(s):
                return _element_accesses(s)
            reads, writes = _loads(s.condition), []
        case ir.Print():
            reads, writes = [b for v in s.values for b in _loads(v)], []
        case _:
            return [], []
    memory = ("shared", "global")
    return [b for b in reads if b.scope in memory], [b for b in writes if b.scope in memory]


def _loaded(s: ir.For) -> tuple[list[ir.Buffer], list[ir.Buffer]]:
    """What the loads of a pipelined loop read and write before its first step: with one stage, registers."""
    ahead = s.body[:s.plan.producers]
    loads = [n for n in ir.walk(ahead) if isinstance(n, ir.Copy)]
    tiles = [c.dst.buffer for c in loads if c.dst.buffer.name in s.plan.buffers]
    return [c.src.buffer for c in loads] + _loads(ahead), tiles


def _plain(s: ir.If) -> bool:
    """A guarded element access, as the passes make them."""
    return not s.otherwise and all(isinstance(x, (ir.Store, ir.Atomic, ir.Print)) for x in s.then)


def _element_accesses(s: ir.Stmt) -> tuple[list[ir.Buffer], list[ir.Buffer]]:
    nodes = list(ir.walk(s))
    atomics = [n.buffer for n in nodes if isinstance(n, ir.Atomic)]
    writes = [n.buffer for n in nodes if isinstance(n, ir.Store)] + atomics
    writes += [region.buffer for n in nodes if isinstance(n, ir.Raw) for region in n.writes]
    reads = [n.buffer for n in nodes if isinstance(n, ir.Load)]
    memory = ("shared", "global")
    return [b for b in reads if b.scope in memory], [b for b in writes if b.scope in memory]


def _loads(expr: ir.Expr | tuple) -> list[ir.Buffer]:
    return [n.buffer for n in ir.walk(expr) if isinstance(n, ir.Load) and n.buffer.scope in ("shared", "global")]


def _refuse_divergence(s: ir.Stmt, divergent: ir.Stmt | None, reason: str) -> None:
    if divergent is not None:
        raise TilegenError("TG0205", f"a barrier is needed here ({reason}), but not all threads come this way", s.loc,
                           hint=f"move the statement out of the condition at line {divergent.loc.line}")
