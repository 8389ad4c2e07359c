"""Run every benchmark, so that `make bench` needs to know no file of this folder."""

from benchmarks.store import main

if __name__ == "__main__":
    main()
