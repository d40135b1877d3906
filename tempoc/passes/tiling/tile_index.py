"""The position and length of tiles along an axis, and the points at which they are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tempoc.ops.definition.axis_links import AxisPart, Link
from tempoc.ops.definition.operator import Op
from tempoc.ops.tensor.movement import Pad
from tempoc.passes.tiling.axis_flow import AxisAt, AxisFlows
from tempoc.passes.tiling.tile_nodes import TileNodeBuilder
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import extent


@dataclass(slots=True, kw_only=True)
class Tiling(TileNodeBuilder):
    """Tiles of ``size``, one at each point of ``dim``, a dimension that ``space`` declares.

    ``partial``: a point has only the tiles that its own axis takes, at least one.
    """

    flows: AxisFlows
    size: int
    partial: bool

    @property
    def start(self) -> ix.Expr:
        """The position at which the tile at hand begins."""
        return ix.mul(ix.Sym(self.dim), ix.Const(self.size))

    def part(self, at: AxisAt) -> AxisPart:
        """The position and length of the tile at hand; the last one may be shorter."""
        stop = ix.minimum(ix.add(self.start, ix.Const(self.size)), self.flows.length(at))
        return AxisPart(self.start, extent(ix.Slice(self.start, stop)))

    def domain(self, at: AxisAt, dims: tuple[str, ...], condition: ix.Expr = ix.TRUE) -> Domain:
        """The domain of a node's tiles, over ``dims`` and the dimension of tiles.

        ``condition`` is a further condition.
        """
        where = ix.conjunction(self.old.nodes[at.node].domain.where, condition)
        if self.partial:
            begun = ix.compare("<", self.start, self.flows.length(at))
            where = ix.conjunction(
                where, ix.disjunction(begun, ix.compare("==", ix.Sym(self.dim), ix.ZERO))
            )
        return self.tiled(Domain(dims, where))

    def last(self, at: AxisAt) -> ix.Expr:
        """The index of the last tile of a node's axis."""
        if not self.partial:
            return ix.sub(self.bound, ix.ONE)
        return ix.floordiv(ix.maximum(ix.ZERO, ix.sub(self.flows.length(at), ix.ONE)), self.size)

    def narrowed(self, op: Op, at: AxisAt) -> Op:
        """The operator on a tile; a padded axis is padded to a full tile."""
        turn = self.flows.axis_to_dim(at.node)
        if turn is None or turn.link != at.flow:
            assert isinstance(at.flow, Link)
            return op.narrowed(at.flow, self.part(at))
        assert isinstance(op, Pad)
        (axis,) = turn.link.operands
        assert axis is not None
        return replace(op, widths=self.up_to_size(axis, len(op.widths), self.part(at).count))

    def up_to_size(
        self, axis: int, rank: int, count: ix.Expr
    ) -> tuple[tuple[ix.Expr, ix.Expr], ...]:
        """The pad widths that make a tile of ``count`` elements along an axis a full one."""
        after = (ix.ZERO, ix.sub(ix.Const(self.size), count))
        return tuple(after if k == axis else (ix.ZERO, ix.ZERO) for k in range(rank))
