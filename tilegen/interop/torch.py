"""Kernels as operators of torch: with gradients, under torch.compile, with fake tensors, in CUDA graphs.

The operators are made by `torch.library.custom_op`, so all that torch knows of its own operators holds for them:
`torch.library.opcheck` accepts them, and a compiled graph calls them without a break.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any

from tilegen.api import Factory
from tilegen.dtypes import lookup
from tilegen.errors import TilegenError
from tilegen.interpreted import contract
from tilegen.kernel import Kernel
from tilegen.runtime.arrays import HOST, ArrayView
from tilegen.runtime.contract import Param
from tilegen.runtime.sizes import Sizes

_taken: dict[str, itertools.count] = {}


def op(forward: Kernel, backward: Kernel | Callable | None = None, *, returns: str | Iterable[str] | None = None,
       name: str | None = None) -> Operator:
    """An operator of torch that runs the kernel `forward` on its inputs and returns its outputs.

    It takes the arguments of the kernel without its outputs, in order or by name. Tensors that are not contiguous
    or not aligned are copied first; those that the kernel reads and writes are changed in place.

    backward: what computes the gradients: a kernel, or a Python function of torch and other operators. Its
        parameters are known by name: `X` and `Y` are the inputs and outputs of forward, kept for this; `dY` (or
        `grad_Y`) is the gradient of the output Y. A kernel's outputs are named `dX` after the inputs; one that it
        adds to starts as zeros. A function returns one gradient for each tensor that forward takes, in order, or a
        dictionary {"X": gradient}; None where there is none. Without it there are no gradients, and asking for them
        raises torch's error.
    returns: the outputs that callers get, by name; all without it. Others are there for backward alone.
    name: of the operator, `torch.ops.tilegen.NAME`; without it, the kernel's name. A number is added to one that is
        taken.
    Raises TG0304 without torch, TG0005 for names that do not fit, and the errors of the kernel.
    """
    torch = require_torch()
    if isinstance(forward, Factory) or not isinstance(forward, Kernel):
        raise TilegenError("TG0005", f"op makes operators of kernels, not of {forward!r}",
                           hint="call the factory first: op(factory(...))" if isinstance(forward, Factory) else None)
    defined = _Defined(torch, forward, name or forward.__name__)
    chosen = defined.outputs if returns is None else (returns,) if isinstance(returns, str) else tuple(returns)
    for output in chosen:
        if output not in defined.outputs:
            raise TilegenError("TG0005", f"returns={output!r} is no output of {forward.__name__}",
                               hint=f"its outputs are {', '.join(defined.outputs) or 'none'}")
    if backward is not None:
        _Gradient(torch, defined, backward, chosen).register()
    return Operator(defined, chosen)


class Operator:
    """A kernel as an operator of torch; see `op`. `op` is what torch has: for `torch.library.opcheck`."""

    def __init__(self, defined: _Defined, returned: tuple[str, ...]) -> None:
        self.op, self.kernel, self._names = defined.op, defined.kernel, defined.inputs
        self._picked = [defined.outputs.index(name) for name in returned]
        self._count = len(defined.outputs)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The outputs: a tensor, or a tuple of them. Raises TG0401 for a wrong number of arguments or a name that the
        kernel lacks, and TG04 errors for arguments that do not fit."""
        if named:
            args = self._in_order(args, named)
        if len(args) != len(self._names):
            raise TilegenError("TG0401", f"{self.kernel.__name__} takes {len(self._names)} arguments, not {len(args)}",
                               hint=f"they are {', '.join(self._names)}")
        found = self.op(*args)
        if self._count < 2:
            return found
        return found[self._picked[0]] if len(self._picked) == 1 else tuple([found[place] for place in self._picked])

    def _in_order(self, args: tuple, named: dict[str, Any]) -> tuple:
        left = self._names[len(args):]
        for name in named:
            if name not in left:
                raise TilegenError("TG0401", f"{self.kernel.__name__} has no argument {name} here",
                                   hint=f"its arguments are {', '.join(self._names)}")
        return (*args, *[named[name] for name in left if name in named])

    def __repr__(self) -> str:
        return f"<operator {self.op._qualname}({', '.join(self._names)})>"


