"""Calls of host functions: one kernel computes the operands, another one stores the results.

Operands and results are passed in stores of their own, one for each value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.base.names import Names
from tempoc.base.python_text import identifier
from tempoc.codegen.kernels.kernel import KernelFunction, function
from tempoc.codegen.kernels.point_body import Body
from tempoc.codegen.program.lengths import at_point
from tempoc.codegen.stores.context import KernelArgument, KernelResult, Stages
from tempoc.ops.control.externs import ExternHost
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.operator import EmittedValue, ImportedFunction
from tempoc.ops.definition.types import TensorType
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types, param_leaves
from tempoc.sdg.statements.statements import Statement
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCall:
    """A call: the kernel before it, the one after it if its results are used, the stores."""

    extern: str
    before: KernelFunction
    after: KernelFunction | None
    operands: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    shapes: tuple[tuple[ix.Expr, ...], ...]
    unless: tuple[str, ...]

    @property
    def kernels(self) -> tuple[KernelFunction, ...]:
        """The kernels, in the order in which they run."""
        return (self.before,) if self.after is None else (self.before, self.after)

    @property
    def stores(self) -> tuple[Buffer, ...]:
        """The stores of operands and results."""
        return (*self.operands, *self.results)

    def call(self, dims: tuple[str, ...], point: tuple[ix.Expr, ...]) -> prog.Host:
        """The call at a point."""
        return prog.Host(
            extern=self.extern,
            dims=dims,
            point=point,
            args=tuple(prog.Cell(store=s.name) for s in self.operands),
            results=tuple(prog.Cell(store=s.name) for s in self.results),
            shapes=self.shapes,
            unless=self.unless,
            equations=self.before.equations,
        )


def host(
    statement: Statement, stages: Stages, names: Names, externs: Mapping[ImportedFunction, str]
) -> HostCall:
    """Emit the kernels of a statement that calls one of the host functions ``externs``."""
    node = _node(statement, stages)
    assert isinstance(node.op, ExternHost)
    name = identifier(statement.name)
    before = function(statement, stages, names.fresh(f"{name}_operands"), _OperandKernel)
    after = None
    if statement.writes:
        after = function(statement, stages, names.fresh(f"{name}_results"), _ResultKernel)
    types = operand_types(stages.graph, node)

    def store(name: str, type_: TensorType) -> Buffer:
        shape = (stages.pad(statement, e) for e in type_.shape)
        return Buffer(name=name, dtype=type_.dtype.value, shape=tuple(shape))

    universe = stages.graph.universe
    point: dict[str, ix.Expr] = {d: ix.Sym(d) for d in statement.domain.dims}

    return HostCall(
        extern=externs[node.op.declared],
        before=before,
        after=after,
        operands=tuple(store(_operand(statement, k), t) for k, t in enumerate(types)),
        results=tuple(store(_result(statement, k), t) for k, t in enumerate(node.types)),
        shapes=tuple(tuple(at_point(e, universe, point) for e in t.shape) for t in types),
        unless=param_leaves(stages.graph, node.op.default),
    )


def calls_host(statement: Statement, graph: Graph) -> bool:
    """Whether a statement calls a host function; all other members are constants then."""
    return any(isinstance(graph.nodes[m].op, ExternHost) for m in statement.members)


def _node(statement: Statement, stages: Stages) -> Node:
    nodes_of = (stages.graph.nodes[m] for m in statement.members)
    return next(n for n in nodes_of if isinstance(n.op, ExternHost))


def _operand(statement: Statement, k: int) -> str:
    return f"{statement.name}.operand{k}"


def _result(statement: Statement, k: int) -> str:
    return f"{statement.name}.result{k}"


class _OperandKernel(Body):
    """The kernel before the call: computes the operands."""

    def run(self) -> tuple[KernelResult, ...]:
        """One result for each operand."""
        for read in self.statement.reads:
            if not self._is_local(read.member, read.slot):
                self._argument(self._cell(read), self._old_content_condition(read))
        node = _node(self.statement, self.stages)
        for member in self.statement.members:
            if member != node.name:
                self._member(member)
        results = []
        for slot in range(len(node.inputs)):
            value = pads.with_own_padding(self._operand(node.name, slot), self.out)
            results.append(KernelResult(cell=(_operand(self.statement, slot), ()), text=value.text))
        return tuple(results)


class _ResultKernel(Body):
    """The kernel after the call: writes the results into their stores."""

    def run(self) -> tuple[KernelResult, ...]:
        """The results of the statement's writes."""
        node = _node(self.statement, self.stages)
        for k, type_ in enumerate(node.types):
            name = self.names.fresh(identifier(f"{node.name}.{k}"))
            cell = (_result(self.statement, k), ())
            self.arguments[cell] = KernelArgument(cell=cell, name=name)
            self._values[node.name, k] = EmittedValue(name, type_, self._padded(type_))
        for write in self.statement.writes:
            if self._store(write).axes:
                self._argument(self._cell(write))
                self._pending.append(write)
        self._update([w.tensor for w in self._pending])
        return self._results()
