"""Keep everything: one SqlStore over named queries, with a driver for SQLite and one for Postgres."""