class _Defined:
    """The operator of one kernel as torch has it: schema, implementation, shapes of the results."""

    def __init__(self, torch: Any, kernel: Kernel, name: str) -> None:
        self.torch, self.kernel, self.contract = torch, kernel, contract(kernel.ir)
        given = [p for p in self.contract.params if not p.is_output]
        self.params = {p.name: p for p in self.contract.params}
        self.inputs = tuple([p.name for p in given])
        self.outputs = tuple([p.name for p in self.contract.params if p.is_output])
        shown = {dimension for p in given if p.is_array for dimension in (*p.shape, *p.strides)}
        for size in self.contract.sizes:
            if size not in shown:
                raise TilegenError("TG0005", f"{kernel.__name__} cannot be an operator: its size {size} is not a "
                                   "dimension of an argument", hint=f"give it a value: specialize({size}=...)")
        number = next(_taken.setdefault(name, itertools.count(1)))
        qualified = f"tilegen::{name}" + (f"_{number}" if number > 1 else "")
        mutated = [p.name for p in given if p.is_array and p.writes]
        self.op = torch.library.custom_op(qualified, self._run, mutates_args=mutated, schema=self._schema(given))
        self.op.register_fake(self._shapes)

    def _schema(self, given: list[Param]) -> str:
        kinds = ["Tensor" if not p.is_array else f"Tensor(a{place}!)" if p.writes else "Tensor"
                 for place, p in enumerate(given)]
        kinds = [kind if p.is_array else "float" if p.dtype.is_float else "bool" if p.dtype.kind == "bool" else "int"
                 for kind, p in zip(kinds, given)]
        count = len(self.outputs)
        result = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
        return f"({', '.join(f'{kind} {p.name}' for kind, p in zip(kinds, given))}) -> {result}"

    def _run(self, *args: Any) -> Any:
        with self.torch.no_grad():
            return self.kernel(*[self._ready(self.params[name], value) for name, value in zip(self.inputs, args)])

    def _ready(self, param: Param, value: Any) -> Any:
        """The tensor as a kernel takes it: a copy where it is only read and lies otherwise."""
        if not param.is_array or param.writes:
            return value
        value = value.resolve_neg() if param.strides else value.resolve_neg().contiguous()
        # 16 bytes is the widest access; torch allocates at 64 and more
        return value.clone() if value.data_ptr() % 16 else value

    def _shapes(self, *args: Any) -> Any:
        """The results without their values; dtypes, ranks and sizes of the arguments are checked."""
        values = dict(zip(self.inputs, args))
        tensors = {name: value for name, value in values.items() if self.params[name].is_array}
        if not tensors:
            raise TilegenError("TG0005", f"{self.kernel.__name__} takes no tensor, so that its place is not known")
        sizes = Sizes(self.contract, {name: v for name, v in values.items() if name not in tensors}, {})
        views = {name: _view(self.params[name], tensor) for name, tensor in tensors.items()}
        for name, view in views.items():
            sizes.learn(self.params[name], view)
        for name, view in views.items():
            sizes.check(self.params[name], view)
        example = next(iter(tensors.values()))
        made = tuple([example.new_empty([sizes.value(e) for e in self.params[name].shape],
                                        dtype=dtype_of(self.torch, self.params[name])) for name in self.outputs])
        return made[0] if len(made) == 1 else made or None


def _view(param: Param, tensor: Any) -> ArrayView:
    """A tensor without memory, as a kernel gets it. Raises TG0402, TG0403 for its dtype and rank."""
    dtype = lookup(tensor.dtype)
    if dtype is None or dtype.name != param.dtype.in_memory:
        raise TilegenError("TG0402", f"argument {param.name} is {tensor.dtype}, expected {param.dtype}")
    if tensor.dim() != len(param.shape):
        raise TilegenError("TG0403", f"argument {param.name} has {tensor.dim()} dimensions, expected "
                           f"{len(param.shape)}")
    strides = tuple(tensor.stride()) if param.strides else None     # others are copied where they have gaps
    return ArrayView(tensor, "torch", dtype, tuple(tensor.shape), strides, 0, HOST)


