"""Handlers of expressions. Each gives a number, an IR expression, a tile, or a Python object."""

from __future__ import annotations

import ast
import functools
import sys
from typing import Any

from tilegen import ir
from tilegen.dtypes import bool_
from tilegen.frontend.lookup import attribute_of, resolve
from tilegen.frontend.parser import Parser, Scope, expression
from tilegen.frontend.suggest import did_you_mean, stand_in
from tilegen.language import arithmetic
from tilegen.language.debug import FormattedText
from tilegen.language.scalar import ScalarType
from tilegen.language.text import describe
from tilegen.language.values import as_condition, as_dtype, is_number, is_scalar

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
             ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
             ast.RShift: ">>",
             ast.MatMult: "@"}
COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}

_UNSUPPORTED = {
    ast.Lambda: ("a lambda", "write a function under @T.macro; T.Layout and T.Fragment take lambdas"),
    ast.ListComp: ("a list comprehension", "write a for loop, or compute the list outside of the kernel"),
    ast.SetComp: ("a set comprehension", "compute it outside of the kernel"),
    ast.DictComp: ("a dict comprehension", "compute it outside of the kernel"),
    ast.GeneratorExp: ("a generator expression", "write a for loop"),
    ast.Set: ("a set", "use a tuple"),
    ast.Dict: ("a dict", "use keyword arguments"),
    ast.Await: ("await", "kernels have no coroutines"),
    ast.Yield: ("yield", "kernels have no generators"),
    ast.YieldFrom: ("yield from", "kernels have no generators"),
    ast.NamedExpr: ("the := operator", "assign the name on a line of its own"),
    ast.Starred: ("a starred expression", "write the items out"),
}


@expression(ast.expr)
def unsupported(parser: Parser, node: ast.expr) -> Any:
    name, advice = _UNSUPPORTED.get(type(node), (f"the expression {type(node).__name__}",
                                                 "write it differently"))
    raise parser.error("TG0001", f"{name} cannot be used in a kernel", node, advice)


@expression(ast.Lambda)
def function(parser: Parser, node: ast.Lambda) -> Any:
    """A function of indices, where an operation takes one: it is read anew for the arguments of each call."""
    arguments = node.args
    if not parser.functions or arguments.defaults or arguments.kwonlyargs or arguments.vararg or arguments.kwarg:
        return unsupported(parser, node)
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]

    def call(*values: ir.Expr) -> Any:
        parser.frame.scopes.append(Scope("lambda", dict(zip(names, values))))
        try:
            return parser.evaluate(node.body)
        finally:
            parser.frame.scopes.pop()

    call.arity = len(names)
    return call


@expression(ast.Dict)
def dictionary(parser: Parser, node: ast.Dict) -> Any:
    """A dict, where an operation takes one."""
    if not parser.functions or None in node.keys:
        return unsupported(parser, node)
    return {parser.evaluate(key): parser.evaluate(value) for key, value in zip(node.keys, node.values)}


@expression(ast.Constant)
def constant(parser: Parser, node: ast.Constant) -> Any:
    if isinstance(node.value, (complex, bytes)):
        raise parser.error("TG0001", f"a {type(node.value).__name__} constant cannot be used in a kernel",
                           node)
    return node.value


@expression(ast.Name)
def name(parser: Parser, node: ast.Name) -> Any:
    return resolve(parser, node)


@expression(ast.Tuple, ast.List)
def sequence(parser: Parser, node: ast.Tuple | ast.List) -> tuple:
    return tuple(parser.evaluate(item) for item in node.elts)


@expression(ast.Attribute)
def attribute(parser: Parser, node: ast.Attribute) -> Any:
    value = parser.evaluate(node.value)
    if value is sys.modules.get("tilegen.language"):
        if node.attr not in value.__all__:
            raise parser.error("TG0007", f"T has no operation {node.attr}", node,
                               stand_in(node.attr) or did_you_mean(node.attr, value.__all__, "T.")
                               or "dir(tilegen.language) lists the operations")
        return getattr(value, node.attr)
    if is_scalar(value) or isinstance(value, (ir.Buffer, ir.Region)):
        return _property(parser, value, node)
    return attribute_of(parser, value, node)


def _property(parser: Parser, value: Any, node: ast.Attribute) -> Any:
    if node.attr == "shape" and isinstance(value, ir.Buffer):
        return value.shape
    if node.attr == "shape" and isinstance(value, ir.Region):
        return value.extents
    if node.attr == "dtype" and not is_number(value):
        return ScalarType(value.buffer.dtype if isinstance(value, ir.Region) else value.dtype)
    if node.attr == "astype" and is_scalar(value):
        return functools.partial(_astype, value)
    raise parser.error("TG0002", f"{describe(value)} has no {node.attr}", node,
                       "a tensor or tile has .shape and .dtype, a number has .dtype and .astype(dtype)")


