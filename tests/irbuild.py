"""Short names to write Tile IR by hand in tests."""

import numpy
import pytest
from tilegen import ir
from tilegen.dtypes import DType, bool_, float32, int32, promote
from tilegen.errors import Loc, TilegenError
from tilegen.interpret import run

_BOOLEAN = {"==", "!=", "<", "<=", ">", ">=", "and", "or"}


def expr(value) -> ir.Expr:
    return value if isinstance(value, ir.Expr) else ir.const(value)


def exprs(values) -> tuple[ir.Expr, ...]:
    return tuple(expr(v) for v in (values if isinstance(values, (tuple, list)) else (values,)))


def op(name: str, a, b, dtype: DType | None = None) -> ir.BinOp:
    a, b = expr(a), expr(b)
    return ir.BinOp(name, a, b, bool_ if name in _BOOLEAN else dtype or promote(a.dtype, b.dtype))


def call(name: str, *args, dtype: DType | None = None) -> ir.Call:
    args = exprs(args)
    return ir.Call(name, args, dtype or args[0].dtype.compute)


def loop(name: str) -> ir.Var:
    return ir.Var(name, int32, "loop")


def buffer(name: str, shape, dtype: DType = float32, scope: str = "global") -> ir.Buffer:
    return ir.Buffer(name, exprs(shape), dtype, scope)


def load(source: ir.Buffer, *indices) -> ir.Load:
    return ir.Load(source, exprs(indices))


def store(target: ir.Buffer, indices, value) -> ir.Store:
    return ir.Store(target, exprs(indices), expr(value))


def whole(source: ir.Buffer) -> ir.Region:
    return ir.Region(source, exprs([0] * len(source.shape)), source.shape)


def region(source: ir.Buffer, offsets, extents) -> ir.Region:
    return ir.Region(source, exprs(offsets), exprs(extents))


def parallel(variables, extents, *body: ir.Stmt) -> ir.Parallel:
    variables = variables if isinstance(variables, tuple) else (variables,)
    return ir.Parallel(variables, exprs(extents), body)


def serial(variable: ir.Var, start, stop, *body: ir.Stmt, step=1, kind="serial") -> ir.For:
    return ir.For(kind, variable, expr(start), expr(stop), expr(step), body)


def when(condition: ir.Expr, *then: ir.Stmt, otherwise=()) -> ir.If:
    return ir.If(condition, then, tuple(otherwise))


BX, BY = ir.Var("bx", int32, "block"), ir.Var("by", int32, "block")


def kernel(tensors, *body: ir.Stmt, grid=(1,), sizes=(), scalars=(), knobs=(), requires=()) -> ir.Kernel:
    """A kernel that may read and write every tensor."""
    params = tuple(ir.Param(t.name, buffer=t, access="readwrite") for t in tensors)
    params += tuple(ir.Param(v.name, var=v) for v in scalars)
    return ir.Kernel("kernel", params, tuple(knobs), tuple(sizes), exprs(list(grid)), (BX, BY)[:len(grid)],
                     exprs(128), body, tuple(requires))


# ---- Running it ----------------------------------------------------------------------------------
I, J, K = loop("i"), loop("j"), loop("k")
PLACE = Loc("kernel.py", 7, 4)


def outputs(program: ir.Kernel, *arrays, **scalars):
    """The arrays after a run, in the order of the parameters."""
    names = [p.name for p in program.params if p.buffer is not None]
    run(program, dict(zip(names, arrays)) | scalars)
    return arrays if len(arrays) > 1 else arrays[0]


def refused(code: str, program: ir.Kernel, *arrays, **scalars) -> TilegenError:
    """The error that a run raises, which has to have this code."""
    with pytest.raises(TilegenError) as caught:
        outputs(program, *arrays, **scalars)
    assert caught.value.code == code, caught.value
    return caught.value


def floats(*shape: int, seed: int = 0) -> numpy.ndarray:
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")


def zeros(*shape: int, dtype: str = "float32") -> numpy.ndarray:
    return numpy.zeros(shape, dtype)
