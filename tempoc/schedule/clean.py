"""Smart constructors of schedule trees: flat sequences, merged guards, no trivial loops."""

from __future__ import annotations

from collections.abc import Iterable

from tempoc.schedule.tree import Execute, LoopPlace, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.symbolic import expr as ix
from tempoc.symbolic.comparisons import solve_comparisons
from tempoc.symbolic.walk import substitute

EMPTY = TreeSequence(items=())
_DEEPEST = 8
"""Guards at the end of guards are nested so deep; deeper ones stand behind each other, since Python
takes no more than 100 levels of indentation."""


def sequence(items: Iterable[ScheduleTree]) -> ScheduleTree:
    """A flat sequence; adjacent guards with equal or complementary conditions are merged."""
    flat: list[ScheduleTree] = []
    for item in items:
        for part in item.items if isinstance(item, TreeSequence) else (item,):
            match flat[-1] if flat else None, part:
                case TreeGuard(condition=a, body=first), TreeGuard(condition=b, body=second) if (
                    a == b
                ):
                    flat[-1] = guard(a, sequence((first, second)))
                case TreeGuard() as one, TreeGuard() as other if _are_complementary(
                    one.condition, other.condition
                ):
                    flat[-1:] = _hoist_common_tail(one, other)
                case _:
                    flat.append(part)
    return flat[0] if len(flat) == 1 else TreeSequence(items=tuple(flat))


def _hoist_common_tail(one: TreeGuard, other: TreeGuard) -> list[ScheduleTree]:
    """Two guards with complementary conditions: a common tail of their bodies moves behind them."""
    first, second = _items(one.body), _items(other.body)
    shared = 0
    while shared < min(len(first), len(second)) and first[-1 - shared] == second[-1 - shared]:
        shared += 1
    if not shared:
        return [one, other]
    heads = (one.condition, first[:-shared]), (other.condition, second[:-shared])
    guards = [guard(c, sequence(items)) for c, items in heads]
    return [*(g for g in guards if g != EMPTY), *first[-shared:]]


def _are_complementary(a: ix.Expr, b: ix.Expr) -> bool:
    return solve_comparisons(a, ()) == solve_comparisons(ix.negation(b), ())


def _items(tree: ScheduleTree) -> tuple[ScheduleTree, ...]:
    return tree.items if isinstance(tree, TreeSequence) else (tree,)


def guard(condition: ix.Expr, body: ScheduleTree) -> ScheduleTree:
    """The body where the condition holds; nested guards become one."""
    if condition == ix.FALSE or body == EMPTY:
        return EMPTY
    if condition == ix.TRUE:
        return body
    if isinstance(body, TreeGuard):
        return guard(_both(condition, body.condition), body.body)
    *before, last = _items(body)
    if before and isinstance(last, TreeGuard) and _depth(last) >= _DEEPEST:
        behind = TreeGuard(condition=_both(condition, last.condition), body=last.body)
        return sequence((guard(condition, sequence(before)), behind))
    return TreeGuard(condition=condition, body=body)


def _depth(tree: ScheduleTree) -> int:
    """How deep guards are nested, each the last statement of the one around."""
    depth = 0
    while isinstance(tree, TreeGuard):
        depth, tree = depth + 1, _items(tree.body)[-1]
    return depth


def _both(outer: ix.Expr, inner: ix.Expr) -> ix.Expr:
    """That both conditions hold; the outer one is left out where it follows from the inner one."""
    return inner if _is_weaker(outer, inner) else ix.conjunction(outer, inner)


def _is_weaker(a: ix.Expr, b: ix.Expr) -> bool:
    """Whether ``a`` is a lower limit like ``b``, up to a constant, that follows from it."""
    if not (isinstance(a, ix.Relation) and isinstance(b, ix.Relation) and a.op == b.op == ">="):
        return False
    gap = ix.sub(ix.sub(a.left, a.right), ix.sub(b.left, b.right))
    return isinstance(gap, ix.Const) and gap.value >= 0


def loop(
    var: str,
    lower: ix.Expr,
    upper: ix.Expr,
    step: int,
    body: ScheduleTree,
    place: LoopPlace = "host",
) -> ScheduleTree:
    """The loop; its body if it has exactly one step; empty if it has none."""
    count = ix.sub(upper, lower) if step > 0 else ix.sub(lower, upper)
    least, most = ix.interval(count)
    if body == EMPTY or (most is not None and most <= 0):
        return EMPTY
    if isinstance(count, ix.Const) and least is not None and least <= abs(step):
        return bind(body, {var: lower})
    return TreeLoop(var=var, lower=lower, upper=upper, step=step, body=body, place=place)


def bind(tree: ScheduleTree, env: dict[str, ix.Expr]) -> ScheduleTree:
    """The tree with variables substituted, simplified again."""
    match tree:
        case Execute(statement=name, point=point):
            return Execute(statement=name, point=tuple(substitute(p, env) for p in point))
        case TreeSequence(items=items):
            return sequence(bind(item, env) for item in items)
        case TreeGuard(condition=c, body=body):
            return guard(substitute(c, env), bind(body, env))
        case TreeLoop(var=var, lower=lower, upper=upper, step=step, body=body):
            low, high = substitute(lower, env), substitute(upper, env)
            return loop(var, low, high, step, bind(body, env), tree.place)
