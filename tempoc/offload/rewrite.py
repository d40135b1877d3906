"""Inserts loads and evictions into a program, for stores that are offloaded to the host.

    for t in range(T):                        for t in range(T):
      h[t] = step(x, W, h[t-1])                 load h[t-1]
    for t in range(T-1, -1, -1):                h[t] = step(x, W, h[t-1])
      g[t] = back(h[t], W, g[t+1])              evict h[t-1], h[t]
                                              for t in range(T-1, -1, -1):
                                                load h[t]
                                                g[t] = back(h[t], W, g[t+1])
                                                evict h[t]

A cell is resident on the device during consecutive statements that use it. A longer ``reach`` of
its store extends that: from the first to the last use in a loop body (1), or over whole loops in
which the cell is invariant (2 for one loop, and so on). Cells that may alias under another key are
loaded and evicted together.

The reads of the next step of a loop may be prefetched (``ahead``) during this one: ``load ahead
h[t-1] where t-1 > -1``, if no step of the loop writes the store. A cell that the next step reads
may stay: ``evict h[t] where t+1 >= T``; it does if no statement lies between the two uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tempoc.offload.dead import drop_dead_evictions
from tempoc.program.analysis.aliases import CellKey, are_apart, are_same, slot
from tempoc.program.analysis.live import written_stores
from tempoc.program.analysis.traversal import cells_of, statements_in
from tempoc.program.analysis.verify_made import verify_made
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import bounds_set_by_run
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute, symbols

PrefetchReach = Mapping[str, int]
"""The reach of each offloaded store: the distance of its loads from its uses, in loops."""
NEAR, FAR = 0, 99
_StoredCell = tuple[str, CellKey]


def offloaded(
    program: prog.Program, reach: PrefetchReach, ahead: Collection[str] = ()
) -> prog.Program:
    """The program, verified, with these stores offloaded, some of them prefetched."""
    rewritten = with_transfers(program, reach, ahead)
    if rewritten is not program:
        verify_made(rewritten)
    return rewritten


def with_transfers(
    program: prog.Program, reach: PrefetchReach, ahead: Collection[str] = ()
) -> prog.Program:
    """The same, not verified: for dry runs."""
    if not reach:
        return program
    stores = tuple(replace(s, away=True) if s.name in reach else s for s in program.stores)
    away = {s.name: s for s in stores if s.away}
    params = frozenset(p.store for p in program.params)
    late, early = bounds_set_by_run(program.bounds, program.lengths), frozenset(ahead)
    rewriter = _Rewriter(away=away, reach=reach, params=params, ahead=early, late=late)
    tree = rewriter.within(program.tree, None).statement
    return drop_dead_evictions(replace(program, stores=stores, tree=tree))


def offloadable(program: prog.Program) -> tuple[str, ...]:
    """The stores that can be offloaded.

    Not growing ones, nor those local to a kernel, nor those with keys found at run time.
    """
    bad = {program.seed} | {s.name for s in program.stores if s.growing}
    late = bounds_set_by_run(program.bounds, program.lengths)
    for part in statements_in(program.tree):
        if isinstance(part, prog.Region | prog.Block):
            bad |= {*part.local}
        for cell in _cells(part):
            fixed = (*cell.key, *(() if cell.when is None else (cell.when,)))
            if any(late & {*symbols(e)} for e in fixed):
                bad.add(cell.store)
    return tuple(s.name for s in program.stores if s.name not in bad)


def _cells(s: prog.ProgramStatement) -> Iterable[prog.Cell]:
    match s:
        case prog.Call(args=args, results=results) | prog.Host(args=args, results=results):
            return (*args, *results)
        case prog.Region(carried=carried, read=read):
            return (*cells_of(carried), *cells_of(read))
        case prog.Block(carried=carried, made=made, read=read):
            return (*cells_of(carried), *cells_of(made), *cells_of(read))
        case prog.Free(cells=cells):
            return cells
        case _:
            return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _CellUse:
    """The use of a cell by a statement.

    It ``reads`` the old contents under any of these conditions (``None``: always). ``anew``: it
    overwrites the cell. ``left`` is the reach that remains in enclosing loops.
    """

    store: str
    key: CellKey
    reads: tuple[ix.Expr | None, ...]
    anew: bool
    left: int

    def and_then(self, other: _CellUse) -> _CellUse:
        """The use by two statements in sequence."""
        reads = self.reads if self.anew else tuple(dict.fromkeys((*self.reads, *other.reads)))
        return replace(self, reads=reads, left=min(self.left, other.left))

    def load(self) -> prog.Cell:
        """The cell to load, with the condition under which it is read."""
        several = [e for e in self.reads if e is not None]
        when = ix.disjunction(*several) if len(several) == len(self.reads) else None
        return prog.Cell(store=self.store, key=self.key, when=when)

    def evict(self) -> prog.Cell:
        """The cell to evict."""
        return prog.Cell(store=self.store, key=self.key)


_Uses = Mapping[_StoredCell, _CellUse]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatementMoves:
    """A statement with its transfers; ``uses`` are left to the enclosing loop.

    ``inside`` are the uses whose cells it loads or evicts itself.
    """

    statement: prog.ProgramStatement
    uses: _Uses
    inside: tuple[_CellUse, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Residency:
    """Cells that are loaded before one statement of a sequence and evicted after another."""

    first: int
    last: int
    uses: dict[_StoredCell, _CellUse] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rewriter:
    away: Mapping[str, Buffer]
    reach: PrefetchReach
    params: frozenset[str]
    ahead: frozenset[str]
    late: frozenset[str]

    def within(self, s: prog.ProgramStatement, loop: prog.Loop | None) -> _StatementMoves:
        """A body with its transfers, except for cells that stay resident during all of ``loop``.

        Without a loop there are none of these.
        """
        parts = [self.transfers(item) for item in _flattened(s)]
        before: list[list[prog.Cell]] = [[] for _ in parts]
        early: list[list[prog.Cell]] = [[] for _ in parts]
        after: list[list[prog.Cell]] = [[] for _ in parts]
        outer: dict[_StoredCell, _CellUse] = {}
        moving: list[_Residency] = []
        inside = [use for part in parts for use in part.inside]
        for stays in self.residencies(parts):
            if loop is not None and self.may_hoist(stays, loop.var, inside):
                outer |= {p: replace(u, left=u.left - 1) for p, u in stays[0].uses.items()}
                continue
            moving += stays
            inside += (use for stay in stays for use in stay.uses.values())
        by_store = _by_store(moving)
        for stay in moving:
            before[stay.first] += [use.load() for use in stay.uses.values() if use.reads]
            if loop is None or loop.limit is not None or self.late & {*symbols(loop.upper)}:
                after[stay.last] += [use.evict() for use in stay.uses.values()]
            else:
                early[stay.first] += self.prefetches(stay, loop)
                used = [
                    k for k, part in enumerate(parts) if not isinstance(part.statement, prog.Free)
                ]
                after[stay.last] += self.evictions(stay, loop, by_store, (used[0], used[-1]))
        statements: list[prog.ProgramStatement] = []
        for k, part in enumerate(parts):
            statements += [prog.Load(cells=(*before[k],))] if before[k] else []
            statements += [prog.Load(cells=(*early[k],), ahead=True)] if early[k] else []
            statements.append(part.statement)
            statements += [prog.Evict(cells=(*after[k],))] if after[k] else []
        body = statements[0] if len(statements) == 1 else prog.Sequence(items=(*statements,))
        return _StatementMoves(statement=body, uses=outer, inside=(*inside,))

    def may_hoist(self, stays: list[_Residency], var: str, inside: list[_CellUse]) -> bool:
        """Whether cells are loop-invariant and may stay resident during the loop."""
        uses = [use for stay in stays for use in stay.uses.values()]
        fixed = (e for u in uses for e in (*u.key, *u.reads) if e is not None)
        is_single = len(stays) == 1 and all(u.left > 1 for u in uses)
        return (
            is_single
            and not any(var in symbols(e) for e in fixed)
            and not self.may_alias(uses, inside)
        )

    def prefetches(self, stay: _Residency, loop: prog.Loop) -> Iterator[prog.Cell]:
        """The prefetches for the next step: cells that it reads and this loop does not write."""
        changed = written_stores(loop.body)
        if any(name in changed for name, _ in stay.uses):
            return
        following = _next_value(loop)
        has_next = ix.compare("<" if loop.step > 0 else ">", following, loop.upper)
        for use in stay.uses.values():
            if use.reads and use.store in self.ahead:
                cell = use.load()
                key = tuple(substitute(e, {loop.var: following}) for e in cell.key)
                later = replace(use, key=key)
                if self.may_alias([later], stay.uses.values()):
                    continue
                then = [] if cell.when is None else [substitute(cell.when, {loop.var: following})]
                yield replace(cell, key=key, when=ix.conjunction(has_next, *then))

    def evictions(
        self,
        stay: _Residency,
        loop: prog.Loop,
        others: Mapping[str, list[_Residency]],
        ends: tuple[int, int],
    ) -> Iterator[prog.Cell]:
        """The evictions after a step; cells that the next step reads only after the last step.

        ``others`` are the residencies of the body by store, ``ends`` the first and the last
        statement of the body that are not frees.
        """
        last = ix.compare(">=" if loop.step > 0 else "<=", _next_value(loop), loop.upper)
        for use in stay.uses.values():
            same = others[use.store] if len(stay.uses) == 1 else []
            again = [s for s in same if self.reads_next(s, use, loop)]
            free = any((s.first, stay.last) == ends for s in again)
            stays = free or (again and use.store in self.ahead)
            yield replace(use.evict(), when=last) if stays else use.evict()

    def reads_next(self, stay: _Residency, use: _CellUse, loop: prog.Loop) -> bool:
        """Whether a residency of the next step reads this cell."""
        following = _next_value(loop)
        return any(
            u.store == use.store
            and u.reads
            and are_same(
                self.away[u.store],
                tuple(substitute(e, {loop.var: following}) for e in u.key),
                use.key,
            )
            for u in stay.uses.values()
        )

    def may_alias(self, some: Iterable[_CellUse], others: Iterable[_CellUse]) -> bool:
        """Whether any two of these cells may alias."""
        return any(self.may_be_same(a, b) for a in some for b in others)

    def may_be_same(self, a: _CellUse, b: _CellUse) -> bool:
        """Whether two cells may alias."""
        return a.store == b.store and not are_apart(self.away[a.store], a.key, b.key)

    def residencies(self, parts: list[_StatementMoves]) -> list[list[_Residency]]:
        """The residencies of the cells of a sequence, for each group of cells that may alias."""
        result: list[list[_Residency]] = []
        insides = [_uses_by_store(part.inside) for part in parts]
        for group in self.groups([part.uses for part in parts]):
            runs: list[_Residency] = []
            follows = False
            ((store, _), *_) = group
            for k, part in enumerate(parts):
                own: dict[_StoredCell, _CellUse] = {}
                if not group.keys().isdisjoint(part.uses):
                    own = {p: u for p, u in part.uses.items() if p in group}
                if self.may_alias(group.values(), insides[k].get(store, ())):
                    follows = False
                if not own:
                    near = any(u.left == NEAR for u in group.values())
                    follows = follows and (not near or isinstance(part.statement, prog.Free))
                    continue
                if not follows:
                    runs.append(_Residency(first=k, last=k))
                follows, last = True, runs[-1]
                last.last = k
                for place, use in own.items():
                    before = last.uses.get(place)
                    last.uses[place] = use if before is None else before.and_then(use)
            result.append(runs)
        return result

    def groups(self, uses: list[_Uses]) -> list[dict[_StoredCell, _CellUse]]:
        """Groups of cells that may alias, each of one store."""
        groups: dict[int, dict[_StoredCell, _CellUse]] = {}
        of_store: dict[str, list[int]] = {}
        cells = {p: u for own in uses for p, u in own.items()}
        for number, (place, use) in enumerate(cells.items()):
            near = of_store.get(use.store, [])
            same = [k for k in near if self.may_alias([use], groups[k].values())]
            merged = {p: u for k in same for p, u in groups.pop(k).items()}
            groups[number] = {**merged, place: use}
            of_store[use.store] = [*(k for k in near if k not in same), number]
        return [*groups.values()]

    def transfers(self, s: prog.ProgramStatement) -> _StatementMoves:
        """A statement of a sequence with its transfers and uses."""
        match s:
            case prog.Loop(body=body):
                inner = self.within(body, s)
                # The loop may run no step, and then overwrites nothing.
                uses = {p: replace(u, anew=False) for p, u in inner.uses.items()}
                return replace(inner, statement=replace(s, body=inner.statement), uses=uses)
            case prog.Guard(body=body):
                inner = self.within(body, None)
                return replace(inner, statement=replace(s, body=inner.statement))
            case prog.Call(args=args, results=results) | prog.Host(args=args, results=results):
                return _StatementMoves(statement=s, uses=self.uses(args, results))
            case prog.Effect(call=call):
                return _StatementMoves(statement=s, uses=self.uses(call.args, call.results))
            case prog.Region(carried=carried, read=read):
                taken = (*carried, *read)
                return _StatementMoves(statement=s, uses=self.uses(cells_of(taken), ()))
            case prog.Block(carried=carried, made=made, read=read):
                # The runner may execute the calls one by one, which then read what they write into.
                taken = (*carried, *made, *read)
                return _StatementMoves(statement=s, uses=self.uses(cells_of(taken), ()))
            case _:
                return _StatementMoves(statement=s, uses={})

    def uses(self, taken: Iterable[prog.Cell], written: Iterable[prog.Cell]) -> _Uses:
        """The uses of offloaded cells by a call."""
        uses: dict[_StoredCell, _CellUse] = {}
        for cells, reads in ((taken, True), (written, False)):
            for cell in cells:
                if cell.store in self.away:
                    place = cell.store, slot(self.away[cell.store], cell.key)
                    # A param that the user passes is not written, so its old contents are needed.
                    old = reads or cell.store in self.params
                    use = _CellUse(
                        store=cell.store,
                        key=cell.key,
                        reads=(cell.when,) if old else (),
                        anew=not old and cell.when is None,
                        left=self.reach[cell.store],
                    )
                    uses[place] = uses[place].and_then(use) if place in uses else use
        return uses


def _by_store(stays: Iterable[_Residency]) -> dict[str, list[_Residency]]:
    """Residencies by the stores whose cells they have."""
    by_store: dict[str, list[_Residency]] = {}
    for stay in stays:
        for store in dict.fromkeys(name for name, _ in stay.uses):
            by_store.setdefault(store, []).append(stay)
    return by_store


def _uses_by_store(uses: Iterable[_CellUse]) -> dict[str, list[_CellUse]]:
    """Uses by their stores: cells of different stores never alias."""
    by_store: dict[str, list[_CellUse]] = {}
    for use in uses:
        by_store.setdefault(use.store, []).append(use)
    return by_store


def _next_value(loop: prog.Loop) -> ix.Expr:
    """The value of a loop's variable in the next step."""
    return ix.Sym(loop.var) + loop.step


def _flattened(s: prog.ProgramStatement) -> Iterator[prog.ProgramStatement]:
    if isinstance(s, prog.Sequence):
        for item in s.items:
            yield from _flattened(item)
    else:
        yield s
