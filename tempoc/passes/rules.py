"""The table of identities: each row has a name, the operators it looks at, what it finds.

A row is *exact* if it holds for every value of its dtype, to the last bit. The others hold up to
rounding: the same value is computed by other operations, or in another order, and no ordinary
number becomes infinite or NaN by it (``rules_rounded.py`` says what ordinary is).
"""

from __future__ import annotations

from tempoc.passes.rules_contracted import CONTRACTED
from tempoc.passes.rules_layout import LAYOUT
from tempoc.passes.rules_numbers import NUMBERS
from tempoc.passes.rules_parts import PARTS
from tempoc.passes.rules_rounded import ROUNDED
from tempoc.passes.rules_sums import SUMS
from tempoc.passes.view import Row

ROWS: tuple[Row, ...] = (*NUMBERS, *LAYOUT, *PARTS, *ROUNDED, *SUMS, *CONTRACTED)
