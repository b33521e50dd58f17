"""Which values differ between the threads of a block, outside of tile statements."""

from __future__ import annotations

from tilegen import ir


def differing(kernel: ir.Kernel) -> set[str]:
    """Names of scalars and local arrays that depend on the thread: through their values, or because only
    some threads set them."""
    names: set[str] = set()
    while True:
        before = len(names)
        _collect(kernel.body, names, False)
        if len(names) == before:
            return names


def depends_on_thread(node: ir.Node | tuple, names: set[str]) -> bool:
    """Whether an expression or statement mentions the thread's index or one of `names`."""
    return any(
        isinstance(n, ir.Var)
        and (n.kind == "thread" or n.name in names)
        or isinstance(n, ir.Buffer)
        and n.name in names
        for n in ir.walk(node)
    )


def heads(s: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The expressions that decide which way a thread takes through a loop or a condition."""
    match s:
        case ir.For():
            return (s.start, s.stop, s.step)
        case ir.While() | ir.If():
            return (s.condition,)
    return ()


def _collect(statements: tuple[ir.Stmt, ...], names: set[str], divergent: bool) -> None:
    for s in statements:
        inner = divergent or depends_on_thread(heads(s), names)
        match s:
            case ir.Let() if divergent or depends_on_thread(s.value, names):
                names.add(s.var.name)
            case ir.Alloc() if s.init is not None and depends_on_thread(s.init, names):
                names.add(s.buffer.name)
            case ir.Store() if s.buffer.scope in ("var", "local") and (
                divergent or depends_on_thread(s, names)
            ):
                names.add(s.buffer.name)
            case ir.For():
                names |= {s.var.name} if inner else set()
                _collect(s.body, names, inner or _leaves(s.body, names))
            case ir.While():
                _collect(s.body, names, inner or _leaves(s.body, names))
            case ir.If():
                _collect(s.then, names, inner)
                _collect(s.otherwise, names, inner)


def _leaves(body: tuple[ir.Stmt, ...], names: set[str]) -> bool:
    """Whether some threads leave the loop around `body` before the others."""
    return any(
        isinstance(n, ir.If)
        and depends_on_thread(n.condition, names)
        and any(isinstance(x, (ir.Break, ir.Continue)) for x in ir.walk(n.then + n.otherwise))
        for n in ir.walk(body)
    )
