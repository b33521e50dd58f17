"""The decisions of the passes as text: what was decided, for which Python line, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen import ir
from tilegen.errors import Loc
from tilegen.plan import KernelPlan


@dataclass(frozen=True)
class Decision:
    """One decision: what it is about, its reason in words, and the Python line where it has one."""

    subject: str
    reason: str
    place: str = ""
    text: str = ""


def decisions(kernel: ir.Kernel) -> list[Decision]:
    """All decisions of a planned kernel: those for the whole of each launch, then statement by statement."""
    if kernel.launches:
        return [replace(d, subject=d.subject if d.place else f"{launch.name} {d.subject}")
                for launch in kernel.launches for d in decisions(launch)]
    plan = kernel.plan if isinstance(kernel.plan, KernelPlan) else KernelPlan()
    found = [Decision(subject, reason) for subject, reason in plan.notes]
    shared = [Decision(f"shared {place.buffer.name}", f"{place.bytes} bytes: {place.reason}") for place in plan.shared
              if place.reason]
    statements = [_of_statement(node) for node in ir.walk(kernel.body) if isinstance(node, ir.Stmt) and _reason(node)]
    return list(dict.fromkeys([*found, *shared, *statements]))


def _reason(statement: ir.Stmt) -> str:
    if isinstance(statement, ir.Sync):
        return statement.reason
    return getattr(getattr(statement, "plan", None), "reason", "")


def _of_statement(statement: ir.Stmt) -> Decision:
    loc = statement.loc
    place, text = (loc.short, loc.text().strip()) if isinstance(loc, Loc) else ("", "")
    kind = "barrier" if isinstance(statement, ir.Sync) else type(statement).__name__.lower()
    return Decision(kind, _reason(statement), place, text)


def text(kernel: ir.Kernel, headline: str) -> str:
    """`decisions` for a reader: one paragraph for the kernel, then one for each Python line, in their order."""
    lines = [headline, ""]
    found = decisions(kernel)
    whole = [d for d in found if not d.place]
    width = max((len(d.subject) for d in whole), default=0)
    lines += [f"  {d.subject:{width}}  {d.reason}" for d in whole]
    before = None
    for decision in sorted((d for d in found if d.place), key=_line):
        if decision.place != before:
            lines += ["", f"{decision.place}  {decision.text}"]
            before = decision.place
        lines.append(f"    {decision.subject}: {decision.reason}")
    return "\n".join(lines) + "\n"


def _line(decision: Decision) -> tuple[str, int]:
    file, _, line = decision.place.rpartition(":")
    return file, int(line)
