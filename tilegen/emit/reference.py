"""The kernel as plain sequential loops in C++: what a self-test compares with.

Blocks run one after the other, tiles are ordinary arrays in the user's names. Floats are computed in
double, and rounded where the kernel stores 16 or 8 bits.
"""

from __future__ import annotations

import json
import math
import re

from tilegen import arith, ir
from tilegen.emit.host_expressions import HOST, HostPrinter, element_type, rounded
from tilegen.emit.plain_loops import as_loops, nest
from tilegen.emit.source_lines import origin
from tilegen.emit.text import block, conditional, indent, steps_from
from tilegen.passes.ranges import knob_values

_PRIVATE = ("local", "var")


def obstacle(kernel: ir.Kernel) -> str:
    """Why there are no plain loops for a kernel: the place and its fault; '' where there are."""
    for statement in (n for n in ir.walk(kernel.body) if isinstance(n, ir.Stmt)):
        place = f"{statement.loc.short}: " if statement.loc else ""
        if isinstance(statement, ir.Raw):
            return f"{place}a line of the target's own language"
        if isinstance(statement, ir.Alloc) and isinstance(statement.buffer, ir.Alias) and statement.buffer.reinterprets:
            return f"{place}memory seen as another type"
        own = (n for child in ir.children(statement) if isinstance(child, ir.Expr) for n in ir.walk(child))
        if any(isinstance(n, ir.Var) and n.kind == "thread" for n in own):
            return f"{place}the index of a single thread"
        own = (n for child in ir.children(statement) if isinstance(child, ir.Expr) for n in ir.walk(child))
        names = {n.name for n in own if isinstance(n, ir.Call)}
        if names & ir.WARP_FUNCTIONS:
            return f"{place}an exchange between the threads of a warp"
        if any(name.startswith("extern:") for name in names):
            return f"{place}a function of the target's own language"
    return ""


def render(kernel: ir.Kernel, e: HostPrinter, name: str = "reference") -> str:
    """`static void reference(...)`: the text of an unplanned launch without obstacles."""
    kernel = ir.rewrite(kernel, lambda n: () if isinstance(n, (ir.Print, ir.Sync)) else None)
    writer = PlainText(e, knob_values(kernel))
    text = writer.body(_without_unused(kernel.body))
    for inner, (var, extent) in enumerate(_blocks(kernel)):
        head = f"for (int {var} = 0; {var} < {e(extent, '<<')}; ++{var})"
        text = f"{head}\n{indent(text)}" if inner else f"{head} {{\n{indent(text)}\n}}"
    if _independent(kernel):
        text = f"#pragma omp parallel for{_collapse(len(kernel.grid))}\n{text}"
    launch = origin(ir.Raw("", loc=kernel.launch_loc))
    text = f"// {launch}\n{text}" if launch else text
    return f"static void {name}({', '.join(_parameters(kernel, text))})\n{{\n{indent(text)}\n}}"


def _blocks(kernel: ir.Kernel) -> list[tuple[str, ir.Expr]]:
    """(variable, extent) of the loops over blocks, innermost first."""
    names = [var.name for var in kernel.block_vars]
    return list(zip(names + [f"block_{axis}" for axis in "xyz"[len(names):]], kernel.grid))


def _collapse(count: int) -> str:
    return f" collapse({count})" if count > 1 else ""


def _parameters(kernel: ir.Kernel, text: str) -> list[str]:
    """What the kernel takes, with its tensors as they are on the host; a size that `text` does not read has no name."""
    parts = []
    for p in kernel.params:
        if p.buffer is None:
            parts.append(f"{HOST.type(p.var.dtype)} {p.name}")
        else:
            const = "const " if p.access == "read" else ""
            parts.append(f"{const}Tensor<{element_type(p.buffer.dtype)}>& {p.name}")
    return parts + [f"int {size.name}" if re.search(rf"\b{size.name}\b", text) else "int" for size in kernel.sizes]


def _independent(kernel: ir.Kernel) -> bool:
    """Whether no block reads or changes what another one writes."""
    return not any(p.access == "readwrite" for p in kernel.params) and \
        not any(isinstance(n, ir.Atomic) for n in ir.walk(kernel.body))


