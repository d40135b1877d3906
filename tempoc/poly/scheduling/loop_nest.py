"""A schedule as nested loops, stated in index expressions.

Grammar::

    Nest = Block(Nest*) | For(var, lower, upper, step, body) | Let(var, value, body)
         | When(condition, body, otherwise?) | Leaf(task, point)

Variables are isl's (`c0`, `c1`, ...) and run upwards. They may be negative, which symbols never
are, so expressions contain `variable(c)`, a difference of two symbols, in place of `c`.
`schedule/lower.py` turns the nest into readable loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd

from tempoc.base.effort import EFFORT
from tempoc.poly.isl import integer, isl, text_of
from tempoc.poly.scheduling.loop_order import arrange
from tempoc.poly.scheduling.problem import SchedulingProblem, Unschedulable
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.walk import substitute


@dataclass(frozen=True, slots=True, kw_only=True)
class NestSequence:
    """Nests that run one after the other."""

    items: tuple[LoopNest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NestLoop:
    """`for var in range(lower, upper, step)`."""

    var: str
    lower: ix.Expr
    upper: ix.Expr
    step: int
    body: LoopNest


@dataclass(frozen=True, slots=True, kw_only=True)
class Let:
    """A loop of a single iteration."""

    var: str
    value: ix.Expr
    body: LoopNest


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A condition: the body where it holds, else the other one."""

    condition: ix.Expr
    body: LoopNest
    otherwise: LoopNest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NestLeaf:
    """A task at a point."""

    task: str
    point: tuple[ix.Expr, ...]


LoopNest = NestSequence | NestLoop | Let | When | NestLeaf


class Piecewise(Exception):
    """The nest has a piecewise value, which index expressions cannot state."""


def build(problem: SchedulingProblem) -> LoopNest:
    """The loops of a schedule; `Unschedulable` if there is none that index expressions can state.

    Conditions are separated from the steady state of loops by index-set splitting (isl's
    `separate`), unless that makes the program more than twice as long (odd and even points, peeled
    in all combinations) or takes isl too many steps. Then the loops inside others are split, which
    have more steps, and as many of the outermost ones as are not too long; none if that is too long
    as well.
    """
    if not problem.tasks:
        return NestSequence(items=())
    schedule, guards = _guarded(problem, arrange(problem))

    def checked(leaf: NestLeaf) -> LoopNest:
        at = dict(zip(problem.tasks[leaf.task].dims, leaf.point, strict=True))
        condition = substitute(guards.get(leaf.task, ix.TRUE), at)
        return leaf if condition == ix.TRUE else When(condition=condition, body=leaf)

    reader = _IslTreeReader(problem.space.frame.params, problem.names, checked)
    builder = isl.AstBuild.from_context(problem.space.context)

    steps = max(EFFORT.query_steps, EFFORT.separation_steps * len(problem.tasks))

    def written(node: isl.Schedule) -> LoopNest | None:
        try:
            return reader.nest(builder.node_from_schedule(node))
        except Piecewise:
            return None

    @cache
    def nest(outermost: tuple[int, ...]) -> LoopNest | None:
        split = _Separation(problem, outermost)
        node = schedule.map_schedule_node_bottom_up(split.of)
        return problem.space.frame.limited(steps, lambda: written(node))

    counted = _Separation(problem, ())
    schedule.map_schedule_node_bottom_up(counted.of)
    every = tuple(range(counted.outermost_loops))
    limit = 2 * len(problem.tasks) + 2
    peeled = nest(every)
    if peeled is not None and _size(peeled) <= limit:
        return peeled
    best = None if counted.inner_loops else nest(())
    plain = best or written(schedule)
    limit = max(limit, 2 * _size(plain) + 2 if plain is not None else 0)
    if peeled is not None and _size(peeled) <= limit:
        return peeled
    if counted.inner_loops:
        best = nest(())
    if best is None or _size(best) > limit:
        nests = [n for n in (plain, best, peeled) if n is not None]
        if not nests:
            raise Unschedulable(tuple(problem.tasks))
        return nests[0]
    chosen: list[int] = []
    for number in every if len(every) > 1 else ():
        peeled = nest((*chosen, number))
        if peeled is not None and _size(peeled) <= limit:
            best, chosen = peeled, [*chosen, number]
    return best


