"""Every table and figure that ``pcevolve-bench table`` makes, by name."""

from __future__ import annotations

from pcevolve.errors import UsageError
from pcevolve_benchmarks.tables.pcevolve_tables import PCEVOLVE_TABLES
from pcevolve_benchmarks.tables.pe_tables import PE_TABLES
from pcevolve_benchmarks.tables.table import Table

TABLES: dict[str, Table] = {each.name: each for each in (*PCEVOLVE_TABLES, *PE_TABLES)}


def table(name: str) -> Table:
    """Find a table.

    Raises:
        UsageError: There is none of that name.
    """
    if not name:
        raise UsageError("name a table or figure: pcevolve-bench table --list names them")
    if name not in TABLES:
        raise UsageError(f"there is no table '{name}': pcevolve-bench table --list names them")
    return TABLES[name]
