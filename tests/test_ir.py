"""walk, rewrite and substitute over the IR, and the text that the printer gives."""

import pytest
from irbuild import (BX, BY, I, J, K, buffer, call, expr, kernel, load, op, parallel, region, serial, store,
                     when, whole)
from tilegen import ir
from tilegen.dtypes import bfloat16, bool_, float16, float32, int32
from tilegen.errors import Loc
from tilegen.printer import show

X, Y = ir.Var("x"), ir.Var("y")
A = buffer("A", (8, 8))
TILE = buffer("tile", (4, 8), float16, "shared")


def sample() -> ir.Kernel:
    body = when(op("<", I, J), store(TILE, (I, J), call("exp", load(TILE, J, I))))
    return kernel([A], ir.Alloc(TILE), ir.Copy(region(A, (op("*", BX, 4), 0), (4, 8)), whole(TILE)),
                  parallel((I, J), (4, 8), body), grid=(2,))


# ---- Traversal -----------------------------------------------------------------------------------
def test_walk_gives_parents_before_their_parts():
    nodes = list(ir.walk(sample()))
    kinds = [type(n).__name__ for n in nodes]
    assert kinds[0] == "Kernel" and kinds.index("Parallel") < kinds.index("If") < kinds.index("Store")
    assert kinds.count("Load") == 1 and kinds.count("Store") == 1


def test_walk_takes_a_tuple_of_nodes():
    assert [n for n in ir.walk((X, Y))] == [X, Y]


def test_walk_skips_plans_and_locations():
    statement = ir.Sync("why", plan=X, loc=Loc("f.py", 1))
    assert list(ir.walk(statement)) == [statement]


def test_rewrite_keeps_what_the_rule_leaves_alone():
    program = sample()
    assert ir.rewrite(program, lambda n: None) is program


def test_rewrite_is_bottom_up():
    doubled = ir.rewrite(op("+", X, 1), lambda n: op("*", n, 2) if isinstance(n, ir.Var) else None)
    assert doubled == op("+", op("*", X, 2), 1)
    seen = []
    ir.rewrite(op("+", X, 1), lambda n: seen.append(n))
    assert seen == [X, expr(1), op("+", X, 1)]


def test_rewrite_shares_unchanged_statements():
    program = sample()
    changed = ir.rewrite(program, lambda n: ir.Sync() if isinstance(n, ir.Copy) else None)
    assert changed.body[2] is program.body[2] and isinstance(changed.body[1], ir.Sync)


def test_rewrite_splices_a_tuple_of_statements_into_a_body():
    program = sample()
    changed = ir.rewrite(program, lambda n: (n, ir.Sync("after")) if isinstance(n, ir.Copy) else None)
    assert [type(s).__name__ for s in changed.body] == ["Alloc", "Copy", "Sync", "Parallel"]
    removed = ir.rewrite(program, lambda n: () if isinstance(n, ir.Store) else None)
    assert removed.body[2].body[0].then == ()


def test_rewrite_keeps_plan_and_location():
    place = Loc("f.py", 3)
    statement = ir.Store(A, (X, X), X, plan="plan", loc=place)
    changed = ir.rewrite(statement, lambda n: Y if n == X else None)
    assert changed.indices == (Y, Y) and changed.plan == "plan" and changed.loc is place


def test_substitute_replaces_variables_by_name():
    assert ir.substitute(op("+", X, op("*", Y, X)), {"x": expr(3)}) == op("+", 3, op("*", Y, 3))


def test_locations_are_not_compared():
    assert ir.Const(1, loc=Loc("f.py", 1)) == ir.Const(1)
    assert hash(ir.Const(1, loc=Loc("f.py", 1))) == hash(ir.Const(1))


def test_const_picks_the_dtype_of_a_python_number():
    assert [ir.const(v).dtype for v in (True, 1, 1.0)] == [bool_, int32, float32]