def _guarded(
    problem: SchedulingProblem, schedule: isl.Schedule
) -> tuple[isl.Schedule, Mapping[str, ix.Expr]]:
    """A schedule of `arrange`, and the conditions that are checked where a task stands in it.

    Of loops in which each task has a remainder by one number isl makes loops with strides, without
    conditions.
    """
    guards = problem.guards
    if not guards:
        return schedule, guards
    checked: set[str] = set()

    def look(node: isl.ScheduleNode) -> isl.ScheduleNode:
        if node.get_type() == isl.schedule_node_type.band and node.get_schedule_depth() == 0:
            sets: list[isl.Set] = []
            node.get_domain().foreach_set(sets.append)
            names = {problem.names[s.get_tuple_name()] for s in sets}
            kinds = {guards[name] for name in names if name in guards}
            strided = _have_stride([guards.get(n, ix.TRUE) for n in names])
            if len(kinds) > EFFORT.loop_remainders and not strided:
                checked.update(names)
        return node

    schedule.map_schedule_node_bottom_up(look)
    narrow = problem.narrowed(schedule, problem.tasks.keys() - checked)
    return narrow, {name: guard for name, guard in guards.items() if name in checked}


def _have_stride(guards: Sequence[ix.Expr]) -> bool:
    """Whether loops may have a step that all conditions have in common, which one of them names.

    Those of ``t % 12 == k`` may, at any ``k``, as tasks may be shifted; ``t % 2 == 1`` and
    ``t % 3 == 1`` have none.
    """
    divisors: list[int] = []
    for guard in guards:
        equations = [c for c in conjuncts(guard) if isinstance(c, ix.Relation) and c.op == "=="]
        if not equations:
            return False
        divisors += [e.left.divisor for e in equations if isinstance(e.left, ix.Mod)]
    is_common = gcd(*divisors) == min(divisors, default=0)
    return is_common and len({*divisors}) <= EFFORT.loop_remainders


