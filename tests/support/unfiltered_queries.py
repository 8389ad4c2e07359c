"""The queries of Postgres without the application's own filter, so that row security alone keeps users apart.

Run as a program, it is `recollect` with those queries.
"""

from __future__ import annotations

import re
import sys

FILTER = re.compile(r"(\w+\.)?tenant_id = %\(tenant\)s\s+AND (\w+\.)?user_id = %\(user\)s")


def without_filter(query: str) -> str:
    """Return a query that no longer says whose rows it means."""
    return FILTER.sub("TRUE", query)


def main() -> None:
    """Load the queries without their filter from now on, and run the command line."""
    from recollect.storage import queries

    load = queries.load_queries

    def load_unfiltered(dialect: queries.Dialect) -> dict[str, str]:
        return {name: without_filter(query) for name, query in load(dialect).items()}

    setattr(queries, "load_queries", load_unfiltered)  # noqa: B010  # a name that others import from there later
    from recollect.cli import main as run

    assert "recollect.storage.postgres" not in sys.modules, "the driver has its queries already"
    run()


if __name__ == "__main__":
    main()
