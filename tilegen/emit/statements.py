"""Statements as text: each through the template of its plan, or of its class."""

from __future__ import annotations

import re

from tilegen import arith, ir
from tilegen.emit import templates
from tilegen.emit.expressions import Printer
from tilegen.emit.source_lines import origin
from tilegen.emit.text import block, conditional, indent, steps_from
from tilegen.passes.cpu_print import checked, printed
from tilegen.plan import Loop, Move, NestPlan, OpPlan, PairStore, PipelinePlan, Producer, SynchronousPlan
from tilegen.rings import AwaitRing, Ring
from tilegen.targets.base import Target

LETS_ON_A_LINE = 60
_ENGINE = ("rings", "slot", "cluster", "behind", "ready", "free", "turn")    # of a loop with the copy engine
BESIDE_COLUMN = 36
BESIDE_END = 92
LEAST_QUOTED = 8                        # characters of a Python line that say which one it is


def _beside(text: str, comment: str) -> str:
    """A one-line statement with its origin at the end of the line, cut where that is long; '' where too little of
    it would be left."""
    line = f"{text:<{BESIDE_COLUMN}}  // {comment}"
    if len(line) <= BESIDE_END:
        return line
    place = comment.partition("  ")[0]
    left = len(comment) - len(place) - 2 - (len(line) - BESIDE_END) - len(" ...")
    return f"{line[:BESIDE_END - 4].rstrip()} ..." if left >= LEAST_QUOTED else ""


