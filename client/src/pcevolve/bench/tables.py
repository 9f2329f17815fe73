"""Every table and figure that ``pcevolve bench`` makes, by name."""

from __future__ import annotations

from pcevolve.bench.pcevolve_tables import PCEVOLVE_TABLES
from pcevolve.bench.pe_tables import PE_TABLES
from pcevolve.bench.table import Table
from pcevolve.errors import UsageError

TABLES: dict[str, Table] = {each.name: each for each in (*PCEVOLVE_TABLES, *PE_TABLES)}


def table(name: str) -> Table:
    """Find a table.

    Raises:
        UsageError: There is none of that name.
    """
    if not name:
        raise UsageError("name a table or figure: pcevolve bench --list names them")
    if name not in TABLES:
        raise UsageError(f"there is no table '{name}': pcevolve bench --list names them")
    return TABLES[name]
