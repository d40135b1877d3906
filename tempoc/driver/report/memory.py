"""What `explain --memory` shows: the peak as a formula, and what is there then."""

from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from tempoc.driver.search.budget import BudgetFit
from tempoc.footprint.formulas import SLOTS, BoundFacts
from tempoc.footprint.key_counts import key_counts
from tempoc.footprint.moments import AHEAD, COPY, HERE, ZEROS
from tempoc.footprint.peak import BEFORE, Peak, PeakRow, grown, part_size, peak, rounded
from tempoc.memory.proof import Proof
from tempoc.memory.text import kind, slots_text
from tempoc.memory.verify import SMALL
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.runtime.device.capacity import Capacities, groups
from tempoc.runtime.forecast.dry_run import Forecast, forecast
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.runtime.messages.units import size_text
from tempoc.runtime.report.table import table
from tempoc.symbolic import expr as ix
from tempoc.symbolic.amounts import bytes_text
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, symbols

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_COMPARED = 4
"""Of more cases than these it is not said when which one is the largest."""


def memory_text(program: prog.Program, bounds: Mapping[str, int] | None) -> str:
    """The peak, then what is there at that moment; with ``bounds`` the bytes for these."""
    given = default_filled_stores(program)
    largest, facts = peak(program, given), BoundFacts(program)
    stores = {s.name: s for s in program.stores}
    held = None if bounds is None else forecast(program, bounds, given)
    lines = [*_peak_lines(largest, facts)]
    if held is not None and bounds is not None:
        values = ", ".join(f"{n} = {bounds[n]}" for n in facts.free)
        at = _case_at(largest, {**bounds, **_slots_of(program, bounds)}) if largest.others else ""
        lines.append(f"{f'for {values}' if values else 'that is'}: {exactly(held.peak)}{at}")
    rows = []
    left = {} if held is None else dict(held.stores)
    for row in largest.rows:
        cells = _row(program, stores[row.part[0]], row, facts)
        if largest.others:
            cells.append(" ".join(_LETTERS[k] for k in row.moments[:26]))
        if held is not None:
            # What the runner holds for a store beside its cells is counted with them.
            cells.append(str(left.pop(row.part[0], 0)))
        rows.append(cells)
    head = ["store", "kind", "type", "slots", "size"]
    head += ["when"] if largest.others else []
    head += ["bytes now"] if held is not None else []
    notes = [*_away(program, facts, held), *_notes(largest, stores, facts)]
    return "\n".join([*lines, "", table(head, rows), *notes]).rstrip() + "\n"


def _slots_of(program: prog.Program, bounds: Mapping[str, int]) -> dict[str, int]:
    """The names in a peak that no bound has, with their values."""
    facts, values = BoundFacts(program), {}
    for (_, size), sizes in zip(groups(program), Capacities.of(program, bounds).sizes, strict=True):
        if isinstance(name := facts.size(size), ix.Sym):
            values[name.name + SLOTS] = sizes[-1]
            values[name.name + BEFORE] = sizes[-2] if len(sizes) > 1 else 0
    return values


def _away(program: prog.Program, facts: BoundFacts, held: Forecast | None) -> list[str]:
    """The stores that live with the host, and the most that they take there."""
    head = ["with the host", "type", "slots", "size"] + ["bytes now"] * (held is not None)
    rows = []
    for store in (s for s in program.stores if s.away):
        size = bytes_text(part_size(store, (store.name, ""), facts))
        cells = [store.name, _type(store, facts), _slots(program, store, facts), size]
        rows.append(cells + ([] if held is None else [str(held.away_stores.get(store.name, 0))]))
    return [table(head, rows)] if rows else []


def fit_text(fitting: BudgetFit) -> str:
    """What was tried to keep to a budget, the last of which does."""
    first = fitting.variants[0]
    head = ["variant", "peak", "calls of kernels", "more operations", "with the host", "copied"]
    rows = [
        [v.about(), *(size_text(v.peak), str(v.calls), v.more(first)),
         *(size_text(v.away), size_text(v.copied.nbytes))]
        for v in fitting.variants
    ]  # fmt: skip
    if not any(v.copied.nbytes for v in fitting.variants):
        head, rows = head[:4], [row[:4] for row in rows]
    title = f"budget  {exactly(fitting.budget)}: {fitting.chosen.about()}\n\n"
    return title + table(head, rows)


def proof_text(proof: Proof) -> str:
    """What was proved of a memory plan, or what was not and why; that was replayed."""
    if proof.is_whole:
        what = "no value is overwritten, freed or given away before its last read"
        return f"proved  for all bounds: {what}\n"
    sizes = ", ".join(map(str, SMALL))
    lines = [f"not proved for all bounds, but replayed at small ones ({sizes}, beyond windows):"]
    lines += [f"  {tensor}: {reason}" for tensor, reason in proof.unproved.items()]
    return "\n".join(lines) + "\n"


def exactly(size: int) -> str:
    """``1536 bytes (1.50 KiB)``."""
    return f"{size} bytes" + (f" ({size_text(size)})" if size >= 1024 else "")