# ---- Expressions as text -------------------------------------------------------------------------
@pytest.mark.parametrize("node, text", [
    (op("+", op("*", X, 2), 1), "x * 2 + 1"),
    (op("*", op("+", X, 2), 1), "(x + 2) * 1"),
    (op("-", X, op("-", Y, 1)), "x - (y - 1)"),
    (op("-", op("-", X, Y), 1), "x - y - 1"),
    (op("//", X, op("*", Y, 2)), "x // (y * 2)"),
    (op("%", op("//", X, 4), 2), "x // 4 % 2"),
    (op("<<", 1, op("+", X, 1)), "1 << x + 1"),
    (op("&", op("|", X, 1), 3), "(x | 1) & 3"),
    (op("^", op("&", X, 1), 3), "x & 1 ^ 3"),
    (op("==", op("<", X, 1), op("<", Y, 2)), "(x < 1) == (y < 2)"),
    (op("or", op("and", op("<", X, 1), op("<", Y, 2)), op("==", X, Y)), "x < 1 and y < 2 or x == y"),
    (op("and", op("or", op("<", X, 1), op("<", Y, 2)), op("==", X, Y)), "(x < 1 or y < 2) and x == y"),
    (ir.UnOp("not", op("and", X, Y), bool_), "not (x and y)"),
    (ir.UnOp("not", op("==", X, Y), bool_), "not x == y"),
    (op("==", ir.UnOp("not", X, bool_), Y), "(not x) == y"),
    (ir.UnOp("-", op("*", X, Y)), "-(x * y)"),
    (op("*", ir.UnOp("-", X), Y), "-x * y"),
    (ir.UnOp("~", ir.UnOp("-", X)), "~-x"),
    (op("-", X, -1), "x - -1"),
    (op("min", op("+", X, 1), Y), "min(x + 1, y)"),
    (op("trunc//", X, Y), "truncdiv(x, y)"),
    (op("trunc%", X, Y), "truncmod(x, y)"),
    (ir.Call("infinity", (), float16), 'infinity("float16")'),
    (call("ceildiv", op("+", X, 1), 4), "ceildiv(x + 1, 4)"),
    (ir.Select(op("<", X, 1), X, Y, int32), "x if x < 1 else y"),
    (op("+", ir.Select(X, X, Y, int32), 1), "(x if x else y) + 1"),
    (ir.Select(X, Y, ir.Select(Y, X, X, int32), int32), "y if x else x if y else x"),
    (ir.Select(X, ir.Select(Y, X, X, int32), Y, int32), "(x if y else x) if x else y"),
    (ir.Cast(op("+", X, 1), bfloat16), "bfloat16(x + 1)"),
    (load(A, op("+", X, 1), Y), "A[x + 1, y]"),
    (load(buffer("v", (), scope="var")), "v"),
    (expr(1.5), "1.5"), (expr(True), "True"), (expr(float("-inf")), "-inf"),
])
def test_expression_text(node, text):
    assert show(node) == text


