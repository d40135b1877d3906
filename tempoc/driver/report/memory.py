"""What `explain --memory` shows: the peak as a formula, and what is there then."""

from collections.abc import Callable, Mapping, Sequence

from tempoc.driver.search.budget import BudgetFit
from tempoc.footprint.formulas import BoundFacts
from tempoc.footprint.moments import AHEAD, COPY, HERE, ZEROS
from tempoc.footprint.peak import BEFORE, Peak, PeakRow, grown, part_size, peak
from tempoc.memory.proof import Proof
from tempoc.memory.text import kind, slots_text
from tempoc.memory.verify import SMALL
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.runtime.forecast.dry_run import Forecast, forecast
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.runtime.messages.units import size_text
from tempoc.runtime.report.table import table
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


Readable = Callable[[ix.Expr], str | None]
"""A formula in units of bytes; `None` where it is as readable as it is."""


def memory_text(
    program: prog.Program, bounds: Mapping[str, int] | None, readable: Readable | None = None
) -> str:
    """The peak, then what is there at that moment; with ``bounds`` the bytes for these.

    ``readable`` gives the peak in units, on a line of its own.
    """
    given = default_filled_stores(program)
    found, facts = peak(program, given), BoundFacts(program)
    stores = {s.name: s for s in program.stores}
    held = None if bounds is None else forecast(program, bounds, given)
    lines = [f"peak  {show(found.formula)} bytes"] if len(found.others) < 2 else _cases(found)
    units = readable(found.formula) if readable is not None else None
    lines += [f"    = {units}"] if units is not None else []
    if held is not None and bounds is not None:
        values = ", ".join(f"{n} = {bounds[n]}" for n in facts.free)
        lines.append(f"{f'for {values}' if values else 'that is'}: {exactly(held.peak)}")
    rows = []
    left = {} if held is None else dict(held.stores)
    for row in found.rows:
        cells = _row(program, stores[row.part[0]], row, facts)
        if found.others:
            cells.append(" ".join(_LETTERS[k] for k in row.moments[:26]))
        if held is not None:
            # What the runner holds for a store beside its cells is counted with them.
            cells.append(str(left.pop(row.part[0], 0)))
        rows.append(cells)
    head = ["store", "kind", "type", "slots", "bytes"]
    head += ["when"] if found.others else []
    head += ["now"] if held is not None else []
    notes = [*_away(program, facts, held), *_notes(found, stores, facts)]
    return "\n".join([*lines, "", table(head, rows), *notes]).rstrip() + "\n"


def _away(program: prog.Program, facts: BoundFacts, held: Forecast | None) -> list[str]:
    """The stores that live with the host, and the most that they take there."""
    head = ["with the host", "type", "slots", "bytes"] + ["now"] * (held is not None)
    rows = []
    for store in (s for s in program.stores if s.away):
        size = show(part_size(store, (store.name, ""), facts))
        cells = [store.name, _type(store, facts), _slots(program, store, facts), size]
        rows.append(cells + ([] if held is None else [str(held.away_stores.get(store.name, 0))]))
    return [table(head, rows)] if rows else []


def fit_text(fitting: BudgetFit) -> str:
    """What was tried to keep to a budget, the last of which does."""
    first = fitting.variants[0]
    head = ["variant", "bytes", "calls of kernels", "more operations", "with the host", "copied"]
    rows = [
        [v.about(), str(v.peak), str(v.calls), v.more(first), str(v.away), str(v.copied)]
        for v in fitting.variants
    ]
    if not any(v.away for v in fitting.variants):
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


def _cases(largest: Peak) -> list[str]:
    """The peak where no moment is the largest for all bounds."""
    names = ", ".join(_LETTERS[k] if k < 26 else str(k) for k in range(len(largest.others)))
    lines = [f"peak  {show(largest.always)} + max({names}) bytes"]
    return lines + [f"  {_LETTERS[k]} = {show(e)}" for k, e in enumerate(largest.others[:26])]


def _row(program: prog.Program, store: Buffer, row: PeakRow, facts: BoundFacts) -> list[str]:
    shown, slots = _kind(program, store, row.part[1]), _slots(program, store, facts)
    return [store.name, shown, _type(store, facts), slots, show(row.size)]


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
    extents = {dim: ix.Sym(bound) for dim, bound in program.dims}
    return slots_text(store, extents, lambda e: show(facts.size(e)))


def _notes(largest: Peak, stores: Mapping[str, Buffer], facts: BoundFacts) -> Sequence[str]:
    """What names mean that the program does not have."""
    copies = [stores[r.part[0]] for r in largest.rows if r.part[1] == COPY]
    names = dict.fromkeys(name for s in copies for name in grown(s, facts))
    return [
        f"{show(ix.Sym(name + BEFORE))}: how many slots there were before the last growth to {name}"
        "; 0 if there is only one size"
        for name in names
    ]
