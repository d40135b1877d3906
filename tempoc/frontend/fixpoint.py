"""Type inference of indexed tensors by fixpoint iteration.

A round evaluates all equations with the types inferred by the round before. Types grow from below:
results of lower bounds are lower bounds (`environment/lower_bounds.py`), and errors that involve
them are deferred. The first round also uses what it has inferred itself: of a tensor that is read,
it evaluates equations until one gives it a type. If all that was read had the type that it turns
out to have, that round is the last, as it is for most programs (`environment/draft_order.py` has
the nodes in the order of the source), else mostly the second. If a round infers nothing new, but
something is unknown or deferred, then

0. operators with some unknown operands are typed by the others (`partial`);
1. products with operands of unknown rank are assumed to be products with a vector (`guessing`), as
   in `W @ h` if only `h[0] = 0.0` is known;
2. lower bounds are assumed to be the types (`assumed`), first for tensors of which more than a
   number is known;
3. tensors that only read each other (`c[t] = sum(c[0:t])`) are seeded with the least type, a weak
   scalar integer, from which promotion and broadcasting lift it,

and the iteration continues. The last round evaluates all equations with the final types and defers
nothing: all assumptions have been checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.graphs import reachable
from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.diagnostics.source import Span
from tempoc.frontend.declarations.effects import elaborate_effects
from tempoc.frontend.declarations.module_scopes import SourceProgram
from tempoc.frontend.declarations.outputs import OutputRead, elaborate_outputs
from tempoc.frontend.declarations.run_lengths import (
    elaborate_lengths,
    with_data_dims,
    with_outer_dims,
)
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Doubt, DraftOrigin
from tempoc.frontend.environment.draft_order import finish_of
from tempoc.frontend.environment.failure import StillUnknown
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, TargetPlan, TensorKey
from tempoc.frontend.environment.lower_bounds import doubt_of, is_open
from tempoc.frontend.environment.round import DataDimension, Frame, InferredTensor, Round
from tempoc.frontend.environment.scope import Scope, TensorName
from tempoc.frontend.equations import equations
from tempoc.frontend.equations.cast_names import check_agreement
from tempoc.frontend.equations.merge_branches import cause, finish
from tempoc.frontend.equations.targets import make_plan
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.syntax import ast
from tempoc.ops.definition.types import DType, TensorType
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe

MAX_ROUNDS = 24
LEAST = TensorType(DType.I32, (), weak=True)


@dataclass(slots=True)
class _FixpointState:
    """The state that is carried from round to round."""

    space: Space
    table: dict[TensorKey, InferredTensor] = field(default_factory=dict)
    plans: dict[TensorKey, TargetPlan] = field(default_factory=dict)
    seeded: dict[TensorKey, None] = field(default_factory=dict)
    drawn: dict[int, tuple[str, ...]] = field(default_factory=dict)
    data_dims: dict[TensorKey, DataDimension] = field(default_factory=dict)
    assumptions: dict[ix.Expr, Span] = field(default_factory=dict)
    assumed: dict[TensorKey, None] = field(default_factory=dict)
    spoiled: dict[TensorKey, None] = field(default_factory=dict)
    restarted: dict[TensorKey, None] = field(default_factory=dict)
    unshaped: dict[TensorKey, bool] = field(default_factory=dict)
    earlier: tuple[Diagnostic, ...] = ()
    partial: bool = False
    guessing: bool = False
    final: bool = False

    def forget(self, errors: Iterable[Diagnostic]) -> None:
        """Restart the inference; only `unshaped` and the errors found are retained."""
        self.earlier = tuple(errors)
        for table in (self.table, self.seeded, self.assumed, self.spoiled, self.restarted):
            table.clear()
        self.partial = self.guessing = self.final = False

    def round(self, program: SourceProgram, *, eager: bool) -> Round:
        """The next round."""
        return Round(
            universe=self.space.universe,
            space=self.space,
            table=self.table,
            language=program.language,
            plans=self.plans,
            limits=self.space.frame.limits,
            drawn=self.drawn,
            data_dims=self.data_dims,
            assumptions=self.assumptions,
            assumed=self.assumed,
            spoiled=self.spoiled,
            restarted=self.restarted,
            unshaped=self.unshaped,
            partial=self.partial,
            guessing=self.guessing,
            final=self.final,
            eager=eager,
        )

    def size(self) -> int:
        """A bounded measure of progress: known types, their doubt, and assumptions made."""
        trees = [known.tree for known in self.table.values()]
        firm = sum(Doubt.SHAPE - doubt_of(tree) for tree in trees)
        steps = len(self.assumed) + len(self.spoiled) + len(self.seeded)
        return len(trees) + firm + steps + self.partial + self.guessing


def run_rounds(program: SourceProgram) -> tuple[Round, list[OutputRead]]:
    """Iterate to the fixpoint; returns the last round and the outputs."""
    state = _FixpointState(Space(program.universe, limits=program.limits))
    best_size, rounds_left, eager = -1, MAX_ROUNDS, True
    while True:
        round = state.round(program, eager=eager)
        previous, unshaped_before = dict(state.table), dict(state.unshaped)
        results = _round(program, round)
        if round.eager:
            _settle_first_round(program, round)
        if not _prepare_next_round(round, state):
            break
        if state.unshaped != unshaped_before:
            best_size, rounds_left, eager = -1, MAX_ROUNDS, True
            continue
        rounds_left = MAX_ROUNDS if state.size() > best_size else rounds_left - 1
        best_size = max(best_size, state.size())
        eager = round.cut_short and round.inferred
        if not rounds_left:
            _report_growth(round, previous)
            break
    if not (program.errors.diagnostics or round.errors.diagnostics):
        _report_unknown(round, state.earlier)
    _report_guesses(round, state.seeded)
    return round, results


def _settle_first_round(program: SourceProgram, round: Round) -> None:
    """Whether the types that the first round has inferred are those that it has used.

    Then the next one would evaluate all equations to the same nodes, in the order of the source.
    """
    wrong = program.errors.diagnostics or round.errors.diagnostics or round.deferred
    if round.changed or not (round.inferred or round.order.moved):
        return
    if wrong or round.uncertain or (round.order.moved and round.extents):
        round.changed = True
    elif round.order.moved:
        drafts = round.order.restored(round.seed)
        round.drafts = round.drafts if drafts is None else drafts
        round.changed = drafts is None


def _prepare_next_round(round: Round, state: _FixpointState) -> bool:
    """Whether another round is necessary; makes the next assumption if this one had no progress."""
    universe = with_data_dims(_with_assumptions(state.space.universe, round), round)
    universe = with_outer_dims(universe, round)
    if universe != state.space.universe:
        if universe.bounds != state.space.universe.bounds:
            state.plans.clear()  # plans depend on the dimensions over which lengths vary
        state.space = Space(universe, limits=state.space.frame.limits)
        return True
    if round.changed:
        return True
    if not state.partial and (round.deferred or any(map(is_open, round.unknown.values()))):
        state.partial = True
        return True
    if not round.deferred:
        return _seed(round, state.seeded) or _restart(round, state)
    if round.firmer:
        return True
    if _mark_spoiled(round):
        state.earlier = tuple(round.errors.diagnostics) or state.earlier
        return True
    if not state.guessing and _has_numbers(round):
        state.guessing = True
        return True
    if _assume(round) or _seed(round, state.seeded):
        return True
    again, state.final = not state.final, True
    return again or _restart(round, state) or _mark_unsupported(round)


def _restart(round: Round, state: _FixpointState) -> bool:
    """Whether the inference restarts, because some tensors were given up."""
    if not _give_up(round):
        return False
    state.forget(round.errors.diagnostics)
    return True


def _report_growth(round: Round, before: Mapping[TensorKey, InferredTensor]) -> None:
    """Report the first tensor whose type was still changing in the last round."""
    for key, cell in round.cells.items():
        if round.table.get(key) != before.get(key):
            round.report(type_errors.growing(cell.origin.span, cell.plan.name), cell.origin.calls)
            return


def _report_unknown(round: Round, earlier: Iterable[Diagnostic]) -> None:
    """Report the first tensor of unknown type, or with such a part, if nothing else is wrong.

    What was wrong ``earlier``, with the shapes of numbers or before errors hid types, may be in
    expressions that are not evaluated without these: then that is reported.
    """
    for key, cell in round.cells.items():
        known = round.table.get(key)
        partly = known is not None and (key in round.spoiled or val.unknown_in(known.tree))
        if known is None or partly or (round.deferred and doubt_of(known.tree)):
            round.errors.extend(earlier)
            span, name = cell.origin.span, cell.plan.name
            if not round.errors.diagnostics:
                round.report(type_errors.never_known(span, name), cell.origin.calls)
            return


def _with_assumptions(universe: Universe, round: Round) -> Universe:
    """The universe with the assumptions from annotations, which are checked at run time."""
    new = [a for a in round.assumptions if a not in universe.assumptions]
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
            round.order.note(finish_of(cell))
            finish(round, cell)
    results = elaborate_outputs(round, top, program.loaded.main.tree)
    elaborate_effects(round, top, program.loaded.main.tree)
    elaborate_lengths(round, top, program.loaded.main.tree)
    check_agreement(round)
    return results


def _equation(round: Round, top: Frame, item: ast.Equation) -> None:
    first = top.scope.find(item.targets[0].name.name)
    if isinstance(first, TensorName) and first.kind == "plain":
        round.language.tensor(round, first, item.targets[0].name.span)
    equations.run(round, top, item)


def top_cell(round: Round, name: TensorName) -> IndexedTensor:
    """An indexed tensor of the program: its plan, which all rounds share, and no branches yet."""
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
            round.uncertain = True
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


# ---------------------------------------------------------------- unknown types


def _has_numbers(round: Round) -> bool:
    """Whether a tensor is known only as a scalar, with a doubtful shape."""
    return any(
        isinstance(leaf, val.Typed) and leaf.doubt is Doubt.SHAPE and not leaf.type.shape
        for known in round.table.values()
        for _, leaf in val.leaves(known.tree)
    )


def _mark_spoiled(round: Round) -> bool:
    """Mark tensors whose type is hidden by an error: further errors about them would be noise."""
    reasons = {name: unknown.causes for name, unknown in round.unknown.items()}
    count = len(round.spoiled)
    for cell in round.cells.values():
        known = round.table.get(cell.key)
        doubtful = known is None or doubt_of(known.tree)
        if doubtful and val.ERROR in _transitive_causes(cause(cell), reasons):
            round.spoiled[cell.key] = None
    return len(round.spoiled) > count


def _mark_unsupported(round: Round) -> bool:
    """Mark tensors whose type was guessed, and all equations of which turned out to be in error.

    A guess that nothing is left of would cause errors in their consumers.
    """
    reasons = {name: unknown.causes for name, unknown in round.unknown.items()}
    marked = [
        cell.key
        for cell in round.cells.values()
        if cell.key in round.table
        and all(isinstance(b.value, val.Unknown) for b in cell.branches)
        and val.ERROR in _transitive_causes(cause(cell), reasons)
    ]
    for key in marked:
        del round.table[key]
    round.spoiled.update(dict.fromkeys(marked))
    return bool(marked)


def _assume(round: Round) -> bool:
    """Assume lower bounds to be types, first those of more than numbers; false if none."""
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
        round.table[key] = replace(known, tree=val.without_doubt(known.tree))
    return bool(chosen)


def _seed(round: Round, seeded: dict[TensorKey, None]) -> bool:
    """Seed tensors that only read each other with the least type; false if there are none."""
    reasons = {name: unknown.causes for name, unknown in round.unknown.items()}
    changed = False
    for cell in round.cells.values():
        name = cause(cell)
        if cell.key in round.table or cell.plan.broken or cell.key in seeded:
            continue
        reached = _transitive_causes(name, reasons)
        if val.ERROR in reached or name not in reached:
            continue
        tree = next((b.value for b in cell.branches if not isinstance(b.value, val.Unknown)), None)
        guess = (
            val.Typed(LEAST)
            if tree is None
            else val.map_leaves(lambda _, v: val.Typed(LEAST), tree)
        )
        dims = round.universe.ordered((*cell.plan.dims, *cell.carried))
        round.table[cell.key] = InferredTensor(tree=guess, dims=dims)
        seeded[cell.key] = None
        changed = True
    return changed


def _give_up(round: Round) -> bool:
    """Give up tensors typed by numbers alone because their other equations are in error.

    Their scalar shape would cause errors in their consumers. If the other equations are correct
    without it, the scalar shape was the error. False if nothing changed.
    """
    reasons = {name: unknown.causes for name, unknown in round.unknown.items()}
    changed = False
    for cell in round.cells.values():
        wrong = val.ERROR in _transitive_causes(cause(cell), reasons)
        known = [b.value for b in cell.branches if not isinstance(b.value, val.Unknown)]
        numbers = bool(known) and all(isinstance(v, val.ConstantNumber | val.Index) for v in known)
        if cell.key not in round.unshaped and wrong and numbers:
            round.unshaped[cell.key] = changed = True
        elif round.unshaped.get(cell.key) and not wrong:
            round.unshaped[cell.key] = False
            changed = True
    return changed


def _transitive_causes(name: str, reasons: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset(reachable(reasons.get(name, ()), lambda other: reasons.get(other, ())))


def _report_guesses(round: Round, seeded: Mapping[TensorKey, None]) -> None:
    """Explain errors that may come from a shape that was seeded, or taken from a number."""
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
                    round.errors.diagnostics[k] = _with_inference_help(cell, d, guessed)


def _only_numbers(cell: IndexedTensor) -> bool:
    known = [b.value for b in cell.branches if not isinstance(b.value, val.Unknown)]
    return bool(known) and all(isinstance(v, val.ConstantNumber) for v in known)


def _with_inference_help(cell: IndexedTensor, d: Diagnostic, guessed: bool) -> Diagnostic:
    if guessed:
        return type_errors.never_known(cell.origin.span, cell.plan.name)
    return replace(d, help=type_errors.provisional(cell.plan.name))
