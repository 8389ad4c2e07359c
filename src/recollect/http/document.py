"""Print the OpenAPI document: `python -m recollect.http.document`."""

from __future__ import annotations

import json
import sys

from recollect.http.app import create_app
from recollect.settings import Settings

if __name__ == "__main__":
    json.dump(create_app(Settings.load({}, {})).openapi(), sys.stdout)
