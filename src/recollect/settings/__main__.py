"""Print the settings page: `python -m recollect.settings > docs/settings.md`."""

import sys

from recollect.settings.page import page

sys.stdout.write(page())
