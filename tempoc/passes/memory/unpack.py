"""Unpacking: products make what is made of packed tensors where they read it, and store none of it.

    %q = param{dtype=i8, ...}       : [l]    i8[576, 576]
    %w = cast{dtype=f32} %q         : [l]    f32[576, 576]
    %y = matmul %w, %x              : [t, l] f32[576]
    ->
    %q = param{dtype=i8, ...}       : [l]    i8[576, 576]
    %y = unpacked_product{steps=((cast{dtype=f32}, (0,), (f32,)), (matmul{}, (2, 1), (f32,)))}
         %q, %x                     : [t, l] f32[576]

Packed are params and inputs, which are stored in any case. The value must be larger than these by
a factor, and be made by elementwise operators and moves alone, few for an element
(``MODEL.unpacked_factor``, ``MODEL.unpacked_work``). It would be stored, since several points of
the product read it. Unless all readers are such products it is stored all the same, and stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.steps import OpStep
from tempoc.ops.control.unpacked_product import UnpackedProduct
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import constant_elements
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.source import Input, Param
from tempoc.passes.context import GraphPass, PassContext
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import expressions, operand_type, operand_types, users
from tempoc.sdg.graph.rewrite import compose_node, drop_dead
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpack(GraphPass):
    """Makes products that unpack what they read."""

    least: int = field(
        default=MODEL.unpacked_least, metadata={"help": "fewest bytes of a value that is unpacked"}
    )

    name: ClassVar[str] = "unpack"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph in which products read what is packed."""
        readers = users(graph)
        outputs = {o.source for o in graph.outputs}
        before = graph
        for name in _large_values(graph, self.least):
            uses = [graph.nodes[r] for r in dict.fromkeys(use.reader for use in readers[name])]
            products = [_unpacking(graph, reader, name) for reader in uses]
            made = {p.name: p for p in products if p is not None}
            if not made:
                continue
            if len(made) < len(products) or name in outputs:
                why = "something else reads it, so that it is stored"
                message = f"`{name}` is not unpacked in products: {why}"
            else:
                graph = replace(graph, nodes={**graph.nodes, **made})
                where = ", ".join(f"`{p}`" for p in made)
                message = f"`{name}` is never stored, but unpacked for each product: {where}"
            context.remarks.add(self.name, message, before.nodes[name].span)
        return graph if graph is before else drop_dead(graph)


def _large_values(graph: Graph, least: int) -> list[str]:
    """The values that products may read, if they are made of packed tensors."""
    nodes = graph.nodes.values()
    made = [n for n in nodes if _is_step(n.op) and len(n.types) == 1]
    return [n.name for n in made if _bytes(n.types[0]) >= least]


def _is_product(graph: Graph, node: Node) -> bool:
    """Whether a node is a product in a loop, of tensors of constant extents at points."""
    if not node.op.contraction or isinstance(node.op, UnpackedProduct) or _names_dims(node.op):
        return False
    types = (*operand_types(graph, node), *node.types)
    constant = all(constant_elements(t.shape) is not None for t in types)
    sliced = any(isinstance(x, ix.Slice) for e in node.inputs for x in e.entries)
    return bool(node.domain.dims) and constant and not sliced


def _is_step(op: Op) -> bool:
    """Whether an operator makes its result element by element, without a look at the point."""
    made = op.elementwise or op.moves or op.cheap
    return op.computed and op.pure and made and not op.checks and not _names_dims(op)


def _names_dims(op: Op) -> bool:
    """Whether attributes vary with bounds or with the point."""
    return any(symbols(e) for e in expressions(op))


def _unpacking(graph: Graph, reader: Node, name: str) -> Node | None:
    """The product that unpacks a value that a reader reads; ``None`` if that is not possible, or
    would not pay."""
    slots = [k for k, e in enumerate(reader.inputs) if e.source == name]
    if len(slots) != 1 or not _is_product(graph, reader):
        return None
    chain = _UnpackingSteps(graph)
    unpacked = chain.value(reader.inputs[slots[0]])
    if unpacked is None or not chain.pays(reader, graph.nodes[name].types[0]):
        return None
    others = [e for k, e in enumerate(reader.inputs) if k not in slots]
    count = len(chain.packed) + len(others)
    places = iter(range(len(chain.packed), count))
    taken = [unpacked if k in slots else next(places) for k in range(len(reader.inputs))]
    spans = dict.fromkeys(s for n in (reader, *chain.nodes) for s in n.spans)
    last = (reader.op, tuple(taken), tuple(t.dtype for t in reader.types))
    steps = tuple(
        (op, tuple(k if k >= 0 else count + ~k for k in taken), dtypes)
        for op, taken, dtypes in (*chain.steps, last)
    )
    return replace(
        reader,
        op=UnpackedProduct(steps=steps, packed=len(chain.packed)),
        inputs=(*chain.packed, *others),
        spans=tuple(spans),
    )


@dataclass(slots=True)
class _UnpackingSteps:
    """The steps by which a value is made of packed tensors, at the point of its reader.

    Packed tensors are numbered from 0, the results of steps from -1 downward: how many operands
    there are in all is not known yet.
    """

    graph: Graph
    packed: dict[Edge, int] = field(default_factory=dict)
    steps: list[OpStep] = field(default_factory=list)
    types: list[TensorType] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    known: dict[Edge, int] = field(default_factory=dict)

    def value(self, edge: Edge) -> int | None:
        """The number of what an edge reads; ``None`` if it is not made of packed tensors."""
        node = self.graph.nodes[edge.source]
        if any(isinstance(x, ix.Slice) for x in edge.entries):
            return None
        edge = replace(edge, span=None)
        if isinstance(node.op, Input | Param):
            return self.packed.setdefault(edge, len(self.packed))
        if edge in self.known:
            return self.known[edge]
        composed = compose_node(node, edge, self.graph.universe) if _is_step(node.op) else None
        if (
            composed is None
            or len(node.types) != 1
            or constant_elements(node.types[0].shape) is None
        ):
            return None
        op, operands = composed
        taken = [self.value(e) for e in operands]
        if None in taken:
            return None
        self.steps.append((op, tuple(k for k in taken if k is not None), (node.types[0].dtype,)))
        self.types.append(node.types[0])
        self.nodes.append(node)
        self.known[edge] = ~(len(self.steps) - 1)
        return self.known[edge]

    def pays(self, reader: Node, unpacked: TensorType) -> bool:
        """Whether to unpack the value for each product is better than to store it."""
        varying = {n for e in self.packed for x in e.entries for n in symbols(x)}
        repeated = {*reader.domain.dims} > varying.intersection(reader.domain.dims)
        size = sum(_bytes(operand_type(self.graph, e)) for e in self.packed)
        work = sum(constant_elements(t.shape) or 0 for t in self.types)
        few = work <= MODEL.unpacked_work * (constant_elements(unpacked.shape) or 0)
        return (
            unpacked.ndim > 1
            and repeated
            and few
            and 0 < size * MODEL.unpacked_factor <= _bytes(unpacked)
        )


def _bytes(type_: TensorType) -> int:
    """The bytes of a tensor; 0 where extents vary."""
    return (constant_elements(type_.shape) or 0) * type_.dtype.itemsize
