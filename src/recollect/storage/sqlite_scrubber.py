"""Leave nothing of erased rows in a SQLite file: neither in its WAL nor in the unused parts of its pages.

SQLite zeroes what it deletes, but not the copy that stays in a page when a row moves to another. Such copies are
zeroed in the file itself, through SQLite's own file layer, while the WAL is empty and its write lock is held: then
nobody else writes to the file, and nobody ever reads the bytes. A kill or a power cut in the middle leaves each of
them as it was or zero, and the page means the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Literal

import apsw

from recollect.storage.sqlite_gaps import FILE_HEADER, Layout

#: How many bytes of pages one step looks at; writers wait no longer than that takes.
SLICE = 4 * 2**20
#: Bytes read at once.
CHUNK = 2**19
#: With more changed pages than this to remember, it is as well to look at all of them.
MAX_CHANGED = 100_000

_WAL_HEADER, _FRAME_HEADER = 32, 24

#: Whether everything was scrubbed, or a part of it, or whether another user of the file was in the way.
Progress = Literal["done", "part", "blocked"]

_log = logging.getLogger(__name__)


class Scrubber:
    """Scrub the file of one writing connection, step by step, remembering which pages changed since.

    The pages are known only as long as no other connection writes; after that all are looked at again.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._path = connection.db_filename("main")
        self._vfs = connection.open_vfs
        #: The first page that was not looked at yet.
        self._next = 1
        #: Pages before it that were written since they were looked at.
        self._changed: set[int] = set()
        #: Whether other pages may have been, too.
        self._is_lost = False
        #: Whether something was erased since the last step.
        self._is_asked = True
        #: Whether connections may still have copies in their caches that they would write again.
        self._is_cached = True
        #: SQLite's count of the commits of other connections, when the last step ended.
        self._others: int | None = None
        #: What tells the WAL that holds the commits since the last note from one that was begun anew.
        self._salt: bytes | None = None

    def ask(self) -> None:
        """Tell that something was erased, so that pages which others wrote have to be looked at again."""
        self._is_asked = True

    def committed(self) -> None:
        """Remember which WAL holds the commit."""
        if self._salt is None and self._remembers:
            try:
                with self._opened("-wal", apsw.SQLITE_OPEN_WAL) as wal:
                    self._salt = wal.xRead(8, 16)
            except apsw.Error:
                self._is_lost = True

    def note(self, frames: int) -> None:
        """Remember the pages of so many frames of the WAL, which are about to be overwritten."""
        if frames and self._remembers:
            try:
                with self._opened("-wal", apsw.SQLITE_OPEN_WAL) as wal:
                    pages = set(_pages_of(wal, frames))
                    # Another process may have cut the WAL meanwhile; then frames are read as zeros or not at all.
                    self._is_lost |= self._salt not in (None, wal.xRead(8, 16)) or 0 in pages
                    self._changed |= pages - {0}
            except apsw.Error:
                self._is_lost = True
        if len(self._changed) > MAX_CHANGED:
            self._is_lost = True
        self._salt = None

    @property
    def _remembers(self) -> bool:
        return self._next > 1 and not self._is_lost

    def step(self) -> Progress:
        """Cut the WAL, then look at some pages and zero what they do not use; the caller sets how long to wait."""
        connection = self._connection
        try:
            frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self.note(frames)
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            if not self._path:
                return "done"
            connection.execute("BEGIN IMMEDIATE")
            try:
                progress = self._step_alone()
                has_written = not connection.in_transaction
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            if has_written:
                # The zeros are made durable by SQLite, which syncs the file when it writes the commit back.
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                # The commit wrote the first page alone, which holds none of the users' words.
                self._salt = None
        except apsw.BusyError:
            return "blocked"
        return progress

    def _step_alone(self) -> Progress:
        """Do the step while nobody else can write to the file, or to the WAL, if that is still empty."""
        if not self._is_wal_empty():
            return "blocked"
        self._start_again_if_lost()
        with self._opened("", apsw.SQLITE_OPEN_MAIN_DB) as file:
            size = file.xFileSize()
            layout = Layout.of(file.xRead(FILE_HEADER, 0), size)
            if layout is None:
                _log.warning("the pages of the database file are not understood; erased words may be left in gaps")
                return "done"
            pages = size // layout.page_size
            self._zero_changed(file, layout, pages)
            self._zero_next(file, layout, pages)
        if self._is_cached:
            self._empty_caches()
        return "part" if self._changed or self._next <= pages else "done"

    def _is_wal_empty(self) -> bool:
        try:
            with self._opened("-wal", apsw.SQLITE_OPEN_WAL) as wal:
                return bool(wal.xFileSize() == 0)
        except apsw.CantOpenError:
            return True

    def _start_again_if_lost(self) -> None:
        """Look at all pages again if some may have been missed before the erasure.

        What others write after it needs no second look: the erased rows are in no page that they can copy from.
        """
        ((others,),) = self._connection.execute("PRAGMA data_version").fetchall()
        if others != self._others:
            self._others, self._is_lost = int(str(others)), True
        if self._is_asked and self._is_lost:
            self._next, self._is_lost = 1, False
            self._changed.clear()
        self._is_asked = False

    def _zero_changed(self, file: apsw.VFSFile, layout: Layout, pages: int) -> None:
        some = sorted(islice(self._changed, SLICE // layout.page_size))
        for number in some:
            if number < self._next and number <= pages:
                page = file.xRead(layout.page_size, (number - 1) * layout.page_size)
                self._zero(file, layout, number, page)
        self._changed.difference_update(some)

    def _zero_next(self, file: apsw.VFSFile, layout: Layout, pages: int) -> None:
        size = layout.page_size
        end = min(self._next + SLICE // size, pages + 1)
        while self._next < end:
            count = min(max(1, CHUNK // size), end - self._next)
            chunk = file.xRead(count * size, (self._next - 1) * size)
            for index in range(count):
                self._zero(file, layout, self._next + index, chunk[index * size : (index + 1) * size])
            self._next += count

    def _zero(self, file: apsw.VFSFile, layout: Layout, number: int, page: bytes) -> None:
        for begin, end in layout.spans_to_zero(number, page):
            self._is_cached = True
            file.xWrite(bytes(end - begin), (number - 1) * layout.page_size + begin)

    def _empty_caches(self) -> None:
        """Have every connection read its pages again before it writes: its own by release, others by a commit."""
        execute = self._connection.execute
        execute("PRAGMA shrink_memory")
        ((version,),) = execute("PRAGMA user_version").fetchall()
        execute(f"PRAGMA user_version = {version}")
        execute("COMMIT")
        self._is_cached = False

    @contextmanager
    def _opened(self, suffix: str, kind: int) -> Iterator[apsw.VFSFile]:
        """Open the file as SQLite does: closing it in any other way would release the locks of this process."""
        access = apsw.SQLITE_OPEN_READONLY if suffix else apsw.SQLITE_OPEN_READWRITE
        file = apsw.VFSFile(self._vfs, self._path + suffix, [kind | access, 0])
        try:
            yield file
        finally:
            file.xClose()


def scrub(connection: apsw.Connection) -> None:
    """Scrub a file that nobody else uses, all of it."""
    scrubber = Scrubber(connection)
    while (progress := scrubber.step()) == "part":
        pass
    if progress == "blocked":
        raise apsw.BusyError("another connection is in the way of the scrub")


def _pages_of(wal: apsw.VFSFile, frames: int) -> Iterator[int]:
    """Give the number of the page in each frame."""
    apart = _FRAME_HEADER + int.from_bytes(wal.xRead(4, 8), "big")
    for frame in range(frames):
        yield int.from_bytes(wal.xRead(4, _WAL_HEADER + frame * apart), "big")
