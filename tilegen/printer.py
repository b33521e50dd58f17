"""Tile IR as Python-like text, for `emit --stop-after` and for people who debug a pass.

The text reads like the kernel that it came from; it is not meant to be parsed again. A plan shows as
a comment behind its statement.
"""

from __future__ import annotations

from typing import Any

from tilegen import ir
from tilegen.launches import launches_of
from tilegen.strided import StridedBuffer
from tilegen.wishes import Placement

# How tightly operators bind, as in Python. A conditional expression binds least, a call most.
_CONDITIONAL, _NOT, _UNARY, _ATOM = 1, 4, 12, 20
_PRECEDENCE = {"or": 2, "and": 3, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, "|": 6, "^": 7, "&": 8,
               "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "//": 11, "%": 11}
_COMPARISON = 5
_AS_CALLS = {"min": "min", "max": "max", "trunc//": "truncdiv", "trunc%": "truncmod"}
_LOOPS = {"serial": "T.serial", "unrolled": "T.unroll", "vectorized": "T.vectorized",
          "pipelined": "T.Pipelined", "persistent": "T.Persistent"}


def show(node: ir.Kernel | ir.Stmt | ir.Expr | ir.Region) -> str:
    """The text of a kernel (many lines), of a statement, or of an expression or region (one line)."""
    if isinstance(node, ir.Kernel):
        return "\n".join(_kernel(node)) + "\n"
    if isinstance(node, ir.Stmt):
        return "\n".join(_statement(node))
    return _region(node) if isinstance(node, ir.Region) else expression(node)


# ---- Expressions ---------------------------------------------------------------------------------
def expression(node: ir.Expr) -> str:
    """One expression, with no parentheses but those that it needs."""
    return _term(node)[0]


def _at(node: ir.Expr, level: int) -> str:
    """The text of an operand that has to bind at least as tightly as `level`."""
    text, own = _term(node)
    return text if own >= level else f"({text})"


def _term(node: ir.Expr) -> tuple[str, int]:
    """The text of an expression and how tightly it binds."""
    match node:
        case ir.Const(value=value):
            text = repr(value)
            return text, _UNARY if text.startswith("-") else _ATOM
        case ir.Var(name=name):
            return name, _ATOM
        case ir.BinOp(op=op, a=a, b=b) if op in _AS_CALLS:
            return f"{_AS_CALLS[op]}({expression(a)}, {expression(b)})", _ATOM
        case ir.BinOp(op=op, a=a, b=b):
            level = _PRECEDENCE[op]
            return f"{_at(a, level + (level == _COMPARISON))} {op} {_at(b, level + 1)}", level
        case ir.UnOp(op="not", a=a):
            return f"not {_at(a, _NOT)}", _NOT
        case ir.UnOp(op=op, a=a):
            return f"{op}{_at(a, _UNARY)}", _UNARY
        case ir.Call(name="infinity", dtype=dtype):
            return f'infinity("{dtype}")', _ATOM
        case ir.Call(name=name, args=args):
            return f"{name}({_list(args)})", _ATOM
        case ir.Select(condition=condition, a=a, b=b):
            tight = _CONDITIONAL + 1
            return f"{_at(a, tight)} if {_at(condition, tight)} else {_at(b, _CONDITIONAL)}", _CONDITIONAL
        case ir.Cast(a=a, dtype=dtype):
            return f"{dtype}({expression(a)})", _ATOM
        case ir.Load(buffer=buffer, indices=indices):
            return _element(buffer, indices), _ATOM
    raise AssertionError(f"the printer has no text for {type(node).__name__}")


def _list(nodes: tuple[ir.Expr, ...]) -> str:
    return ", ".join(expression(n) for n in nodes)


def _tuple(nodes: tuple[ir.Expr, ...]) -> str:
    return f"({_list(nodes)}{',' if len(nodes) == 1 else ''})"


def _element(buffer: ir.Buffer, indices: tuple[ir.Expr, ...]) -> str:
    return f"{buffer.name}[{_list(indices)}]" if indices else buffer.name


def _region(node: ir.Region) -> str:
    """The buffer's name for all of it, else a slice for each dimension and an index for extents of 1."""
    if all(_is(o, 0) for o in node.offsets) and node.extents == node.buffer.shape:
        return node.buffer.name
    slices = map(_slice, node.offsets, node.extents, node.buffer.shape)
    return f"{node.buffer.name}[{', '.join(slices)}]"


def _slice(offset: ir.Expr, extent: ir.Expr, size: ir.Expr) -> str:
    if _is(offset, 0) and extent == size:
        return ":"
    if _is(extent, 1):
        return expression(offset)
    if _is(offset, 0):
        return f":{expression(extent)}"
    return f"{expression(offset)}:{_at(offset, _PRECEDENCE['+'])} + {_at(extent, _PRECEDENCE['+'] + 1)}"


def _is(node: ir.Expr, value: int) -> bool:
    return isinstance(node, ir.Const) and node.value == value


# ---- Statements ----------------------------------------------------------------------------------
def _statement(node: ir.Stmt) -> list[str]:
    lines = _lines(node)
    plan = getattr(node, "plan", None)
    if plan is not None:
        lines[0] += f"  # {_plan(plan)}"
    return lines


def _kernel_plan(plan: Any) -> list[str]:
    """What a plan says of the whole kernel: its constants on one line, then a line for each decision."""
    constants = ", ".join(f"{c.name} = {c.value}" for c in getattr(plan, "constants", ()))
    notes = [f"{subject}: {reason}" for subject, reason in getattr(plan, "notes", ())]
    return ([f"constants: {constants}"] if constants else []) + notes


def _plan(plan: Any) -> str:
    reason = getattr(plan, "reason", "")
    return f"{type(plan).__name__}: {reason}" if reason else str(plan)


def _body(nodes: tuple[ir.Stmt, ...]) -> list[str]:
    return [f"    {line}" for node in nodes for line in _statement(node)] or ["    pass"]


def _lines(node: ir.Stmt) -> list[str]:
    match node:
        case ir.For():
            return [f"for {node.var.name} in {_range(node)}:", *_body(node.body)]
        case ir.Parallel():
            names = ", ".join(v.name for v in node.vars)
            return [f"for {names} in T.Parallel({_list(node.extents)}{_options(node)}):", *_body(node.body)]
        case ir.While():
            return [f"while {expression(node.condition)}:", *_body(node.body)]
        case ir.If():
            return _if(node, "if")
        case _:
            return [_simple(node)]


def _if(node: ir.If, keyword: str) -> list[str]:
    lines = [f"{keyword} {expression(node.condition)}:", *_body(node.then)]
    match node.otherwise:
        case ():
            return lines
        case (ir.If(plan=None) as inner,):
            return lines + _if(inner, "elif")
    return lines + ["else:", *_body(node.otherwise)]


def _range(node: ir.For) -> str:
    limits = (node.stop,) if _is(node.start, 0) else (node.start, node.stop)
    limits = limits if _is(node.step, 1) else (node.start, node.stop, node.step)
    return f"{_LOOPS[node.kind]}({_list(limits)}{_options(node)})"


def _options(node: Any) -> str:
    texts = ((name, expression(v) if isinstance(v, ir.Expr) else repr(v)) for name, v in node.options)
    return "".join(f", {name}={text}" for name, text in texts)


def _simple(node: ir.Stmt) -> str:
    match node:
        case ir.Alloc():
            return _alloc(node)
        case ir.Fill(dst=dst, value=value):
            if _is(value, 0):
                return f"T.clear({_region(dst)})"
            return f"T.fill({_region(dst)}, {expression(value)})"
        case ir.Copy():
            return _copy(node)
        case ir.Gemm():
            return _gemm(node)
        case ir.Reduce(op=op, src=src, dst=dst, dim=dim):
            clear = "" if node.clear else ", clear=False"
            return f"T.reduce_{op}({_region(src)}, {_region(dst)}, dim={dim}{clear})"
        case ir.Scan(op=op, src=src, dst=dst, dim=dim):
            reverse = ", reverse=True" if node.reverse else ""
            return f"T.cum{op}({_region(src)}, {_region(dst)}, dim={dim}{reverse})"
        case ir.Finalize(src=src, dst=dst):
            return f"T.finalize_reducer({_region(src)}" + (f", {_region(dst)})" if dst != src else ")")
        case ir.Vote(op=op, src=src, dst=dst):
            return f"{dst.name} = T.{op}_of({_region(src)})"
        case ir.Atomic():
            return _atomic(node)
        case ir.Let(var=var, value=value):
            return f"{var.name}: {var.dtype} = {expression(value)}"
        case ir.Store(buffer=buffer, indices=indices, value=value):
            return f"{_element(buffer, indices)} = {expression(value)}"
        case ir.Break() | ir.Continue():
            return type(node).__name__.lower()
        case ir.Sync(reason=reason):
            return ("T.sync()" if node.waits else "T.sync_threads()") + (f"  # {reason}" if reason else "")
        case ir.Print(message=message, values=values):
            return "T.print(" + ", ".join([repr(message), *map(show, values)]) + ")"
        case ir.Assert(condition=condition, message=message):
            return f"T.device_assert({expression(condition)}" + (f", {message!r})" if message else ")")
        case ir.Raw():
            return _raw(node)
    raise AssertionError(f"the printer has no text for {type(node).__name__}")


def _raw(node: ir.Raw) -> str:
    operands = [*map(expression, node.reads), *map(_region, node.writes)]
    changed = f", writes={node.names[len(node.reads):]!r}" if node.writes else ""
    given = "".join(f", {name}={value}" for name, value in zip(node.names, operands))
    return f"T.Raw({node.text!r}{changed}{given})"


def _atomic(node: ir.Atomic) -> str:
    order = "" if node.order == "relaxed" else f', memory_order="{node.order}"'
    more = f"{order}, return_prev=True" if node.previous else order
    before = f"{node.previous.name} = " if node.previous else ""
    return f"{before}T.atomic_{node.op}({_element(node.buffer, node.indices)}, {expression(node.value)}{more})"


def _copy(node: ir.Copy) -> str:
    if dict(node.options).get("asynchronous"):
        return f"T.copy_async({_region(node.src)}, {_region(node.dst)})"
    return f"T.copy({_region(node.src)}, {_region(node.dst)}{_options(node)})"


def _alloc(node: ir.Alloc) -> str:
    buffer = node.buffer
    if isinstance(buffer, ir.Alias):
        return f'{buffer.name} = T.view({buffer.base.name}, {_tuple(buffer.shape)}, "{buffer.dtype}")'
    if buffer.scope == "var":
        init = "" if node.init is None else f", init={expression(node.init)}"
        return f'{buffer.name} = T.alloc_var("{buffer.dtype}"{init})'
    return f'{buffer.name} = T.alloc_{buffer.scope}({_tuple(buffer.shape)}, "{buffer.dtype}")'


def _gemm(node: ir.Gemm) -> str:
    options = ", transpose_A=True" if node.transpose_a else ""
    options += ", transpose_B=True" if node.transpose_b else ""
    options += ", clear_accum=True" if node.clear else ""
    options += f", policy={node.policy!r}" if node.policy != "square" else ""
    return f"T.gemm({_region(node.a)}, {_region(node.b)}, {_region(node.c)}{options})"


# ---- Kernels -------------------------------------------------------------------------------------
def _kernel(node: ir.Kernel) -> list[str]:
    lines = [_knob(k) for k in node.knobs]
    lines += [f'{v.name} = T.dynamic("{v.name}")' for v in node.sizes]
    lines += [f"T.import_source({text!r})" for text in node.sources]
    lines += [""] if lines else []
    lines += ["@T.prim_func", f"def {node.name}(", *(f"    {_param(p)}" for p in node.params if not p.workspace), "):"]
    lines += [f"    T.assume({expression(r)})" for r in node.requires]
    lines += [f'    {p.name} = T.alloc_global({_tuple(p.buffer.shape)}, "{p.buffer.dtype}")'
              for p in node.params if p.workspace]
    return lines + [f"    {line}" for launch in launches_of(node) for line in _launch(launch)]


def _launch(node: ir.Kernel) -> list[str]:
    threads = expression(node.threads[0]) if len(node.threads) == 1 else _tuple(node.threads)
    names = ", ".join(v.name for v in node.block_vars)
    names = f"({names})" if len(node.block_vars) > 1 else names
    lines = [f"# {line}" for line in _kernel_plan(node.plan)]
    lines.append(f"with T.Kernel({_list(node.grid)}, threads={threads}) as {names}:")
    lines += [f"    {_wish(w)}" for w in node.wishes]
    return lines + _body(node.body)


def _wish(wish: ir.Wish) -> str:
    if isinstance(wish, Placement):
        names = ", ".join(v.name for v in wish.vars)
        if wish.slot is None:
            return f"T.annotate_layout({{{wish.buffer}: lambda {names}: {expression(wish.value)}}})"
        return (f"T.annotate_layout({{{wish.buffer}: T.Fragment({wish.buffer}.shape, lambda {names}: "
                f"({expression(wish.value)}, {expression(wish.slot)}), replicate={wish.copies})}})")
    if wish.name == "min_blocks":
        return f"T.annotate_min_blocks_per_sm({expression(wish.value)})"
    return f'T.use_swizzle({expression(wish.value)}, order="{wish.name.removesuffix("_panels")}")'


def _knob(knob: ir.Knob) -> str:
    value = repr(knob.value) if knob.expr is None else f"{expression(knob.expr)}  # {knob.value!r}"
    return f"{knob.name} = {value}" + (f"  # {knob.comment}" if knob.comment else "")


def _param(param: ir.Param) -> str:
    if param.buffer is None:
        return f"{param.name}: {param.var.dtype},"
    access = "" if param.access == "read" else f"  # {param.access}"
    kind, strides = "Tensor", ""
    if isinstance(param.buffer, StridedBuffer):
        kind, strides = "StridedTensor", f"{_tuple(param.buffer.strides)}, "
    return f'{param.name}: T.{kind}({_tuple(param.buffer.shape)}, {strides}"{param.buffer.dtype}"),{access}'