def _astype(value: Any, dtype: Any) -> ir.Expr:
    return arithmetic.convert(value, as_dtype(dtype))


@expression(ast.BinOp)
def binary(parser: Parser, node: ast.BinOp) -> Any:
    a, b = parser.evaluate(node.left), parser.evaluate(node.right)
    op = OPERATORS[type(node.op)]
    if _are_python(a, b) and op in ("+", "*", "%"):
        return _of_python(parser, node, a, b)
    return arithmetic.binary(op, a, b)


def _are_python(a: Any, b: Any) -> bool:
    return isinstance(a, (tuple, str)) and isinstance(b, (tuple, str, int))


def _of_python(parser: Parser, node: ast.BinOp, a: Any, b: Any) -> Any:
    """Tuples and texts are joined and repeated as Python does."""
    try:
        return {"+": lambda: a + b, "*": lambda: a * b, "%": lambda: a % b}[OPERATORS[type(node.op)]]()
    except TypeError as error:
        raise parser.error("TG0004", str(error), node) from error


@expression(ast.UnaryOp)
def unary(parser: Parser, node: ast.UnaryOp) -> Any:
    value = parser.evaluate(node.operand)
    match node.op:
        case ast.USub():
            return arithmetic.negate(value)
        case ast.UAdd():
            return value
        case ast.Invert():
            return arithmetic.invert(value)
    if isinstance(value, (ir.Expr, ir.Buffer, ir.Region)):
        return ir.UnOp("not", as_condition(value), bool_)
    return not value


@expression(ast.BoolOp)
def logical(parser: Parser, node: ast.BoolOp) -> Any:
    """`and`, `or`; a Python truth value among the operands decides, or drops out."""
    op = "and" if isinstance(node.op, ast.And) else "or"
    result: Any = None
    for item in node.values:
        value = parser.evaluate(item)
        if not isinstance(value, (ir.Expr, ir.Buffer, ir.Region)):
            value = bool(value)
            if value == (op == "or"):
                return value
        result = value if result is None else arithmetic.logical(op, result, value)
    return result if isinstance(result, bool) else as_condition(result)


@expression(ast.Compare)
def comparison(parser: Parser, node: ast.Compare) -> Any:
    """`a < b <= c` is `a < b and b <= c`."""
    left, result = parser.evaluate(node.left), True
    for op, right_node in zip(node.ops, node.comparators):
        right = parser.evaluate(right_node)
        result = arithmetic.logical("and", result, _compare(parser, node, op, left, right))
        left = right
    return result


def _compare(parser: Parser, node: ast.Compare, op: ast.cmpop, a: Any, b: Any) -> Any:
    if is_scalar(a) and is_scalar(b) and type(op) in COMPARISONS:
        return arithmetic.binary(COMPARISONS[type(op)], a, b)
    known = {ast.Is: lambda: a is b, ast.IsNot: lambda: a is not b, ast.Eq: lambda: a == b,
             ast.NotEq: lambda: a != b, ast.In: lambda: a in b, ast.NotIn: lambda: a not in b}
    of_kernel = (ir.Expr, ir.Buffer, ir.Region)
    identity = isinstance(op, (ast.Is, ast.IsNot)) and (a is None or b is None)
    if type(op) in known and (identity or not (isinstance(a, of_kernel) or isinstance(b, of_kernel))):
        return bool(known[type(op)]())
    raise parser.error("TG0004", f"{describe(a)} and {describe(b)} cannot be compared so", node,
                       "numbers compare with == != < <= > >=")


@expression(ast.IfExp)
def conditional(parser: Parser, node: ast.IfExp) -> Any:
    """`a if c else b`: decided now where c is a Python value, else a selection."""
    test = parser.evaluate(node.test)
    if not isinstance(test, (ir.Expr, ir.Buffer, ir.Region)):
        return parser.evaluate(node.body if test else node.orelse)
    condition = as_condition(test, parser.loc(node.test))
    return arithmetic.select(condition, parser.evaluate(node.body), parser.evaluate(node.orelse))


@expression(ast.JoinedStr)
def formatted(parser: Parser, node: ast.JoinedStr) -> Any:
    """An f-string: a text where all of its values are Python values, else a FormattedText."""
    text, values = "", []
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += part.value
            continue
        value = parser.evaluate(part.value)
        if isinstance(value, (ir.Expr, ir.Buffer, ir.Region)):
            text += "{}"
            values.append(value)
        else:
            text += format(value, _format_of(parser, part))
    return FormattedText(text, tuple(values)) if values else text


def _format_of(parser: Parser, part: ast.FormattedValue) -> str:
    if part.format_spec is None:
        return ""
    spec = parser.evaluate(part.format_spec)
    return spec if isinstance(spec, str) else ""
