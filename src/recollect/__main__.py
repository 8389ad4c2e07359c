"""Run the command line as `python -m recollect`."""

from recollect.cli import main

main()
