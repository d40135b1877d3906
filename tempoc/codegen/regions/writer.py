"""Writes the text of regions: calls of kernels, loops around ``lax.fori_loop``, branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import assert_never

from tempoc.base.names import Names
from tempoc.base.python_text import docstring, identifier
from tempoc.codegen.kernels.kernel import signature
from tempoc.codegen.regions.branches import is_read_as_changed, is_selected, static_part
from tempoc.codegen.regions.capacity import prefix_axes
from tempoc.codegen.regions.counts import counting_bounds, loop_counts
from tempoc.codegen.regions.effects import print_kernels
from tempoc.codegen.regions.lengths import (
    ended_length,
    ended_lengths,
    is_same_point,
    lengths_at_others,
    own_lengths,
    step_lengths,
)
from tempoc.codegen.regions.loop_state import equal_stores, may_hold, rotated_rings
from tempoc.codegen.regions.spelling import RegionNames
from tempoc.codegen.text.naming import CODE, FAULT, REGION_NAMES, RESERVED, names_in
from tempoc.codegen.text.static_values import static_values
from tempoc.codegen.text.wrap_lines import INDENT, WIDTH, wrapped
from tempoc.ops.definition.dtype_text import tupled
from tempoc.program.analysis.live import (
    StoreKinds,
    changed_stores,
    live_after_each,
    live_before,
    live_in_loop,
)
from tempoc.program.analysis.traversal import calls, statements_in, variables
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.spelling import variable
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.text import ATOM
from tempoc.symbolic.walk import ceildiv, symbols


@dataclass(slots=True, kw_only=True)
class RegionWriter(RegionNames):
    """Writes the function of one region or block.

    ``fixed`` are the constant bounds, ``ends`` the lengths that the region ends, ``end_names`` the
    variables that carry these; ``row_names`` those that carry rows, by the kernel of a print,
    at steps of the loop over ``root``. With a ``step_limit`` it is told how many steps of loops
    with own lengths there may be, and returns how many are ``left``. ``live_out`` are the stores
    that are live after the statement that is being written, ``around`` is the innermost loop of the
    device around it.
    """

    fixed: Mapping[str, int]
    live_out: frozenset[str]
    ends: tuple[ix.Expr, ...] = ()
    lines: list[str] = field(default_factory=list)
    values: dict[str, int] = field(default_factory=dict)
    index: str = "i"
    end_names: dict[ix.Expr, str] = field(default_factory=dict)
    row_names: dict[str, str] = field(default_factory=dict)
    checked: bool = False
    step_limit: bool = False
    left: str = ""
    root: str = ""
    around: prog.Loop | None = None

    def begin(self, s: prog.ProgramStatement) -> None:
        """Choose the names of the function, and write the initial values of ends and faults."""
        own = map(variable, (*self.context.bounds, *self.outer, *variables(s)))
        taken = [*RESERVED, *own, *self.context.kernels, *REGION_NAMES]
        self.locals = Names(taken, spaced=True)
        self.index = self.locals.fresh("i")
        for store in self.cells:
            self.array_names[store] = self.locals.fresh(identifier(store))
        self.static, self.values = {*self.context.bounds}, dict(self.fixed)
        for e in self.length_params:
            name = symbols(e)[0]
            self.lengths[e] = self.locals.fresh(variable(name))
            if e in self.ends:
                self.end_names[e] = self.locals.fresh(f"{name}_end")
                self.line(1, f"{self.end_names[e]} = jnp.int32(0)")
        for e in own_lengths(s):
            name = symbols(e)[0]
            self.lengths[e] = self.locals.fresh(variable(name))
            self.end_names[e] = self.locals.fresh(f"{name}_end")
        self.left = self.locals.fresh("left") if self.step_limit and own_lengths(s) else ""
        called = {c.kernel: self.kernel(c) for c in calls(s)}
        stores = {name: self.context.stores[name] for name in self.cells}
        self.counting = counting_bounds(replace(self.context, kernels=called, stores=stores))
        for e, count in loop_counts(s, self.context).items():
            self.counts[e] = self.locals.fresh(count)
        for kernel in print_kernels(s):
            self.row_names[kernel] = name = self.locals.fresh(f"{kernel}_rows")
            arrays = (self.zeros(prog.Cell(store=b.name)) for b in self.context.rows[kernel])
            self.line(1, f"{name} = {tupled(['jnp.int32(0)', *arrays])}")
        self.checked = any(self.checks(c) for c in calls(s))
        if self.checked:
            self.line(1, f"{FAULT} = jnp.zeros({3 + self.rank(s)}, jnp.int32)")

    def end(
        self,
        name: str,
        s: prog.ProgramStatement,
        doc: str,
        donated: int,
        given: list[str],
        returned: list[str],
        first: tuple[str, ...] = (),
    ) -> tuple[prog.Kernel, list[str]]:
        """The kernel and the lines of its function; ``first`` are its first keyword arguments."""
        numbers = [*(self.end_names[e] for e in self.ends), *([self.left] if self.left else [])]
        ends = [tupled(numbers)] if numbers else []
        rows = [*self.row_names.values()]
        self.line(1, f"return {tupled(returned + rows + ends + [FAULT] * self.checked)}")
        body, self.lines = self.lines, []
        used = names_in(body)
        for k, var in enumerate(self.outer):
            if variable(var) in used:
                self.line(1, f"{variable(var)} = at[{k + self.ahead}]")
        for e in self.length_params:
            if e not in self.ends or not self.ahead:
                self.line(1, f"{self.lengths[e]} = {self.length_argument(e)}")
        for e, count in self.counts.items():
            self.line(1, f"{count} = {self.count_argument(e)}")
        if self.left:
            self.line(1, f"{self.left} = at[-1]")
        bounds = tuple(b for b in self.context.bounds if b in self.used)
        head = signature(name, ["at", *given], (*first, *bounds))
        equations = dict.fromkeys(e for c in calls(s) for e in self.kernel(c).equations)
        words = [INDENT + line for line in docstring(doc)]
        lines = [*head, *words, *self.lines, *body]
        callees = {c.kernel: self.kernel(c).static for c in calls(s)}
        kernel = prog.Kernel(
            name=name,
            dims=(),
            bounds=bounds,
            static=static_values("\n".join(lines), {variable(b): b for b in bounds}, callees),
            donated=tuple(range(donated)),
            equations=tuple(equations),
            checks=("",) * self.checked,
        )
        return kernel, lines

    def refresh_lengths(self, s: prog.ProgramStatement, depth: int) -> None:
        """Recompute the lengths that a statement may have ended, by whatever name."""
        for e in ended_lengths(s):
            end = self.end_names[e]
            self.line(
                depth, f"{self.lengths[e]} = jnp.where({end} > 0, {end}, {self.largest_length(e)})"
            )
            for other in lengths_at_others(e, self.length_params):
                if other not in self.end_names:
                    same = self.text(is_same_point(e, other))
                    known = self.length_argument(other)
                    self.line(
                        depth,
                        f"{self.lengths[other]} = jnp.where({same}, {self.lengths[e]}, {known})",
                    )

    def begin_lengths(self, loop: prog.Loop, depth: int) -> None:
        """Let the lengths that each step of a loop finds out be the largest ones again."""
        for e in step_lengths(loop):
            self.line(depth, f"{self.end_names[e]} = jnp.int32(0)")
            self.line(depth, f"{self.lengths[e]} = jnp.int32({self.largest_length(e)})")

    def largest_length(self, e: ix.Expr) -> str:
        """A length as it is before it ends."""
        if e in self.length_params:
            return self.length_argument(e)
        bound = symbols(e)[0]
        most = self.text(ix.Sym(next(n.largest for n in self.context.lengths if n.bound == bound)))
        return f"jnp.where({self.left} > 0, {most}, 1)" if self.left else most

    @property
    def kinds(self) -> StoreKinds:
        """What liveness has to know of the stores."""
        return self.context.kinds

    @contextmanager
    def with_live_out(self, live_out: frozenset[str]) -> Iterator[None]:
        """Write a part after which these stores are live."""
        outside, self.live_out = self.live_out, live_out
        yield
        self.live_out = outside

    def line(self, depth: int, content: str) -> None:
        """Write a line, wrapped where it is too long."""
        self.lines += wrapped(INDENT * depth + content)

    # ------------------------------------------------------------ statements

    def statement(self, s: prog.ProgramStatement, depth: int) -> None:
        """The lines of any statement."""
        match s:
            case prog.Sequence(items=items):
                for item, after in live_after_each(items, self.live_out, self.kinds):
                    with self.with_live_out(after):
                        self.statement(item, depth)
            case prog.Loop(place="unrolled"):
                self.unrolled(s, depth)
            case prog.Loop():
                self.device(s, depth)
            case prog.Guard():
                self.guard(s, depth)
            case prog.Call() if is_read_as_changed(s, self.around, self.context):
                self.branch(s, depth)
            case prog.Call():
                self.call(s, depth)
            case prog.Free():
                pass
            case prog.Region(loop=loop):
                self.device(loop, depth)
            case prog.Effect():
                self.effect(s, depth)
            case prog.Host() | prog.Block() | prog.Load() | prog.Evict() | prog.Chunk():
                raise TypeError(f"{type(s).__name__} in a region")
            case _:
                assert_never(s)

    def unrolled(self, loop: prog.Loop, depth: int) -> None:
        """A loop that runs while JAX traces the function."""
        ends = ", ".join(self.text(e) for e in (loop.lower, loop.upper))
        step = "" if loop.step == 1 else f", {loop.step}"
        self.line(depth, f"for {variable(loop.var)} in range({ends}{step}):")
        self.static.add(loop.var)
        self.begin_lengths(loop, depth + 1)
        with self.with_live_out(live_in_loop(loop, self.live_out, self.kinds)):
            self.block(loop.body, depth + 1)
        self.static.discard(loop.var)

    def block(self, s: prog.ProgramStatement, depth: int) -> None:
        """The lines of a body; ``pass`` if it has none."""
        before = len(self.lines)
        self.statement(s, depth)
        if len(self.lines) == before:
            self.line(depth, "pass")

    def device(self, loop: prog.Loop, depth: int, *, root: bool = False) -> None:
        """A loop of the device."""
        self.root = variable(loop.var) if root else self.root
        loop = loop if root or ended_lengths(loop) else _clamped(loop)
        after = live_in_loop(loop, self.live_out, self.kinds)
        carried = self.carried_names(loop, after)
        if not carried:
            return
        around, self.around = self.around, loop
        equal = {} if ended_lengths(loop) else self.equal_arrays(loop, carried)
        with self.with_live_out(after):
            self.fori_loop(loop, [name for name in carried if name not in equal], depth, root)
        self.around = around
        ends = ("0", "count") if root or not equal else self.loop_range(loop)
        for name, other in equal.items():
            self.line(depth, f"{name} = jnp.where({' < '.join(ends)}, {other}, {name})")

    def equal_arrays(self, loop: prog.Loop, carried: list[str]) -> dict[str, str]:
        """The arrays that a loop need not carry, each with the one that it equals after a step."""
        names = self.array_names
        pairs = ((names.get(a), names.get(b)) for a, b in equal_stores(loop, self.context))
        return {a: b for a, b in pairs if a and b and a in carried and b in carried}

    def fori_loop(self, loop: prog.Loop, carried: list[str], depth: int, root: bool) -> None:
        """A ``lax.fori_loop`` that carries these arrays."""
        if ended_lengths(loop):
            self.while_loop(loop, carried, depth, root)
            return
        step, var = self.locals.fresh(f"step_{loop.var}"), variable(loop.var)
        plain = not root and loop.step == 1
        index = var if plain else self.index
        self.line(depth, f"def {step}({index}, carry):")
        self.line(depth + 1, f"{tupled(carried)} = carry")
        narrow = ".astype(jnp.int32)" if self.context.x64 else ""
        if plain and narrow:
            self.line(depth + 1, f"{var} = {var}{narrow}")
        if not plain:
            start = "at[0]" if root else self.text(loop.lower, ATOM)
            sign = "-" if loop.step < 0 else "+"
            by = "" if abs(loop.step) == 1 else f" * {abs(loop.step)}"
            self.line(depth + 1, f"{var} = {start} {sign} {index}{narrow}{by}")
        self.begin_lengths(loop, depth + 1)
        self.step_stores(loop, depth + 1)
        self.block(loop.body, depth + 1)
        self.line(depth + 1, f"return {tupled(carried)}")
        ends = ("0", "count") if root else self.loop_range(loop)
        places = self.unit_axis_places(loop, carried)
        plain_loop, narrow_loop = "lax.fori_loop", "looped"
        if self.is_strip_mined(loop, root):
            plain_loop, narrow_loop = "strip_mined_loop", "looped_in_strips"
        looped = f"{narrow_loop if places else plain_loop}({', '.join(ends)}, {step}"
        first = "at[0]" if root else self.end_text(loop.lower)
        if rings := self.rings(loop, carried):
            looped = f"rotated({', '.join(ends)}, {step}"
            sign = ", -1" if loop.step < 0 else ", 1" if places else ""
            places = f", {rings}, {first}{sign}{places}"
        prefixes = None if root or rings else prefix_axes(loop, self.context, self.live_out)
        if prefixes is None or loop.step != 1:
            self.assign_carry(depth, carried, lambda carry: f"{looped}, {carry}{places})")
            return
        kind = looped.partition("(")[0]
        some = self.locals.fresh("loop")
        rest = f"{step}, carry{places})"
        self.line(depth, f"{some} = lambda first, end, carry: {kind}(first, end, {rest}")
        names = {self.array_names[store]: axis for store, axis in prefixes[0].items()}
        axes = ", ".join(f"{k}: {names[n]}" for k, n in enumerate(carried) if n in names)
        looped = f"looped_in_prefixes({', '.join(ends)}, {some}"
        more = f", {{{axes}}}, {prefixes[1]})"
        self.assign_carry(depth, carried, lambda carry: f"{looped}, {carry}{more}")

    def is_strip_mined(self, loop: prog.Loop, root: bool) -> bool:
        """Whether a loop has a number of steps that is passed, and brief steps: no inner loops."""
        passed = {loop.lower, loop.upper} & {*self.counts}
        inner = any(isinstance(part, prog.Loop) for part in statements_in(loop.body))
        return bool(passed) and not inner and not root and loop.step == 1

    def rings(self, loop: prog.Loop, carried: list[str]) -> str:
        """The places of the rings that a loop carries as rows, with how far ahead it writes."""
        aheads = {
            self.array_names[store]: ahead
            for store, ahead in rotated_rings(loop, self.cells, self.context)
        }
        some = (f"{k}: {aheads[name]}" for k, name in enumerate(carried) if name in aheads)
        text = ", ".join(some)
        return f"{{{text}}}" if text else ""

    def step_stores(self, loop: prog.Loop, depth: int) -> None:
        """The arrays that a step of a loop makes, as it does not overwrite them first."""
        local = live_before(loop.body, self.live_out, self.kinds) & self.kinds.local_to(loop)
        for name, cells in self.cells.items():
            if name in local:
                zeros = self.zeros(prog.Cell(store=name, key=cells.keys[0]))
                self.line(depth, f"{self.array_names[name]} = {zeros}")

    def unit_axis_places(self, loop: prog.Loop, carried: list[str]) -> str:
        """Positions of arrays that a loop carries without unit axes, as the text of an argument."""
        names = self.squeezed_arrays(loop)
        places = [str(k) for k, name in enumerate(carried) if name in names]
        return f", {tupled(places)}" if places else ""

    def squeezed_arrays(self, loop: prog.Loop) -> set[str]:
        """The names of the arrays that a loop updates and reads and that may have unit axes.

        XLA for CPUs copies such arrays in each step, unless their unit axes are squeezed; arrays
        that are only written it copies if they are squeezed.
        """
        updated: set[str] = set()
        read: set[str] = set()
        for call in calls(loop):
            given = {cell.store for cell in call.args}
            changed = given & {cell.store for cell in call.results}
            own = self.context.narrow.get(call.kernel)
            updated |= changed if own is not None else set()
            read |= given if own is None else (given - changed) | (own & changed)
        return {self.array_names[store] for store in updated & read if store in self.cells}

    def is_squeezed(self, cell: prog.Cell) -> bool:
        """Whether the loop around carries the array of a cell without unit axes."""
        name, loop = self.array_names[cell.store], self.around
        return loop is not None and name in self.squeezed_arrays(loop)

    def while_loop(self, loop: prog.Loop, carried: list[str], depth: int, root: bool) -> None:
        """A ``lax.while_loop`` that ends a length."""
        step, var = self.locals.fresh(f"step_{loop.var}"), variable(loop.var)
        more = self.locals.fresh(f"more_{loop.var}")
        start = "at[0]" if root else self.coordinate(loop.lower)
        going = f"{var} < at[0] + count" if root else f"{var} < {self.text(loop.upper, ATOM)}"
        if loop.limit is not None:
            going = f"({going}) & ({var} < {self.text(loop.limit, ATOM)})"
        self.line(depth, f"def {more}(carry):")
        self.line(depth + 1, f"{var}, {tupled(carried)} = carry")
        self.refresh_lengths(loop, depth + 1)
        self.line(depth + 1, f"return {going}")
        self.line(depth, f"def {step}(carry):")
        self.line(depth + 1, f"{var}, {tupled(carried)} = carry")
        self.refresh_lengths(loop, depth + 1)
        self.begin_lengths(loop, depth + 1)
        self.step_stores(loop, depth + 1)
        self.block(loop.body, depth + 1)
        if self.left in carried and not {*ended_lengths(loop)} <= {*self.ends}:
            self.line(depth + 1, f"{self.left} = jnp.maximum({self.left} - 1, 0)")
        self.line(depth + 1, f"return {var} + 1, {tupled(carried)}")
        places = self.unit_axis_places(loop, carried)
        loop_call = "looped_while" if places else "lax.while_loop"
        self.line(depth, f"carry = {start}, {tupled(carried)}")
        self.line(
            depth,
            f"_, {tupled(carried)} = {loop_call}({more}, {step}, carry{places})",
        )
        if not root:
            self.refresh_lengths(loop, depth)

    def loop_range(self, loop: prog.Loop) -> tuple[str, str]:
        """The range of a ``lax.fori_loop``: the loop's own for step 1, else from 0 to the count."""
        if loop.step == 1:
            return self.end_text(loop.lower), self.end_text(loop.upper)
        gap = ix.sub(loop.upper, loop.lower)
        gap = gap if loop.step > 0 else ix.sub(ix.ZERO, gap)
        return "0", self.text(ceildiv(gap, abs(loop.step)))

    def end_text(self, e: ix.Expr) -> str:
        """An end of the range of a loop: a number that is passed, or what it is computed from."""
        return self.counts[e] if e in self.counts else self.text(e)

    def guard(self, guard: prog.Guard, depth: int) -> None:
        """A guarded body: Python's ``if`` for a static condition, else a branch of JAX."""
        if not may_hold(guard.condition, self.values) or not any(True for _ in calls(guard.body)):
            return
        if self.is_static(guard.condition):
            self.line(depth, f"if {self.text(guard.condition)}:")
            self.block(guard.body, depth + 1)
            return
        # JAX traces branches that are never taken, too; a static ``if`` around them avoids that.
        static, traced = self.split_static(guard.condition)
        if static is not None:
            inner = prog.Guard(condition=traced, body=guard.body)
            self.guard(prog.Guard(condition=static, body=inner), depth)
            return
        if (
            isinstance(guard.body, prog.Guard)
            and self.split_static(guard.body.condition)[0] is None
        ):
            both = ix.conjunction(guard.condition, guard.body.condition)
            self.guard(prog.Guard(condition=both, body=guard.body.body), depth)
            return
        passed = live_before(guard.body, frozenset(), self.kinds)
        carried = self.carried_names(guard.body, self.live_out | passed)
        if not carried:
            return
        needed = static_part(guard.condition, self.is_static)
        if any(n not in self.context.bounds for n in symbols(needed)):
            # Where it fails at a step that is written out, there may be no such array.
            self.line(depth, f"if {self.text(needed)}:")
            depth += 1
        branch = self.locals.fresh("taken")
        with self.function_of(branch, carried, depth):
            self.refresh_lengths(guard.body, depth + 1)
            self.block(guard.body, depth + 1)
        condition = self.text(guard.condition)
        function = "selected_if" if is_selected(guard, self.around, self.context) else "taken_if"
        call = f"{function}({condition}, {branch}, "
        self.assign_carry(depth, carried, lambda carry: f"{call}{carry})")
        self.refresh_lengths(guard.body, depth)

    def branch(self, call: prog.Call, depth: int) -> None:
        """A call that is a branch of JAX, which is always taken."""
        carried = self.carried_names(call, self.live_out)
        if not carried:
            return
        assert self.around is not None
        name, step = self.locals.fresh("changed"), variable(self.around.var)
        with self.function_of(name, carried, depth):
            self.call(call, depth + 1)
        self.assign_carry(depth, carried, lambda carry: f"in_branch({step}, {name}, {carry})")

    @contextmanager
    def function_of(self, name: str, carried: list[str], depth: int) -> Iterator[None]:
        """Write the body of a function of the carry."""
        self.line(depth, f"def {name}(carry):")
        self.line(depth + 1, f"{tupled(carried)} = carry")
        yield
        self.line(depth + 1, f"return {tupled(carried)}")

    def split_static(self, condition: ix.Expr) -> tuple[ix.Expr | None, ix.Expr]:
        """The static conjuncts of a condition, ``None`` if there are none, and the traced ones."""
        parts = conjuncts(condition)
        static = [a for a in parts if self.is_static(a)]
        traced = ix.conjunction(*(a for a in parts if a not in static))
        return ix.conjunction(*static) if static else None, traced

    def assign_carry(self, depth: int, carried: list[str], call: Callable[[str], str]) -> None:
        """Assign the result of a call on the carry to the carry."""
        given = tupled(carried)
        content = f"{given} = {call(given)}"
        if len(INDENT * depth + content) > WIDTH:
            self.line(depth, f"carry = {given}")
            content = f"{given} = {call('carry')}"
        self.line(depth, content)

    def effect(self, effect: prog.Effect, depth: int) -> None:
        """The call of the kernel of a print, whose results become a row unless a check failed."""
        values = [self.locals.fresh("row") for _ in effect.places]
        self.call(effect.call, depth, values)
        rows, row = self.row_names[effect.call.kernel], tupled([self.root, *values])
        more = f"{FAULT}[1] == 0" if self.checked else "1"
        self.line(depth, f"{rows} = with_row({rows}, {row}, {more})")

    def call(self, call: prog.Call, depth: int, values: Sequence[str] = ()) -> None:
        """The call of a kernel; results with a condition are selected after it.

        The ``values`` are names for results that go to no cell.
        """
        kernel = self.kernel(call)
        targets, after = [*values], []
        for cell in call.results:
            when = ix.TRUE if cell.when is None else cell.when
            if cell.store not in self.cells or not may_hold(when, self.values):
                targets.append("_")  # the write never happens
                continue
            array = self.cell(cell)
            if cell.when is None:
                targets.append(array)
                continue
            new = self.locals.fresh(f"{self.array_names[cell.store]}_new")
            targets.append(new)
            if self.is_static(when):
                after += [f"if {self.text(when)}:", f"{INDENT}{array} = {new}"]
            else:
                function = "selected" if self.is_squeezed(cell) else "jnp.where"
                after.append(f"{array} = {function}({self.text(when)}, {new}, {array})")
        tests = [self.locals.fresh("ends") for _ in call.endings]
        targets += tests
        for target, ending in zip(tests, call.endings, strict=True):
            end = self.end_names[ended_length(ending)]
            after.append(f"{end} = jnp.where({target}, {self.text(ending.length)}, {end})")
        if kernel.checks:
            targets.append(CODE)
        if not targets:
            return
        at = [self.coordinate(e) for e in call.point] if kernel.dims else []
        at += [self.coordinate(e) for e in self.context.lengths_of(call)]
        given = [tupled(at), *(self.argument(cell) for cell in call.args)]
        for name in kernel.bounds:
            self.used[name] = None
        given += [f"{variable(name)}={variable(name)}" for name in kernel.bounds]
        right = f"{call.kernel}({', '.join(given)})"
        left = tupled(targets) if len(targets) == 1 else ", ".join(targets)
        self.line(depth, f"{left} = {right}")
        for content in after:
            self.line(depth, content)
        self.refresh_lengths(call, depth)
        if kernel.checks:
            number = list(self.context.kernels).index(kernel.name)
            point = tupled([self.coordinate(e) for e in call.point])
            code = CODE if call.where is None else f"jnp.where({self.text(call.where)}, {CODE}, 0)"
            self.line(depth, f"{FAULT} = first_fault({FAULT}, {number}, {code}, {point})")

    # ------------------------------------------------------------ effects of statements

    def carried_names(self, s: prog.ProgramStatement, after: frozenset[str]) -> list[str]:
        """The names of what a part changes that is live after it: arrays, ends, the fault."""
        changed = changed_stores(s, after, self.kinds)
        carried = [self.array_names[name] for name in changed if name in self.cells]
        carried += [self.row_names[kernel] for kernel in print_kernels(s)]
        carried += [self.end_names[e] for e in ended_lengths(s)]
        ended = {ended_length(e) for call in calls(s) for e in call.endings}
        carried += [self.left] if self.left and not ended <= {*self.ends} else []
        return carried + [FAULT] * any(self.checks(c) for c in calls(s))

    def kernel(self, call: prog.Call) -> prog.Kernel:
        """The kernel of a call."""
        return self.context.kernels[call.kernel]

    def checks(self, call: prog.Call) -> bool:
        """Whether the kernel of a call has run-time checks."""
        return bool(self.kernel(call).checks)

    def rank(self, s: prog.ProgramStatement) -> int:
        """The largest number of coordinates of a call with checks."""
        return max(len(c.point) for c in calls(s) if self.checks(c))


def _clamped(loop: prog.Loop) -> prog.Loop:
    """The loop with its range clamped to its limit."""
    if loop.limit is None or abs(loop.step) != 1:
        return loop
    if loop.step == 1:
        return replace(loop, upper=ix.minimum(loop.upper, loop.limit))
    return replace(loop, lower=ix.minimum(loop.lower, loop.limit - 1))


def kernel_list(s: prog.ProgramStatement) -> str:
    """The names of the first three kernels that a part calls."""
    kernels = list(dict.fromkeys(c.kernel for c in calls(s)))
    return ", ".join(kernels[:3]) + (", ..." if len(kernels) > 3 else ".")