def _peak_lines(largest: Peak, facts: BoundFacts) -> Iterator[str]:
    """The peak; where no moment is the largest for all bounds, also when which one is."""
    cases = largest.others
    if len(cases) < 2:
        yield f"peak  {bytes_text(largest.formula)}"
        return
    names = ", ".join(_case_name(k) for k in range(len(cases)))
    always = "" if largest.always == ix.ZERO else f"{bytes_text(largest.always)} + "
    yield f"peak  {always}max({names})"
    rows = [
        (f"{_case_name(k)} = {bytes_text(e)}", _when_largest(cases, k, facts))
        for k, e in enumerate(cases[: len(_LETTERS)])
    ]
    width = max(len(text) for text, _ in rows)
    for text, condition in rows:
        yield f"  {text:<{width}}  if {condition}" if condition else f"  {text}"


def _case_name(k: int) -> str:
    return _LETTERS[k] if k < len(_LETTERS) else str(k)


def _when_largest(cases: Sequence[ix.Expr], k: int, facts: BoundFacts) -> str:
    """The bounds for which a case is the largest, the first of equal ones; none for many cases."""
    if len(cases) > _COMPARED:
        return ""
    conditions = []
    for j, other in enumerate(cases):
        difference = ix.sub(cases[k], other)
        if j != k and not facts.at_least(difference, 1 if j < k else 0):
            conditions.append(_sign_condition(difference, ">" if j < k else ">="))
    return show(ix.conjunction(*conditions))


def _sign_condition(e: ix.Expr, op: ix.CompareOp) -> ix.Expr:
    """``3*T > 8*B+2`` for ``96*T - 256*B - 64 > 0``: without common factors or minus signs."""
    terms, const = (e.terms, e.const) if isinstance(e, ix.IndexSum) else (((1, e),), 0)
    factor = gcd(const, *(k for k, _ in terms))
    left = ix.linear([(k // factor, x) for k, x in terms if k > 0], max(0, const) // factor)
    right = ix.linear([(-k // factor, x) for k, x in terms if k < 0], max(0, -const) // factor)
    return ix.Relation(op, left, right)


def _case_at(largest: Peak, values: Mapping[str, int]) -> str:
    """Which case is the largest for some bounds."""
    if any(not {*symbols(e)} <= {*values} for e in largest.others):
        return ""
    sizes = [evaluate(e, values) for e in largest.others]
    return f", where {_case_name(sizes.index(max(sizes)))} is the largest"


def _row(program: prog.Program, store: Buffer, row: PeakRow, facts: BoundFacts) -> list[str]:
    shown, slots = _kind(program, store, row.part[1]), _slots(program, store, facts)
    return [store.name, shown, _type(store, facts), slots, bytes_text(row.size)]


def _type(store: Buffer, facts: BoundFacts) -> str:
    sizes = [show(facts.size(e)) for e in store.shape]
    return store.dtype + (f"[{', '.join(sizes)}]" if sizes else "")


def _kind(program: prog.Program, store: Buffer, part: str) -> str:
    if part.startswith(HERE):
        key = part.removeprefix(HERE).strip()
        early = key.removeprefix(AHEAD).strip() if key.split(" ")[0] == AHEAD else ""
        return f"loaded ahead at {early}" if early else f"loaded at {key}" if key else "loaded"
    if part:
        return {ZEROS: "zeros in its place", COPY: "old, while it grows"}[part]
    if store.name == program.seed:
        return "seed"
    given = {p.store: "param" for p in program.params} | {i.store: "input" for i in program.inputs}
    shown = given.get(store.name) or kind(store)
    return f"{shown}, output" if store.name in {o.store for o in program.outputs} else shown


def _slots(program: prog.Program, store: Buffer, facts: BoundFacts) -> str:
    extents: dict[str, ix.Expr] = {dim: ix.Sym(bound) for dim, bound in program.dims}
    extents |= {dim: ix.Const(n) for dim, n in key_counts(store, facts).items()}
    return slots_text(store, extents, lambda e: show(facts.size(e)))


def _notes(largest: Peak, stores: Mapping[str, Buffer], facts: BoundFacts) -> Sequence[str]:
    """What names mean that the program does not have."""
    copies = [stores[r.part[0]] for r in largest.rows if r.part[1] == COPY]
    names = dict.fromkeys(n.removesuffix(SLOTS) for s in copies for n in grown(s, facts))
    shown = (name for r in largest.rows if (name := rounded(stores[r.part[0]], facts)))
    return [
        *(
            f"{show(ix.Sym(name + SLOTS))}: {name} rounded up, so that runs of other {name} share "
            "kernels; at most an eighth of all bytes is for that, or 1 MiB"
            for name in dict.fromkeys(shown)
        ),
        *(
            f"{show(ix.Sym(name + BEFORE))}: how many slots there were before the last growth to "
            f"{name}; 0 if there is only one size"
            for name in names
        ),
    ]
