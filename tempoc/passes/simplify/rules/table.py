"""The table of rewrite rules: each has a name, the operators it applies to, and a function.

A row is *exact* if it holds for every value of its dtype, to the last bit. The others hold up to
rounding: the same value is computed by other operations, or in another order, and no ordinary
number becomes infinite or NaN by it (``arithmetic.py`` says what ordinary is). A rule that has
several equations has as many rows, which share its name.
"""

from __future__ import annotations

from tempoc.passes.simplify.rules.arithmetic import NUMBERS, ROUNDED
from tempoc.passes.simplify.rules.contractions import CONTRACTED
from tempoc.passes.simplify.rules.known_positions import KNOWN_POSITIONS
from tempoc.passes.simplify.rules.layout import LAYOUT
from tempoc.passes.simplify.rules.pattern import RewriteRule
from tempoc.passes.simplify.rules.places import PLACES
from tempoc.passes.simplify.rules.positions import POSITIONS
from tempoc.passes.simplify.rules.products import PRODUCTS
from tempoc.passes.simplify.rules.reductions import ADDED_PARTS, SUMS
from tempoc.passes.simplify.rules.slicing import PARTS, PARTS_OF_PRODUCTS

ROWS: tuple[RewriteRule, ...] = (
    *NUMBERS, *LAYOUT, *PARTS, *ROUNDED, *PARTS_OF_PRODUCTS, *POSITIONS,
    *KNOWN_POSITIONS, *PLACES, *SUMS, *PRODUCTS, *CONTRACTED, *ADDED_PARTS,
)  # fmt: skip