def _without_unused(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The statements without names and buffers that nothing else mentions."""
    while True:
        used: dict[str, int] = {}
        for n in ir.walk(body):
            if isinstance(n, (ir.Var, ir.Buffer)):
                used[n.name] = used.get(n.name, 0) + 1
        shorter = ir.rewrite(body, lambda n, used=used: () if used.get(_declares(n)) == 1 else None)
        if shorter is body:
            return body
        body = shorter


def _declares(n: ir.Node) -> str:
    """The name that a statement makes known; '' for others."""
    return n.var.name if isinstance(n, ir.Let) else n.buffer.name if isinstance(n, ir.Alloc) else ""


class PlainText:
    """Statements as text. `numbers` are the values of the knobs."""

    def __init__(self, e: HostPrinter, numbers: dict) -> None:
        self.e = e
        self.numbers = numbers
        self._last_origin = ""

    def body(self, statements: tuple[ir.Stmt, ...], comments: bool = True) -> str:
        """The statements below each other; with `comments`, each group under its Python line."""
        parts: list[str] = []
        for s in statements:
            comment = origin(s) if comments and not isinstance(s, ir.Alloc) else ""
            if comment and comment != self._last_origin:
                parts.append(f"// {comment}")
                self._last_origin = comment
            parts.append(self.statement(s, comments))
        return "\n".join(parts)

    def statement(self, s: ir.Stmt, comments: bool) -> str:
        match s:
            case ir.Store():
                return self._store(s)
            case ir.For():
                return block(self._head(s), self.body(s.body, comments))
            case ir.Parallel():
                return self._parallel(s)
            case ir.Alloc():
                return self._alloc(s)
            case ir.Let():
                return f"const {HOST.type(s.var.dtype)} {s.var.name} = {self._value(s.value, s.var.dtype)};"
            case ir.If():
                return self._if(s, comments)
            case ir.While():
                return block(f"while ({self.e(s.condition)})", self.body(s.body, comments))
            case ir.Break() | ir.Continue():
                return type(s).__name__.lower() + ";"
            case ir.Assert():
                return self._assert(s)
            case ir.Raw():
                return s.text
        return self._scoped(as_loops(s, self.numbers))

    def _scoped(self, statements: tuple[ir.Stmt, ...]) -> str:
        """The statements of one operation, in braces where they declare something."""
        text = self.body(statements, comments=False)
        return f"{{\n{indent(text)}\n}}" if any(isinstance(s, ir.Alloc) for s in statements) else text

    # ---- Loops and conditions --------------------------------------------------------------------
    def _head(self, s: ir.For) -> str:
        var, stop = s.var.name, self.e(s.stop, "<<")
        step = arith.evaluate(s.step, self.numbers)
        compare = ">" if step is not None and step < 0 else "<"
        advance = {1: f"++{var}", -1: f"--{var}"}.get(step, f"{var} += {self.e(s.step)}")
        return f"for ({HOST.type(s.var.dtype)} {var} = {self.e(s.start)}; {var} {compare} {stop}; {advance})"

    def _parallel(self, s: ir.Parallel) -> str:
        """Loops in order. What is private to a thread starts anew in each iteration."""
        outside = [b for b in _private_buffers(s) if not _is_set_first(s.body, b)]
        before = tuple(ir.Raw(f"const auto {b.name}_before = {b.name};") for b in outside)
        again = tuple(ir.Raw(f"{b.name} = {b.name}_before;") for b in outside)
        return self.body(before + nest(s.vars, s.extents, again + s.body), comments=False)

    def _if(self, s: ir.If, comments: bool) -> str:
        return conditional(s, self.e, lambda body: self.body(body, comments))

    def _assert(self, s: ir.Assert) -> str:
        place = f"{s.loc.short}: " if s.loc else ""
        message = json.dumps(place + (s.message or "the assertion does not hold"), ensure_ascii=False)
        failed = self.e(ir.UnOp("not", s.condition, s.condition.dtype))
        return block(f"if ({failed})", f"std::puts({message});\nstd::exit(1);")

    # ---- Values ----------------------------------------------------------------------------------
    def _alloc(self, s: ir.Alloc) -> str:
        buffer, kind = s.buffer, HOST.type(s.buffer.dtype)
        if isinstance(buffer, ir.Alias):
            return self._alias(buffer, kind)
        if buffer.scope == "var":
            start = "{}" if s.init is None else self._value(s.init, buffer.dtype)
            return f"{kind} {buffer.name} = {start};"
        if buffer.scope == "local":
            for extent in reversed(buffer.shape):
                kind = f"std::array<{kind}, {self.e(extent)}>"
            return f"{kind} {buffer.name} = {{}};"
        rows, *rest = buffer.shape
        inner = "".join(f"[{self.e(extent)}]" for extent in rest)
        return f"auto {buffer.name} = std::make_unique<{kind}[]{inner}>({self.e(rows)});"

    def _alias(self, buffer: ir.Alias, kind: str) -> str:
        """Another shape of a tensor, or of a tile, whose elements lie in order."""
        base = ir.owner(buffer).name
        if buffer.scope == "global":
            return f"const auto {buffer.name} = reshaped({base}, {{{', '.join(map(self.e, buffer.shape))}}});"
        inner = "".join(f"[{self.e(extent)}]" for extent in buffer.shape[1:])
        return f"const auto {buffer.name} = reinterpret_cast<{kind} {f'(*){inner}' if inner else '*'}>({base}.get());"

    def _store(self, s: ir.Store) -> str:
        value = s.value
        if s.buffer.scope == "global":
            return f"{s.buffer.name}.set({self.e.indices(s.indices)}, {self._logical(value, s.buffer)});"
        old = ir.Load(s.buffer, s.indices)
        target = self.e(old)
        if steps_from(old, value):
            return f"{target} {value.op}= {self.e(value.b)};"
        return f"{target} = {self._value(value, s.buffer.dtype)};"

    def _logical(self, value: ir.Expr, buffer: ir.Buffer) -> str:
        """The value of a tensor's element; a bool is kept in a byte, and any number but 0 is true."""
        if buffer.dtype.kind != "bool" or value.dtype.kind == "bool":
            return self.e(value)
        return self.e(ir.BinOp("!=", value, ir.Const(0), buffer.dtype))

    def _value(self, value: ir.Expr, dtype) -> str:
        """`value` as a variable or a tile of `dtype` keeps it."""
        text = self.e(value)
        return rounded(text, dtype) if rounds(value, dtype) else text


def rounds(value: ir.Expr, dtype) -> bool:
    """Whether storing `value` as `dtype` changes more than its type: a small float of another type."""
    match value:
        case ir.Const(value=number):
            exact = abs(number) <= 8 and number == int(number) or abs(number) == math.inf
            return dtype.is_small_float and not exact
        case ir.Load() | ir.Var() | ir.Cast() if value.dtype == dtype:
            return False
        case ir.Select():
            return rounds(value.a, dtype) or rounds(value.b, dtype)
    return dtype.is_small_float


def _private_buffers(s: ir.Parallel) -> list[ir.Buffer]:
    """The variables and arrays of a thread that a loop writes and that live longer than one iteration."""
    own = {n.buffer for n in ir.walk(s.body) if isinstance(n, ir.Alloc)}
    written = dict.fromkeys(n.buffer for n in ir.walk(s.body) if isinstance(n, ir.Store))
    return [b for b in written if b.scope in _PRIVATE and b not in own]


def _is_set_first(body: tuple[ir.Stmt, ...], buffer: ir.Buffer) -> bool:
    """Whether every iteration sets a variable before it reads it."""
    for s in body:
        if any(isinstance(n, ir.Buffer) and n == buffer for n in ir.walk(s)):
            return buffer.scope == "var" and isinstance(s, ir.Store) and s.buffer == buffer and \
                not any(isinstance(n, ir.Load) and n.buffer == buffer for n in ir.walk(s.value))
    return True
