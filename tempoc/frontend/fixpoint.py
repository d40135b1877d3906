"""Rounds of evaluation, until the types of all indexed tensors are known.

The types are found from below. A round evaluates all equations with what the round before found;
where that is little, the results are lower bounds (`environment/lower_bounds.py`) and mistakes are
deferred. If a round finds nothing new although something is unknown or was deferred, then

0. operators with some unknown operands say what the others tell (`partial`);
1. products with operands of unknown rank are taken for products with a vector (`guessing`), as
   `W @ h` with nothing but `h[0] = 0.0` is;
2. the lower bounds are taken for the types themselves (`assumed`), those of tensors first of which
   more than a number is known;
3. tensors that only read each other (`c[t] = sum(c[0:t])`) are taken for the least type, a weak
   scalar integer, and promotion and broadcasting lift it from there,

and the rounds go on. The last round has evaluated all equations with the final types, and deferred
nothing: whatever was assumed has been checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.diagnostics import Diagnostic
from tempoc.frontend.declarations.effects import effects
from tempoc.frontend.declarations.module_scopes import SourceProgram
from tempoc.frontend.declarations.outputs import OutputRead, outputs
from tempoc.frontend.declarations.run_lengths import endings, extended
from tempoc.frontend.environment.draft_node import Doubt, DraftOrigin
from tempoc.frontend.environment.failure import StillUnknown
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, TargetPlan, TensorKey
from tempoc.frontend.environment.lower_bounds import doubt_of, is_open
from tempoc.frontend.environment.round import Frame, InferredTensor, Round
from tempoc.frontend.environment.scope import Scope, TensorName
from tempoc.frontend.environment.values import (
    ERROR,
    ConstantNumber,
    Index,
    Typed,
    Unknown,
    Value,
    leaves,
    map_leaves,
)
from tempoc.frontend.equations import equations
from tempoc.frontend.equations.merge_branches import cause, finish
from tempoc.frontend.equations.targets import make_plan
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.syntax import ast
from tempoc.ops.definition.types import DType, TensorType
from tempoc.poly.relations.space import Space
from tempoc.symbolic.domain import Universe

MAX_ROUNDS = 24
LEAST = TensorType(DType.I32, (), weak=True)


@dataclass(slots=True)
class _Findings:
    """What is kept from round to round."""

    space: Space
    table: dict[TensorKey, InferredTensor] = field(default_factory=dict)
    plans: dict[TensorKey, TargetPlan] = field(default_factory=dict)
    seeded: dict[TensorKey, None] = field(default_factory=dict)
    drawn: dict[int, tuple[str, ...]] = field(default_factory=dict)
    assumed: dict[TensorKey, None] = field(default_factory=dict)
    spoiled: dict[TensorKey, None] = field(default_factory=dict)
    dropped: dict[TensorKey, None] = field(default_factory=dict)
    unshaped: dict[TensorKey, bool] = field(default_factory=dict)
    partial: bool = False
    guessing: bool = False
    final: bool = False

    def forget(self) -> None:
        """Begin again, but for what was given up."""
        for kept in (self.table, self.seeded, self.assumed, self.spoiled, self.dropped):
            kept.clear()
        self.partial = self.guessing = self.final = False

    def round(self, program: SourceProgram, *, eager: bool) -> Round:
        """The next round."""
        return Round(
            universe=self.space.universe,
            space=self.space,
            table=self.table,
            language=program.language,
            plans=self.plans,
            drawn=self.drawn,
            assumed=self.assumed,
            spoiled=self.spoiled,
            dropped=self.dropped,
            unshaped=self.unshaped,
            partial=self.partial,
            guessing=self.guessing,
            final=self.final,
            eager=eager,
        )

    def size(self) -> int:
        """How much is known, and how much was done about what is not: it grows only so often."""
        trees = [known.tree for known in self.table.values()]
        firm = sum(Doubt.SHAPE - doubt_of(tree) for tree in trees)
        steps = len(self.assumed) + len(self.spoiled) + len(self.seeded)
        return len(trees) + firm + steps + self.partial + self.guessing


def run_rounds(program: SourceProgram) -> tuple[Round, list[OutputRead]]:
    """Evaluate everything until a round finds nothing new; its state and the outputs."""
    findings = _Findings(Space(program.universe))
    most, left = -1, MAX_ROUNDS
    while True:
        round = findings.round(program, eager=most < 0)
        before, given_up = dict(findings.table), dict(findings.unshaped)
        results = _round(program, round)
        if not _goes_on(round, findings):
            break
        if findings.unshaped != given_up:
            most, left = -1, MAX_ROUNDS
            continue
        left = MAX_ROUNDS if findings.size() > most else left - 1
        most = max(most, findings.size())
        if not left:
            _report_growth(round, before)
            break
    if round.deferred:
        _report_unknown(round)
    _report_guesses(round, findings.seeded)
    return round, results


def _goes_on(round: Round, findings: _Findings) -> bool:
    """Whether another round can find more."""
    universe = extended(_assumed(findings.space.universe, round), round)
    if universe != findings.space.universe:
        if universe.bounds != findings.space.universe.bounds:
            findings.plans.clear()  # what they say about lengths that vary may be wrong
        findings.space = Space(universe)
        return True
    if round.changed:
        return True
    if not findings.partial and (round.deferred or any(map(is_open, round.unknown.values()))):
        findings.partial = True
        return True
    if not round.deferred:
        return _seed(round, findings.seeded) or _starts_again(round, findings)
    if round.firmer or _spoil(round):
        return True
    if not findings.guessing and _has_numbers(round):
        findings.guessing = True
        return True
    if _assume(round) or _seed(round, findings.seeded):
        return True
    again, findings.final = not findings.final, True
    return again or _starts_again(round, findings)


def _starts_again(round: Round, findings: _Findings) -> bool:
    """Whether tensors are given up without which the rounds begin again."""
    if not _give_up(round):
        return False
    findings.forget()
    return True


def _report_growth(round: Round, before: Mapping[TensorKey, InferredTensor]) -> None:
    """The tensors that were still changing when we gave up: the first tells enough."""
    for key, cell in round.cells.items():
        if round.table.get(key) != before.get(key):
            round.report(type_errors.growing(cell.origin.span, cell.plan.name), cell.origin.calls)
            return


def _report_unknown(round: Round) -> None:
    """A tensor whose type stays unknown without a mistake of which it could be told."""
    if round.errors.diagnostics:
        return
    for key, cell in round.cells.items():
        known = round.table.get(key)
        if known is None or doubt_of(known.tree):
            span, name = cell.origin.span, cell.plan.name
            round.report(type_errors.never_known(span, name), cell.origin.calls)
            return


def _assumed(universe: Universe, round: Round) -> Universe:
    """The universe with what annotations ask to be checked at run time."""
    new = [a for a in dict.fromkeys(round.assumptions) if a not in universe.assumptions]
    return replace(universe, assumptions=(*universe.assumptions, *new)) if new else universe


def _round(program: SourceProgram, round: Round) -> list[OutputRead]:
    top = Frame(
        scope=Scope("loop", parent=program.scope),
        path=(),
        prefix="",
        origin=DraftOrigin(span=program.loaded.main.source.whole()),
    )
    round.top = top
    for name in program.tensors.values():
        if name.kind == "indexed":
            round.language.cell(round, name, name.equations[0].span)
    for name in program.tensors.values():
        if name.item is not None:
            program.language.tensor(round, name, name.item.name.span)
    for item in program.loaded.main.tree.items:
        if isinstance(item, ast.Equation):
            _equation(round, top, item)
    for cell in list(round.cells.values()):
        if not cell.finished:
            finish(round, cell)
    results = outputs(round, top, program.loaded.main.tree)
    effects(round, top, program.loaded.main.tree)
    endings(round, top, program.loaded.main.tree)
    return results


def _equation(round: Round, top: Frame, item: ast.Equation) -> None:
    first = top.scope.find(item.targets[0].name.name)
    if isinstance(first, TensorName) and first.kind == "plain":
        round.language.tensor(round, first, item.targets[0].name.span)
    equations.run(round, top, item)


def top_cell(round: Round, name: TensorName) -> IndexedTensor:
    """An indexed tensor of the program: its plan, as it is in all rounds, and no branches yet."""
    top = round.top
    assert top is not None
    key: TensorKey = (name.name,)
    written = tuple(
        (eq, t) for eq in name.equations for t in eq.targets if t.name.name == name.name
    )
    plan = round.plans.get(key)
    if plan is None:
        try:
            plan = round.plans[key] = make_plan(round, top, name.name, written)
        except StillUnknown:
            plan = TargetPlan(name=name.name, dims=(), placements=(), broken=True)
    for problem in plan.problems:
        round.report(problem)
    cell = IndexedTensor(
        key=key,
        name=name.name,
        plan=plan,
        origin=DraftOrigin(span=written[0][0].span, target=name.name),
    )
    round.cells[key] = cell
    top.scope.bind(name.name, cell)
    return cell


# ---------------------------------------------------------------- what stays unknown


def _has_numbers(round: Round) -> bool:
    """Whether some tensor may be more than the number that is all that is known of it."""
    return any(
        isinstance(leaf, Typed) and leaf.doubt is Doubt.SHAPE and not leaf.type.shape
        for known in round.table.values()
        for _, leaf in leaves(known.tree)
    )


def _spoil(round: Round) -> bool:
    """Leave out tensors whose types a mistake hides: what is said of them would be noise."""
    reasons = {name: unknown.causes for name, unknown in round.unknown.items()}
    before = len(round.spoiled)
    for cell in round.cells.values():
        if cell.key not in round.table and ERROR in _reached(cause(cell), reasons):
            round.spoiled[cell.key] = None
    return len(round.spoiled) > before


def _assume(round: Round) -> bool:
    """Take lower bounds for types: of what more than a number is known first; false if none."""
    doubted = [
        (key, cell)
        for key, cell in round.cells.items()
        if key not in round.assumed and key in round.table and doubt_of(round.table[key].tree)
    ]
    shaped = [key for key, cell in doubted if not _only_numbers(cell)]
    chosen = shaped or [key for key, _ in doubted]
    round.assumed.update(dict.fromkeys(chosen))
    for key in chosen:
        known = round.table[key]
        tree = map_leaves(_firm, known.tree)
        round.table[key] = replace(known, tree=tree)
    return bool(chosen)


def _firm(_: tuple[str, ...], leaf: Value) -> Value:
    return Typed(leaf.type) if isinstance(leaf, Typed) else leaf


def _seed(round: Round, seeded: dict[TensorKey, None]) -> bool:
    """Guess the types of tensors that only read each other; false if there are none (left)."""
    reasons = {name: unknown.causes for name, unknown in round.unknown.items()}
    found = False
    for cell in round.cells.values():
        name = cause(cell)
        if cell.key in round.table or cell.plan.broken or cell.key in seeded:
            continue
        reached = _reached(name, reasons)
        if ERROR in reached or name not in reached:
            continue
        tree = next((b.value for b in cell.branches if not isinstance(b.value, Unknown)), None)
        guess = Typed(LEAST) if tree is None else map_leaves(lambda _, v: Typed(LEAST), tree)
        dims = round.universe.ordered((*cell.plan.dims, *cell.carried))
        round.table[cell.key] = InferredTensor(tree=guess, dims=dims)
        seeded[cell.key] = None
        found = True
    return found


def _give_up(round: Round) -> bool:
    """Give up tensors that are typed by numbers alone, as all else was refused; false if none is.

    A shape that is taken from what is left would cause mistakes where they are read. If without it
    nothing is wrong with the other equations, it was the shape that they did not fit.
    """
    reasons = {name: unknown.causes for name, unknown in round.unknown.items()}
    changed = False
    for cell in round.cells.values():
        wrong = ERROR in _reached(cause(cell), reasons)
        known = [b.value for b in cell.branches if not isinstance(b.value, Unknown)]
        numbers = bool(known) and all(isinstance(v, ConstantNumber | Index) for v in known)
        if cell.key not in round.unshaped and wrong and numbers:
            round.unshaped[cell.key] = changed = True
        elif round.unshaped.get(cell.key) and not wrong:
            round.unshaped[cell.key] = False
            changed = True
    return changed


def _reached(name: str, reasons: Mapping[str, frozenset[str]]) -> frozenset[str]:
    found: dict[str, None] = {}
    waiting = sorted(reasons.get(name, frozenset()))
    while waiting:
        at = waiting.pop()
        if at not in found:
            found[at] = None
            waiting.extend(sorted(reasons.get(at, frozenset())))
    return frozenset(found)


def _report_guesses(round: Round, seeded: Mapping[TensorKey, None]) -> None:
    """Mistakes that may come from a shape that was guessed, or taken from a number, say so."""
    for key, cell in round.cells.items():
        guessed = key in seeded
        if guessed or _only_numbers(cell):
            spans = [p.equation.span for p in cell.plan.placements]
            for k, d in enumerate(round.errors.diagnostics):
                place = d.primary.span if d.primary else None
                inside = place is not None and any(
                    s.source == place.source and s.start <= place.start < s.end for s in spans
                )
                if inside and d.code == type_errors.OPERANDS:
                    round.errors.diagnostics[k] = _explained(cell, d, guessed)


def _only_numbers(cell: IndexedTensor) -> bool:
    known = [b.value for b in cell.branches if not isinstance(b.value, Unknown)]
    return bool(known) and all(isinstance(v, ConstantNumber) for v in known)


def _explained(cell: IndexedTensor, d: Diagnostic, guessed: bool) -> Diagnostic:
    if guessed:
        return type_errors.never_known(cell.origin.span, cell.plan.name)
    return replace(d, help=type_errors.provisional(cell.plan.name))