class Emitter:
    """Renders planned statements for one target. `apart` says that some threads of the block only load: barriers
    are then of the others alone."""

    def __init__(self, target: Target, printer: Printer, apart: bool = False) -> None:
        self.target = target
        self.expr = printer
        self.barrier = "named_barrier_sync(1, THREADS);" if apart else "__syncthreads();"
        self._last_origin = ""

    # ---- Lists of statements ---------------------------------------------------------------------
    def body(self, statements: tuple[ir.Stmt, ...], comments: bool = True, spaced: bool = False) -> str:
        """The statements below each other; with `comments`, each group under its Python line, or beside it. With
        `spaced`, an empty line sets apart what takes several lines."""
        parts: list[str] = []
        opened = False                                  # a wait for what the next statement reads is part of it
        for statement, following in zip(statements, (*statements[1:], None)):
            before = self._last_origin
            text = self.statement(statement, comments)
            if not text:
                continue
            group = self._under_origin(statement, text, before, following) if comments else [text]
            long = "\n" in text or bool(parts) and "\n" in parts[-1]
            opening = isinstance(statement, AwaitRing)
            apart = group != [text] or isinstance(statement.plan, PipelinePlan)
            if spaced and parts and (opening or long and apart and not opened):
                parts.append("")
            parts += group
            opened = opening
        return "\n".join(parts)

    def _under_origin(self, s: ir.Stmt, text: str, before: str, following: ir.Stmt | None) -> list[str]:
        """`text` with where it comes from, unless that has been said `before`, and with its reasons."""
        plan, comment = getattr(s, "plan", None), origin(s)
        why = f"// why: {plan.why}" if isinstance(plan, NestPlan) and plan.why else ""
        why = f"// why one stage: {plan.reason}" if isinstance(plan, SynchronousPlan) else why
        if not comment or comment == before or isinstance(plan, PipelinePlan) or isinstance(s, ir.Sync) and not plan:
            return [why, text] if why else [text]
        self._last_origin = comment
        alone = "\n" not in text and not why and (following is None or origin(following) != comment)
        if alone and _beside(text, comment):
            return [_beside(text, comment)]
        return [f"// {comment}", *([why] if why else []), text]

    def statement(self, s: ir.Stmt, comments: bool = True) -> str:
        """One statement. Tile statements go by their plan, plain ones by their class."""
        plan = getattr(s, "plan", None)
        if isinstance(plan, NestPlan):
            return self.nest(plan)
        if isinstance(plan, OpPlan):
            return self.render(plan.template, op=s, plan=plan, **plan.values)
        return self._plain(s, comments)

    def _plain(self, s: ir.Stmt, comments: bool) -> str:
        match s:
            case ir.For(plan=PipelinePlan()):
                return self.pipeline(s)
            case ir.For():
                return self.loop(self._counted(s), self.body(s.body, comments))
            case ir.While():
                return block(f"while ({self.expr(s.condition)})", self.body(s.body, comments))
            case ir.If():
                return self._if(s, comments)
            case ir.Let():
                return f"const {self.target.type(s.var.dtype)} {s.var.name} = {self.expr(s.value)};"
            case PairStore():
                return f"store_pair(&{self.expr(ir.Load(s.buffer, s.indices))}, {self.expr(s.value)});"
            case ir.Store():
                return self.store(s)
            case ir.Break():
                return "break;"
            case ir.Continue():
                return "continue;"
            case ir.Alloc() if s.buffer.scope == "shared" and not isinstance(s.buffer, ir.Alias):
                return ""                                  # a member of the memory map
            case ir.Print():
                return self.body(printed(s), comments=False)
            case ir.Assert():
                return self.statement(checked(s))
            case ir.Raw():
                return self.raw(s)
            case Move():
                return self.move(s)
            case Producer():
                return self.producer(s)
        return self.render(type(s).__name__.lower(), op=s, plan=getattr(s, "plan", None))

    def _counted(self, s: ir.For) -> Loop:
        """A plain loop, with the pragma that T.unroll and T.vectorized stand for."""
        factor = dict(s.options).get("unroll_factor")
        pragma = f"#pragma unroll {self.expr(factor)}" if factor is not None else ""
        return Loop(s.var, s.start, s.stop, s.step, unroll=s.kind in ("unrolled", "vectorized"), pragma=pragma)

    def raw(self, s: ir.Raw) -> str:
        """Lines of the target's language, with their operands put in."""
        texts = [self.expr(x, "atom") for x in s.reads]
        texts += [self.expr.element(region.buffer, region.offsets) for region in s.writes]
        known = dict(zip(s.names, texts))
        return re.sub(r"\{([A-Za-z_]\w*)\}", lambda m: known.get(m[1], m[0]), s.text)

    # ---- Pieces ----------------------------------------------------------------------------------
    def render(self, template: str, **values) -> str:
        """A template with the printer at hand."""
        return templates.render(self.target.folders, template, e=self.expr, type=self.target.type,
                                target=self.target, body=self.body, around=self.around,
                                assign=self.assign, assignable=arith.assignable, render=self.render,
                                barrier=self.barrier, **values)

    def loop(self, loop: Loop, body: str) -> str:
        """A counting loop around `body`."""
        lets = self.lets(loop.lets)
        if loop.guard is not None:
            body = block(f"if ({self.expr(loop.guard)})", body)
        var, stop, step = loop.var.name, self.expr(loop.stop, "<<"), self.expr(loop.step)
        kind = self.target.type(loop.var.dtype)
        advance = f"++{var}" if step == "1" else f"{var} += {step}"
        if step.startswith("-"):
            head = f"for ({kind} {var} = {self.expr(loop.start)}; {var} > {stop}; {var} -= {step[1:]})"
        else:
            head = f"for ({kind} {var} = {self.expr(loop.start)}; {var} < {stop}; {advance})"
        pragma = loop.pragma or ("#pragma unroll" if loop.unroll else "")
        return (pragma + "\n" if pragma else "") + block(head, lets + body)

    def around(self, loops: list[Loop], text: str) -> str:
        """`text` inside of nested loops, the first outermost; in a block of its own without any."""
        for loop in reversed(loops):
            text = self.loop(loop, text)
        return text

    def lets(self, lets: tuple[ir.Let, ...]) -> str:
        """Named values, two of one type on a line: `const int row = e / BK, col = e % BK;`"""
        texts = [f"{let.var.name} = {self.expr(let.value)}" for let in lets]
        kinds = [self.target.type(let.var.dtype) for let in lets]
        lines, start = [], 0
        while start < len(texts):
            pair = (len(texts) - start) % 2 == 0 and kinds[start] == kinds[start + 1] and \
                len(texts[start] + texts[start + 1]) < LETS_ON_A_LINE
            stop = start + (2 if pair else 1)
            lines.append(f"const {kinds[start]} {', '.join(texts[start:stop])};\n")
            start = stop
        return "".join(lines)

    def _learn(self, plan: NestPlan) -> None:
        """The ranges of the names that a plan introduces, for the printer."""
        known = self.expr.ranges
        for loop in plan.loops:
            low, high = arith.bounds(loop.start, known)[0], arith.bounds(loop.stop, known)[1] - 1
            known[loop.var.name] = (low, max(low, high))
            for let in loop.lets:
                known[let.var.name] = arith.bounds(let.value, known)

    def nest(self, plan: NestPlan) -> str:
        """Loops around a guarded body."""
        self._learn(plan)
        text = self.body(plan.body, comments=False)
        if plan.guard is not None:
            text = block(f"if ({self.expr(plan.guard)})", text)
        text = self.around(list(plan.loops), text)
        if not plan.loops and plan.guard is None and any(isinstance(s, ir.Alloc) for s in plan.body):
            text = f"{{\n{indent(text)}\n}}"              # its names are its own
        if plan.whole is not None:
            text = self._versions(plan.whole, text)
        if plan.lets:
            text = self.lets(plan.lets) + text
        if plan.once is not None:
            text = block(f"if ({self.expr(plan.once)})", text)
        return text

    def _versions(self, whole: ir.Let, text: str) -> str:
        """`text` in two versions that the compiler makes: for tiles that exist as a whole, and for others."""
        return f"in_two_versions({self.expr(whole.value)}, [&](bool {whole.var.name}) {{\n{indent(text)}\n}});"

    def pipeline(self, s: ir.For) -> str:
        """A loop whose loads run ahead: one function that fills a stage, one loop."""
        plan: PipelinePlan = s.plan
        head = origin(s)
        load = self.body(s.body[:plan.producers], spaced=True)
        self._last_origin = head
        keep = "\n".join(self._kept(copy) for copy in s.body[plan.producers:plan.ahead])
        self._last_origin = head
        sync = origin(plan.sync) if plan.sync else ""
        first, steps = plan.operands, arith.subtract(plan.stages, 1)
        operands = self.render(first.template, **first.values) if first else ""
        once = self.body(plan.once, spaced=True)
        self._last_origin = head
        begin = plan.ahead + plan.lead
        lead = self.body(s.body[plan.ahead:begin], spaced=True)
        return self.render(plan.template, op=s, plan=plan, load=load, keep=keep, origin=head, sync=sync, lead=lead,
                           operands=operands, ahead=first.values["ahead"] if first else None, once=once,
                           stage=self._stage(s), first=arith.add(s.start, steps), later=arith.add(s.var, steps),
                           **{n: plan.engine.get(n) for n in _ENGINE},
                           pending=arith.subtract(plan.stages, 2), rest=self.body(s.body[begin:], spaced=True))

    def _kept(self, s: ir.Stmt) -> str:
        """Registers of a pipelined loop on their way into a tile."""
        text = self.body((s,), comments=False)
        if not isinstance(s, ir.Copy):
            return text
        return f"// {dict(s.options)['keep'].name} into {s.dst.buffer.name}\n{text}"

    @staticmethod
    def _stage(s: ir.For) -> ir.Expr:
        return arith.modulo(arith.subtract(s.var, s.start), s.plan.stages)

    def producer(self, s: Producer) -> str:
        """The threads that load leave here with all their work done."""
        plan: PipelinePlan = s.loop.plan
        before = self.body(s.tiles.body, comments=False) if s.tiles else ""
        once = " + ".join(f"sizeof {self.expr.array(b)}" for b in plan.engine.get("once", ()))
        loop = self.render("producer_loop", op=s, plan=plan, once_bytes=once, once_loads=self.body(s.once, spaced=True),
                           loads=[self._loads(s.loop, ring) for ring in plan.engine["rings"]], **plan.engine)
        if s.tiles:
            loop = self.loop(self._counted(s.tiles), f"{before}\n{loop}")
        return self.render(plan.engine.get("producer", "producer"), op=s, plan=plan, loop=loop, **plan.engine)

    def _loads(self, loop: ir.For, ring: Ring) -> tuple[Ring, str, str]:
        """A ring, the bytes of its tiles in a stage, and what loads them; names come before the first of all."""
        first = ring is loop.plan.engine["rings"][0]
        mine = tuple(s for s in loop.body if (s.dst.buffer.name in {tile.name for tile in ring.tiles}
                                              if isinstance(s, ir.Copy) else first))
        size = " + ".join(f"sizeof {self.expr.array(tile)}[{loop.plan.stage.name}]" for tile in ring.tiles)
        return ring, size, self.body(mine, spaced=True)

    def store(self, s: ir.Store) -> str:
        """An assignment; `x = x + y` is written `x += y`."""
        target, value = self.expr(ir.Load(s.buffer, s.indices)), s.value
        return self.assign(target, ir.Load(s.buffer, s.indices), arith.assignable(value, s.buffer.dtype))

    def assign(self, target: str, old: ir.Expr, value: ir.Expr) -> str:
        """`target = value;`, or `target += y;` where value is old + y."""
        if steps_from(old, value):
            return f"{target} {value.op}= {self.expr(value.b)};"
        return f"{target} = {self.expr(value)};"

    def move(self, s: Move) -> str:
        """A call of the device function that moves a vector."""
        extra = "".join(f", {self.expr(x)}" for x in (s.inside, s.whole) if x is not None)
        return f"{s.helper}<{self.expr(s.width)}>(&{self.expr(s.dst)}, &{self.expr(s.src)}{extra});"

    def _if(self, s: ir.If, comments: bool) -> str:
        return conditional(s, self.expr, lambda body: self.body(body, comments))
