"""The self-test's program as its templates spell it: arguments, launch, check, and the line it prints."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tilegen import arith, ir
from tilegen.emit import reference, tolerance, work
from tilegen.emit.default_sizes import default_sizes
from tilegen.emit.host_expressions import HostPrinter, element_type
from tilegen.emit.host_names import is_free
from tilegen.emit.launches import Spoken
from tilegen.emit.host_tensors import FIELDS, HostTensor, small_float
from tilegen.emit.text import COLUMNS
from tilegen.launches import launches_of
from tilegen.passes.ranges import collect
from tilegen.plan import maps_of
from tilegen.strided import StridedBuffer
from tilegen.targets.base import Target

# What CUDA calls them in a tensor map, where that is not their name.
_MAP_TYPES = {"float8_e4m3": "UINT8", "float8_e5m2": "UINT8", "int8": "UINT8", "int16": "UINT16"}
SCALARS = {"float": "1.5", "int": "3", "uint": "3", "bool": "true"}


@dataclass(frozen=True)
class HostLaunch:
    """A launch in the program: its function, its grid, and the dynamic shared memory of a block ('' for none)."""

    entry: str
    grid_name: str
    grid: str
    threads: str
    shared: str
    kernel: ir.Kernel

    @property
    def configuration(self) -> str:
        return ", ".join([self.grid_name, self.threads, *([self.shared] if self.shared else [])])


@dataclass(frozen=True)
class HostProgram:
    """What the templates spell. `kernel` has names that do not collide with those of the program;
    `entry` is the kernel as the file has it."""

    kernel: ir.Kernel
    entry: ir.Kernel
    target: Target
    spoken: tuple[Spoken, ...]

    @cached_property
    def e(self) -> HostPrinter:
        return HostPrinter(collect(self.kernel).ranges)

    # ---- Parts of the file -----------------------------------------------------------------------
    @cached_property
    def obstacle(self) -> str:
        return next(filter(None, map(reference.obstacle, launches_of(self.kernel))), "")

    @cached_property
    def reference(self) -> str:
        if self.obstacle:
            return ""
        launches = zip(self.reference_names, launches_of(self.kernel))
        return "\n\n".join(reference.render(launch, self.e, name) for name, launch in launches)

    @property
    def reference_names(self) -> list[str]:
        """The functions of the plain loops, one for each launch."""
        return [f"reference{tail}" for tail in self.tails]

    @property
    def tails(self) -> list[str]:
        """What tells the names of several launches apart."""
        return [f"_{number}" for number, _ in enumerate(self.spoken, 1)] if self.kernel.launches else [""]

    @property
    def small_floats(self) -> list[dict]:
        """The numbers of each small float that the program needs, in order of name."""
        used = {t.dtype.name for t in self.tensors if t.dtype.is_small_float}
        used |= {name for name in FIELDS if re.search(rf"\bhost_{name}\b", self.reference)}
        used |= {s.var.dtype.name for s in self.kernel.params if s.buffer is None and s.var.dtype.is_small_float}
        return [small_float(name) for name in sorted(used)]

    @property
    def integer_helpers(self) -> list[str]:
        names = ("floored_quotient", "floored_remainder", "count_leading_zeros", "bits_on_host", "philox_on_host")
        return [n for n in names if re.search(rf"\b{n}\b", self.reference)]

    def uses(self, word: str) -> bool:
        """Whether a random element is made by this function."""
        return any(t.random and f"{word}(" in t.random for t in self.tensors)

    # ---- Arguments -------------------------------------------------------------------------------
    @cached_property
    def tensors(self) -> list[HostTensor]:
        return [HostTensor(p.name, p.buffer.dtype, ", ".join(self.e(x) for x in p.buffer.shape),
                           "workspace" if p.workspace else p.access, self.target.type(p.buffer.dtype),
                           ", ".join(self.e(x) for x in getattr(p.buffer, "strides", ())))
                for p in self.kernel.params if p.buffer is not None]

    @property
    def strided(self) -> bool:
        """Whether a tensor has strides of its own."""
        return any(t.strides for t in self.tensors)

    @cached_property
    def derived(self) -> dict[str, str]:
        """{name: value} of the sizes that are strides alone: as they are where rows follow rows."""
        buffers = [p.buffer for p in self.kernel.params if isinstance(p.buffer, StridedBuffer)]
        shapes = {n.name for p in self.kernel.params if p.buffer is not None for n in ir.walk(p.buffer.shape)
                  if isinstance(n, ir.Var)}
        named = [(b, d, stride) for b in buffers for d, stride in enumerate(b.strides) if isinstance(stride, ir.Var)]
        return {stride.name: self.e(arith.product(b.shape[d + 1:])) for b, d, stride in named
                if stride.kind == "size" and stride.name not in shapes}

    @property
    def outputs(self) -> list[HostTensor]:
        return [t for t in self.tensors if t.is_output]

    @cached_property
    def workspaces(self) -> set[str]:
        return {p.name for p in self.kernel.params if p.workspace}

    @property
    def scalars(self) -> list[tuple[str, str, str]]:
        """(type, name, value)"""
        found = [p.var for p in self.kernel.params if p.buffer is None]
        return [("bool" if v.dtype.kind == "bool" else element_type(v.dtype), v.name, SCALARS[v.dtype.kind])
                for v in found]

    @cached_property
    def sizes(self) -> list[tuple[str, int]]:
        """(name, default)"""
        numbers = default_sizes(self.kernel)
        return [(v.name, numbers[v.name]) for v in self.kernel.sizes if v.name not in self.derived]

    def arguments(self, launch: ir.Kernel, tensor: Callable[[HostTensor], str]) -> str:
        """The arguments of a launch; `tensor` gives the text for a tensor."""
        by_name = {t.name: t for t in self.tensors}
        texts = [tensor(by_name[p.name]) if p.buffer is not None else _scalar(p, self.target) for p in launch.params]
        return ", ".join(texts + [size.name for size in launch.sizes])

    @cached_property
    def launches(self) -> list[HostLaunch]:
        """Each launch as the program spells it."""
        return [HostLaunch(spoken.kernel.name if is_free(spoken.kernel.name) else f"::{spoken.kernel.name}",
                           f"grid{tail}", ", ".join(map(self.e, _grid(spoken.kernel, launch.grid))), spoken.threads,
                           "" if spoken.shared == "0" else spoken.shared, launch)
                for spoken, launch, tail in zip(self.spoken, launches_of(self.kernel), self.tails)]

    @property
    def device_call(self) -> str:
        """matmul<<<grid, THREADS, SMEM_BYTES>>>(A_device, ..., M, N, K); for each launch"""
        mapped = {name for name, _ in self.maps}
        def passed(t: HostTensor) -> str:
            return f"{t.name}_map" if t.name in mapped else f"{t.name}_device"
        return "\n".join(_call(f"{one.entry}<<<{one.configuration}>>>", self.arguments(one.kernel, passed))
                         for one in self.launches)

    @cached_property
    def maps(self) -> list[tuple[str, str]]:
        """(tensor, the call that makes its map for the copy engine)"""
        planned = maps_of(s.kernel for s in self.spoken)
        found = []
        for p in (p for p in self.kernel.params if p.name in planned):
            shape, box = (", ".join(map(self.e, extents)) for extents in (p.buffer.shape, planned[p.name].box))
            kind = f"CU_TENSOR_MAP_DATA_TYPE_{_MAP_TYPES.get(p.buffer.dtype.name, p.buffer.dtype.name.upper())}"
            found.append((p.name, f"tensor_map({p.name}_device, {kind}, {{{shape}}}, {{{box}}})"))
        return found

    @property
    def host_call(self) -> str:
        def cast(t: HostTensor) -> str:
            data = f"{t.name}.data.data()"
            return data if t.type == t.kernel_type else f"reinterpret_cast<{t.kernel_type}*>({data})"
        return "\n".join(_call(one.entry, self.arguments(one.kernel, cast)) for one in self.launches)

    @property
    def reference_calls(self) -> list[str]:
        outputs = {t.name for t in self.outputs}
        calls = []
        for name, launch in zip(self.reference_names, launches_of(self.kernel)):
            names = [f"{p.name}_want" if p.name in outputs else p.name for p in launch.params]
            calls.append(f"{name}({', '.join(names + [size.name for size in launch.sizes])});")
        return calls

    @property
    def requirements(self) -> list[tuple[str, str]]:
        """(condition that fails, message) for the sizes"""
        small = " || ".join(f"{name} < 1" for name, _ in self.sizes)
        usage = " ".join([f"usage: {self.entry.name}", *(f"[{name}]" for name, _ in self.sizes)])
        found = [(small, usage)] if small else []
        planned = [c for s in self.spoken for c in s.kernel.requires if c not in self.kernel.requires]
        for condition in (*self.kernel.requires, *planned):
            negated = self.e(ir.UnOp("not", condition, condition.dtype))
            found.append((negated, f"{self.entry.name} needs {self.e(condition)}"))
        return found

    # ---- Launch, work, tolerance -----------------------------------------------------------------
    @property
    def opts_in(self) -> bool:
        """Whether a launch with much dynamic shared memory has to be announced: on CUDA above 48 KB, on
        others above 64 KB."""
        return self.target.name == "cuda" or self.target.max_shared > 65536

    @property
    def flops(self) -> str:
        """The floating-point operations as C++; '' where they are not known before the launch, or none."""
        return self._sum(work.flops(self.kernel))

    @property
    def traffic(self) -> str:
        return self._sum(work.traffic(self.kernel))

    def _sum(self, terms: list[list[ir.Expr]]) -> str:
        fixed = {v.name for v in self.kernel.sizes} | {k.name for k in self.kernel.knobs}
        if any(not arith.names(f) <= fixed for term in terms for f in term):
            return ""
        totals: dict[tuple[str, ...], float] = {}
        for first, *rest in terms:
            factors = tuple(sorted(self.e(f, "*") for f in rest))
            totals[factors] = totals.get(factors, 0.0) + first.value
        return " + ".join(" * ".join([str(total), *factors]) for factors, total in totals.items())

    @property
    def tolerance(self) -> str:
        """`1e-5 + 2e-3 + 1e-6 * std::sqrt(double(K))`"""
        texts = []
        for p in tolerance.parts(self.kernel):
            unit = _number(p.unit * p.count)
            texts.append(unit if p.length is None else f"{unit} * std::sqrt({_double(p.length, self.e)})")
        return " + ".join(texts)

    @property
    def tolerance_rule(self) -> str:
        """The same in words."""
        def words(p: tolerance.Part) -> str:
            if p.length is not None:
                return f"{_number(p.unit)} * sqrt(n) for a {p.dtype} sum of n terms"
            return f"{_number(p.unit)} for {'a rounding to ' if p.dtype.is_small_float else ''}{p.dtype}"
        return ", ".join(map(words, tolerance.parts(self.kernel)))

    @property
    def worst(self) -> str:
        """The largest error of all outputs."""
        errors = [f"worst_error({t.name}, {t.name}_want)" for t in self.outputs]
        return f"std::max({{{', '.join(errors)}}})" if len(errors) > 1 else errors[0] if errors else "0"

    @property
    def verdict(self) -> str:
        """Whether all outputs are right: floats within the tolerance, all else the same."""
        exact = [f"{t.name}.data == {t.name}_want.data" for t in self.outputs if not t.dtype.is_float]
        return " && ".join((["worst <= tolerance"] if self.float_outputs else []) + exact) or "true"

    # ---- The line that it prints -----------------------------------------------------------------
    @property
    def _unit(self) -> str:
        return "T" if self.target.family == "gpu" else "G"

    @property
    def title_format(self) -> str:
        """matmul %d x %d x %d"""
        return f"{self.entry.name} {' x '.join('%d' for _ in self.sizes)}".strip()

    @property
    def title_values(self) -> str:
        return "".join(f", {name}" for name, _ in self.sizes)

    @property
    def line_format(self) -> str:
        """`%.1f us, %.4g TFLOP/s, %.4g TB/s, worst error %.1e, %s`"""
        parts = ["%.1f us"]
        parts += [f"%.4g {self._unit}FLOP/s"] if self.flops else []
        parts += [f"%.4g {self._unit}B/s"] if self.traffic else []
        return ", ".join(parts + (["not checked"] if self.obstacle else ["worst error %.1e, %s"]))

    @property
    def line_values(self) -> list[str]:
        factor = "1e-6" if self._unit == "T" else "1e-3"
        known = {"flops": self.flops, "bytes": self.traffic}
        rates = [f"{factor} * {name} / us" for name, text in known.items() if text]
        return ["us", *rates, *([] if self.obstacle else ["worst", 'ok ? "ok" : "WRONG"'])]

    @property
    def float_outputs(self) -> list[HostTensor]:
        return [t for t in self.outputs if t.dtype.is_float]


def _grid(planned: ir.Kernel, grid: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """What is launched for a grid; of a kernel without a plan, all of it."""
    return planned.plan.walk.grid(grid) if planned.plan is not None and planned.plan.walk else grid


def _call(function: str, arguments: str) -> str:
    """A call on one line, or with its arguments on the next."""
    text = f"{function}({arguments});"
    return text if len(text) <= COLUMNS - 8 else f"{function}(\n    {arguments});"


def _number(value: float) -> str:
    """2e-3"""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}" if value < 0.1 else f"{value:g}"


def _double(length: ir.Expr, e: HostPrinter) -> str:
    factors = [length]
    while isinstance(factors[0], ir.BinOp) and factors[0].op == "*":
        factors[:1] = [factors[0].a, factors[0].b]
    return " * ".join([f"double({e(factors[0])})", *(e(f, "*") for f in factors[1:])])


def _scalar(p: ir.Param, target: Target) -> str:
    """A scalar argument; the bits of a small float, whose device type cannot be made on the host."""
    kind = target.type(p.var.dtype)
    return f"reinterpret_cast<const {kind}&>({p.name})" if p.var.dtype.is_small_float else p.name
