"""The table of rewrite rules: each has a name, the operators it applies to, and a function.

A row is *exact* if it holds for every value of its dtype, to the last bit. The others hold up to
rounding: the same value is computed by other operations, or in another order, and no ordinary
number becomes infinite or NaN by it (``rounding.py`` says what ordinary is).
"""

from __future__ import annotations

from tempoc.passes.simplify.rules.arithmetic import NUMBERS
from tempoc.passes.simplify.rules.contractions import CONTRACTED
from tempoc.passes.simplify.rules.layout import LAYOUT
from tempoc.passes.simplify.rules.pattern import RewriteRule
from tempoc.passes.simplify.rules.reductions import SUMS
from tempoc.passes.simplify.rules.rounding import ROUNDED
from tempoc.passes.simplify.rules.slicing import PARTS

ROWS: tuple[RewriteRule, ...] = (*NUMBERS, *LAYOUT, *PARTS, *ROUNDED, *SUMS, *CONTRACTED)