@dataclass(slots=True)
class _Separation:
    """Marks loops `separate`: those inside others, and of the outermost bands those in `outermost`.

    These are counted from 0 in the order in which isl visits them.
    """

    problem: SchedulingProblem
    outermost: tuple[int, ...]
    outermost_loops: int = 0
    inner_loops: int = 0

    def of(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """The node of a schedule, with its loops marked."""
        if node.get_type() != isl.schedule_node_type.band:
            return node
        if node.get_schedule_depth() == 0:
            self.outermost_loops += 1
            if self.outermost_loops - 1 not in self.outermost:
                return node
        else:
            self.inner_loops += 1
        if not _may_end(node, self.problem):
            for k in range(node.band_n_member()):
                node = node.band_member_set_ast_loop_type(k, isl.ast_loop_type.separate)
        return node


def _may_end(node: isl.ScheduleNode, problem: SchedulingProblem) -> bool:
    """Whether the band's bound is decided during the run; its last step is not peeled then."""
    universe = problem.space.universe
    if not universe.lengths:
        return False
    sets: list[isl.Set] = []
    node.get_domain().foreach_set(sets.append)
    dims = [d for s in sets for d in problem.tasks[problem.names[s.get_tuple_name()]].dims]
    return any(universe.dim(d).bound in universe.lengths for d in dims)


def _size(nest: LoopNest) -> int:
    """The number of lines of a nest, written as loops."""
    match nest:
        case NestSequence(items=items):
            return sum(_size(item) for item in items)
        case NestLoop(body=body) | When(body=body, otherwise=None):
            return 1 + _size(body)
        case When(body=body, otherwise=other):
            return 2 + _size(body) + (_size(other) if other is not None else 0)
        case Let(body=body):
            return _size(body)
        case NestLeaf():
            return 1


def variable(name: str) -> ix.Expr:
    """A loop variable of either sign, as a difference."""
    return ix.Sym(f"{name}+") - ix.Sym(f"{name}-")


def binding(name: str, value: ix.Expr) -> dict[str, ix.Expr]:
    """The substitution that puts a value in place of a variable."""
    return {f"{name}+": value, f"{name}-": ix.Const(0)}


_OP = isl.ast_expr_op_type
_ARITHMETIC: dict[int, Callable[..., ix.Expr]] = {
    _OP.add: ix.add,
    _OP.sub: ix.sub,
    _OP.mul: ix.mul,
    _OP.min: ix.minimum,
    _OP.max: ix.maximum,
}
_LOGIC: dict[int, Callable[..., ix.Expr]] = {
    _OP.and_: ix.conjunction,
    _OP.and_then: ix.conjunction,
    _OP.or_: ix.disjunction,
    _OP.or_else: ix.disjunction,
}
_DIVISION: dict[int, Callable[[ix.Expr, int], ix.Expr]] = {
    # `div` is exact, `pdiv_q` has a dividend that is not negative, `zdiv_r` is compared with 0.
    _OP.div: ix.floordiv,
    _OP.fdiv_q: ix.floordiv,
    _OP.pdiv_q: ix.floordiv,
    _OP.pdiv_r: ix.mod,
    _OP.zdiv_r: ix.mod,
}
_COMPARE: dict[int, ix.CompareOp] = {
    _OP.lt: "<",
    _OP.le: "<=",
    _OP.gt: ">",
    _OP.ge: ">=",
    _OP.eq: "==",
}


class _IslTreeReader:
    """Converts isl's AST to a nest."""

    def __init__(
        self,
        params: tuple[str, ...],
        names: Mapping[str, str],
        checked: Callable[[NestLeaf], LoopNest] = lambda leaf: leaf,
    ) -> None:
        """``checked`` puts a leaf under the conditions that isl does not know of."""
        self.params = params
        self.names = names
        self.checked = checked

    def nest(self, n: isl.AstNode) -> LoopNest:
        """An AST node with its children."""
        kind, types = n.get_type(), isl.ast_node_type
        if kind == types.block:
            children = n.block_get_children()
            items = (children.get_at(k) for k in range(n.block_get_children().n_ast_node()))
            return NestSequence(items=tuple(self.nest(c) for c in items))
        if kind == types.for_:
            return self.loop(n)
        if kind == types.if_:
            other = self.nest(n.if_get_else_node()) if n.if_has_else_node() else None
            body = self.nest(n.if_get_then_node())
            return When(condition=self.condition(n.if_get_cond()), body=body, otherwise=other)
        if kind == types.mark:
            return self.nest(n.mark_get_node())
        call = n.user_get_expr()
        args = [self.expression(call.get_op_arg(k)) for k in range(1, call.get_op_n_arg())]
        label = call.get_op_arg(0).get_id().get_name()
        return self.checked(NestLeaf(task=self.names[label], point=tuple(args)))

    def loop(self, n: isl.AstNode) -> LoopNest:
        """A loop, or a name for the value of its single iteration."""
        var = n.for_get_iterator().get_id().get_name()
        lower = self.expression(n.for_get_init())
        if n.for_is_degenerate():
            return Let(var=var, value=lower, body=self.nest(n.for_get_body()))
        limit = self.expression(n.for_get_cond())
        step = self.expression(n.for_get_inc())
        assert isinstance(limit, ix.Relation) and isinstance(step, ix.Const)
        assert limit.left == variable(var) and limit.op in ("<", "<=")
        upper = limit.right if limit.op == "<" else limit.right + 1
        body = self.nest(n.for_get_body())
        return NestLoop(var=var, lower=lower, upper=upper, step=step.value, body=body)

    def expression(self, e: isl.AstExpr) -> ix.Expr:
        """An expression of the AST; raises `Piecewise` for a selection."""
        if e.get_type() == isl.ast_expr_type.int:
            return ix.Const(integer(e.get_val()))
        if e.get_type() == isl.ast_expr_type.id:
            name = e.get_id().get_name()
            return ix.Sym(name) if name in self.params else variable(name)
        op = e.get_op_type()
        if op in _LOGIC:
            return _LOGIC[op](*(self.condition(e.get_op_arg(k)) for k in range(e.get_op_n_arg())))
        args = [self.expression(e.get_op_arg(k)) for k in range(e.get_op_n_arg())]
        if op == _OP.minus:
            return ix.mul(ix.Const(-1), args[0])
        if op in _ARITHMETIC:
            return _ARITHMETIC[op](*args)
        if op in _COMPARE:
            return ix.compare(_COMPARE[op], args[0], args[1])
        if op in _DIVISION and isinstance(args[1], ix.Const):
            return _DIVISION[op](args[0], args[1].value)
        raise Piecewise(text_of(e))

    def condition(self, e: isl.AstExpr) -> ix.Expr:
        """A condition of the AST, in which 1 stands for true."""
        value = self.expression(e)
        return (ix.TRUE if value.value else ix.FALSE) if isinstance(value, ix.Const) else value