@pytest.mark.parametrize("a", ["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "<", "==", "and", "or"])
@pytest.mark.parametrize("b", ["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "<", "==", "and", "or"])
def test_python_reads_the_text_with_the_same_tree(a, b):
    for values in ((7, 3, 2), (1, 5, 4), (0, 2, 9)):
        names = dict(zip("xyz", values))
        z = ir.Var("z")
        for node in (op(a, op(b, X, Y), z), op(a, X, op(b, Y, z))):
            try:
                expected = _value(node, names)
            except (ZeroDivisionError, ValueError):
                continue
            assert eval(show(node), {}, names) == expected, show(node)


def _value(node, names):
    if isinstance(node, ir.Var):
        return names[node.name]
    a, b = _value(node.a, names), _value(node.b, names)
    return eval(f"a {node.op} b", {}, {"a": a, "b": b})


@pytest.mark.parametrize("box, text", [
    (whole(A), "A"),
    (region(A, (0, 0), (4, 8)), "A[:4, :]"),
    (region(A, (X, 0), (4, 8)), "A[x:x + 4, :]"),
    (region(A, (op("*", X, 4), Y), (4, 1)), "A[x * 4:x * 4 + 4, y]"),
    (region(A, (0, 0), (1, 8)), "A[0, :]"),
    (region(A, (op("min", X, Y), 0), (op("-", X, Y), 8)), "A[min(x, y):min(x, y) + (x - y), :]"),
])
def test_region_text(box, text):
    assert show(box) == text


# ---- Statements and kernels as text --------------------------------------------------------------
TILE_ROWS = buffer("rows", (4,), float32, "fragment")
COUNT = buffer("count", (), int32, "var")


@pytest.mark.parametrize("node, text", [
    (ir.Alloc(TILE), 'tile = T.alloc_shared((4, 8), "float16")'),
    (ir.Alloc(TILE_ROWS), 'rows = T.alloc_fragment((4,), "float32")'),
    (ir.Alloc(COUNT, expr(3)), 'count = T.alloc_var("int32", init=3)'),
    (ir.Alloc(COUNT), 'count = T.alloc_var("int32")'),
    (ir.Fill(whole(TILE), expr(0)), "T.clear(tile)"),
    (ir.Fill(whole(TILE), expr(1.5)), "T.fill(tile, 1.5)"),
    (ir.Copy(whole(TILE), whole(A), (("coalesced_width", 4),)), "T.copy(tile, A, coalesced_width=4)"),
    (ir.Gemm(whole(A), whole(A), whole(TILE), transpose_b=True, clear=True, policy="full_row"),
     "T.gemm(A, A, tile, transpose_B=True, clear_accum=True, policy='full_row')"),
    (ir.Gemm(whole(A), whole(A), whole(TILE), transpose_a=True), "T.gemm(A, A, tile, transpose_A=True)"),
    (ir.Reduce("max", whole(TILE), whole(TILE_ROWS), 1), "T.reduce_max(tile, rows, dim=1)"),
    (ir.Reduce("sum", whole(TILE), whole(TILE_ROWS), 1, clear=False),
     "T.reduce_sum(tile, rows, dim=1, clear=False)"),
    (ir.Scan("sum", whole(TILE), whole(TILE), 1), "T.cumsum(tile, tile, dim=1)"),
    (ir.Scan("max", whole(TILE), whole(A), 0, reverse=True), "T.cummax(tile, A, dim=0, reverse=True)"),
    (ir.Finalize("sum", whole(TILE), whole(TILE)), "T.finalize_reducer(tile)"),
    (ir.Finalize("max", whole(TILE), whole(A)), "T.finalize_reducer(tile, A)"),
    (ir.Vote("any", whole(TILE), COUNT), "count = T.any_of(tile)"),
    (ir.Alloc(ir.Alias("bits", (expr(32),), int32, "shared", TILE)), 'bits = T.view(tile, (32,), "int32")'),
    (ir.Atomic("add", A, (X, Y), expr(1.0)), "T.atomic_add(A[x, y], 1.0)"),
    (ir.Let(X, op("+", Y, 1)), "x: int32 = y + 1"),
    (store(COUNT, (), op("+", load(COUNT), 1)), "count = count + 1"),
    (ir.Break(), "break"), (ir.Continue(), "continue"),
    (ir.Sync(), "T.sync_threads()"),
    (ir.Sync("tile is read below"), "T.sync_threads()  # tile is read below"),
    (ir.Print("x is {}", (X, whole(TILE))), "T.print('x is {}', x, tile)"),
    (ir.Assert(op("<", X, Y)), "T.device_assert(x < y)"),
    (ir.Assert(op("<", X, Y), "order"), "T.device_assert(x < y, 'order')"),
    (ir.Raw("asm;"), "T.Raw('asm;')"),
    (serial(I, 0, 4, ir.Break()), "for i in T.serial(4):\n    break"),
    (serial(I, 2, 9, step=3, kind="unrolled"), "for i in T.unroll(2, 9, 3):\n    pass"),
    (ir.For("pipelined", K, expr(0), X, expr(1), (ir.Sync(),), (("num_stages", expr(3)),)),
     "for k in T.Pipelined(x, num_stages=3):\n    T.sync_threads()"),
    (ir.While(op("<", X, 3), (ir.Continue(),)), "while x < 3:\n    continue"),
    (when(op("<", X, 1), ir.Break(), otherwise=[when(op("<", X, 2), ir.Continue(), otherwise=[ir.Break()])]),
     "if x < 1:\n    break\nelif x < 2:\n    continue\nelse:\n    break"),
])
def test_statement_text(node, text):
    assert show(node) == text


class Reasoned:
    reason = "rows are contiguous"


def test_a_plan_shows_behind_its_statement():
    assert show(ir.Sync(plan=Reasoned())) == "T.sync_threads()  # Reasoned: rows are contiguous"
    assert show(serial(I, 0, 2, ir.Sync(plan="plain"))).endswith("    T.sync_threads()  # plain")


def test_kernel_text():
    size, block, half = ir.Var("M", kind="size"), ir.Var("BM", kind="knob"), ir.Var("HALF", kind="knob")
    knobs = (ir.Knob("BM", 4, "rows of a tile"), ir.Knob("HALF", 2, expr=op("//", block, 2)))
    vector, scale = buffer("V", (size,)), ir.Var("scale", float32, "scalar")
    params = (ir.Param("V", buffer=vector, access="readwrite"), ir.Param("scale", var=scale))
    body = parallel(I, half, store(vector, I, op("*", load(vector, I), scale)))
    program = ir.Kernel("scaled", params, knobs, (size,), (call("ceildiv", size, block), expr(2)), (BX, BY),
                        (expr(32), expr(4)), (body,), (op("==", op("%", size, 4), 0),))
    assert show(program) == '''\
BM = 4  # rows of a tile
HALF = BM // 2  # 2
M = T.dynamic("M")

@T.prim_func
def scaled(
    V: T.Tensor((M,), "float32"),  # readwrite
    scale: float32,
):
    T.assume(M % 4 == 0)
    with T.Kernel(ceildiv(M, BM), 2, threads=(32, 4)) as (bx, by):
        for i in T.Parallel(HALF):
            V[i] = V[i] * scale
'''


def test_every_node_of_the_ir_has_a_text():
    kinds = {k for k in vars(ir).values() if isinstance(k, type) and issubclass(k, (ir.Expr, ir.Stmt))}
    marks = [m for f in (test_expression_text, test_statement_text) for m in f.pytestmark]
    shown = {type(n) for mark in marks for case in mark.args[1] for n in ir.walk(case[0])}
    shown |= {type(n) for n in ir.walk(sample())}
    assert kinds - {ir.Expr, ir.Stmt} <= shown
