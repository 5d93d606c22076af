"""What the loop does with rows, whatever their layout: take their scores, and add them to the model.

The loop is written once, against these names; ``dense.py`` and ``csr.py`` write the instructions. (As functions of
numba they would count references to their arrays at every call, which costs more than the arithmetic.)
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from . import csr, dense
from .dense import BLOCK, PAIRS

__all__ = ["BLOCK", "FASTMATH", "add_rows", "count_values", "look_ahead", "meets_blocks", "row_dot", "squared_row"]

# Plain fastmath=True would let the compiler assume that no NaN exists, and a diverging run must be seen.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def _layout(rows: Any) -> Any:
    return csr if isinstance(rows, types.BaseTuple) else dense


@intrinsic
def meets_blocks(typingctx: Any, rows: Any) -> Any:
    """Whether rows of this layout are met four at a time."""
    together = _layout(rows) is dense
    return types.boolean(rows), lambda context, builder, signature, arguments: ir.IntType(1)(together)


@intrinsic
def look_ahead(typingctx: Any, rows: Any, first: Any, vector: Any) -> Any:
    """What meeting four rows takes: each one's product with the vector, and the six between them, in the order
    01, 02, 12, 03, 13, 23.
    """
    found = types.UniTuple(types.float64, BLOCK + len(PAIRS))
    return found(rows, first, vector), _layout(rows).emit_look_ahead


@intrinsic
def row_dot(typingctx: Any, rows: Any, i: Any, vector: Any) -> Any:
    """Row i times the vector."""
    return types.float64(rows, i, vector), _layout(rows).emit_row_dot


@intrinsic
def add_rows(typingctx: Any, rows: Any, first: Any, factors: Any, vector: Any) -> Any:
    """Add to the vector the rows from ``first`` on, one for each of ``factors``, each times its factor."""
    return types.void(rows, first, factors, vector), _layout(rows).emit_add_rows


@intrinsic
def squared_row(typingctx: Any, rows: Any, i: Any) -> Any:
    """The squared length of row i."""
    return types.float64(rows, i), _layout(rows).emit_squared_row


@intrinsic
def count_values(typingctx: Any, rows: Any, start: Any, stop: Any) -> Any:
    """How many values the rows from ``start`` to ``stop`` are made of."""
    return types.int64(rows, start, stop), _layout(rows).emit_count_values