class _Gradient:
    """The backward of one operator: which tensors it needs, and which gradients it gives."""

    def __init__(self, torch: Any, forward: _Defined, backward: Kernel | Callable,
                 returned: tuple[str, ...]) -> None:
        self.hidden = [name for name in forward.outputs if name not in returned]
        self.torch, self.forward, self.function = torch, forward, backward
        self.kernel = None
        if isinstance(backward, Kernel):
            self.kernel = _Defined(torch, backward, f"{forward.op._name}_backward")
            names = self.kernel.inputs
        else:
            names = tuple(inspect.signature(backward).parameters)
        self.of_output = {g: name for name in forward.outputs for g in gradient_names(name)}
        self.of_input = {g: name for name in forward.inputs if forward.params[name].is_array
                         for g in gradient_names(name)}
        known = {*forward.inputs, *forward.outputs}
        self.names = names
        self.saved = tuple([name for name in names if name in known and forward.params[name].is_array])
        for name in names:
            if not (name in known or name in self.of_output or self._is_added_to(name)):
                raise self._wrong(f"takes {name}, which is neither an argument of it nor the gradient of an output",
                                  f"it may take {', '.join([*forward.params, *self.of_output])}")
        for name in self.kernel.outputs if self.kernel else ():
            if name not in self.of_input:
                raise self._wrong(f"writes {name}, which is the gradient of none of its inputs",
                                  f"outputs may be {', '.join(self.of_input)}")

    def _is_added_to(self, name: str) -> bool:
        return self.kernel is not None and name in self.of_input and self.kernel.params[name].writes

    def _wrong(self, what: str, hint: str) -> TilegenError:
        return TilegenError("TG0005", f"the backward of {self.forward.kernel.__name__} {what}", hint=hint)

    def register(self) -> None:
        self.forward.op.register_autograd(self.backward, setup_context=self.keep)

    def keep(self, ctx: Any, inputs: tuple, output: Any) -> None:
        """Saves what backward needs."""
        results = output if isinstance(output, tuple) else (output,)
        values = {**dict(zip(self.forward.inputs, inputs)), **dict(zip(self.forward.outputs, results))}
        tensors = [name for name in values if self.forward.params[name].is_array]
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[values[name] for name in self.hidden])
        ctx.save_for_backward(*[values[name] for name in self.saved])
        ctx.scalars = {name: value for name, value in values.items() if name not in tensors}
        ctx.shapes = {name: (values[name].shape, values[name].dtype, values[name].device) for name in tensors}

    def backward(self, ctx: Any, *grads: Any) -> tuple:
        """The gradients of all arguments, None for scalars."""
        values = {**ctx.scalars, **dict(zip(self.saved, ctx.saved_tensors))}
        given = dict(zip(self.forward.outputs, grads))
        for name, value in given.items():
            if value is not None and not any(g in self.names for g in gradient_names(name)):
                raise self._wrong(f"does not take the gradient of {name}",
                                  f"give it a parameter d{name}, or leave {name} out of returns=")
        for name, output in self.of_output.items():
            if name in self.names:
                shape, dtype, device = ctx.shapes[output]
                values[name] = given[output] if given[output] is not None else self.torch.zeros(shape, dtype=dtype,
                                                                                               device=device)
        found = self._of_kernel(ctx, values) if self.kernel else self._of_function(values)
        return tuple([self._one(ctx, place, name, found) for place, name in enumerate(self.forward.inputs)])

    def _of_kernel(self, ctx: Any, values: dict[str, Any]) -> dict[str, Any]:
        for name in filter(self._is_added_to, self.names):
            shape, _, device = ctx.shapes[self.of_input[name]]
            values[name] = self.torch.zeros(shape, dtype=dtype_of(self.torch, self.kernel.params[name]), device=device)
        results = self.kernel.op(*[values[name] for name in self.names])
        results = results if isinstance(results, tuple) else (results,)
        added = {name: values[name] for name in self.names if self._is_added_to(name)}
        return {self.of_input[name]: value
                for name, value in {**dict(zip(self.kernel.outputs, results)), **added}.items()}

    def _of_function(self, values: dict[str, Any]) -> dict[str, Any]:
        found = self.function(**{name: values[name] for name in self.names})
        if isinstance(found, dict):
            return found
        tensors = [name for name in self.forward.inputs if self.forward.params[name].is_array]
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(tensors):
            raise self._wrong(f"gives {len(found)} gradients", f"one for each of {', '.join(tensors)}, or a dictionary")
        return dict(zip(tensors, found))

    def _one(self, ctx: Any, place: int, name: str, found: dict[str, Any]) -> Any:
        """The gradient of one argument, in its dtype."""
        gradient = found.get(name)
        if not ctx.needs_input_grad[place]:
            return None
        if gradient is None:
            raise self._wrong(f"gives no gradient of {name}, which requires one",
                              f"pass {name}.detach(), or compute d{name}")
        return gradient.to(ctx.shapes[name][1])


def gradient_names(name: str) -> tuple[str, ...]:
    """The names of the gradient of `name`."""
    return f"d{name}", f"d_{name}", f"grad_{name}"


def dtype_of(torch: Any, param: Param) -> Any:
    """torch's dtype for the elements of an array."""
    return getattr(torch, {"float8_e4m3": "float8_e4m3fn"}.get(param.dtype.name, param.dtype.in_memory))


def require_torch() -> Any:
    """The torch module. Raises TG0304 where it is not installed, or too old for operators."""
    try:
        import torch
    except ImportError as error:
        raise TilegenError("TG0304", f"tilegen.interop.torch needs torch: {error}",
                           hint="pip install 'tilegen[torch]'") from None
    if not hasattr(torch.library, "custom_op"):
        raise TilegenError("TG0304", f"torch {torch.__version__} has no torch.library.custom_op",
                           hint="install torch 2.4 or newer")
    return torch
