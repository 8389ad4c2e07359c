"""The `recollect` command; each sub-command imports what it needs only when it runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an error of ours is one line that tells the fix, not a traceback."""
    from recollect.cli.app import app
    from recollect.errors import RecollectError, SettingsError

    try:
        app()
    except RecollectError as exc:
        print(f"recollect: {exc}", file=sys.stderr)
        sys.exit(2 if isinstance(exc, SettingsError) else 1)
