"""One terminal: its descriptor, its model, everyone who watches it, and the one who writes."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import termios
from contextlib import suppress
from typing import Literal

from executor.dataclass import dataclass
from executor.errors import Conflict
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.sessions.terminals.cast_file import Recording
from executor.sessions.terminals.emulator.emulator import Emulator
from executor.sessions.terminals.emulator.snapshot import take_snapshot
from executor.sessions.terminals.watcher import Notice, Watcher

CHUNK = 2 * 1024  # read and drawn at once: a few milliseconds of lines, then it is the turn of others
MOST_WATCHERS = 50
MOST_ANSWERED = 1024
Writing = Literal["no", "if_free", "take_over"]


@dataclass(frozen=True, slots=True)
class Ending:
    code: int | None
    reason: str


class Terminal:
    """`output_ended` is done when nothing holds the other side open. The last word is `finish`."""

    def __init__(
        self, id: str, session_id: str, descriptor: int, size: tuple[int, int], by: Actor, recording: Recording | None
    ) -> None:
        self.id, self.session_id, self.opened_by = id, session_id, by
        self.created_at = now_ms()
        self.model = Emulator(*size)
        self.watchers: set[Watcher] = set()
        self.writer: Watcher | None = None
        self.ending: Ending | None = None
        self.ended_by = ""  # why it was asked to end
        self.last_seen = asyncio.get_running_loop().time()  # when someone watched
        self.was_watched = False
        self.recording = recording
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self.output_ended: asyncio.Future[None] = self._loop.create_future()
        self._input = asyncio.Lock()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    @property
    def columns(self) -> int:
        return self.model.columns

    @property
    def rows(self) -> int:
        return self.model.rows

    # -- watching -----------------------------------------------------------------------------------------------------

    def attach(self, watcher: Watcher) -> None:
        if len(self.watchers) >= MOST_WATCHERS:
            raise Conflict(f"{MOST_WATCHERS} watch this terminal already", hint="close one of them")
        self.was_watched = True
        self.watchers.add(watcher)

    def detach(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        self.last_seen = self._loop.time()
        if self.writer is watcher:
            self._hand_over(None)

    def take_over(self, watcher: Watcher, size: tuple[int, int] | None) -> None:
        self._hand_over(watcher)
        if size is not None:
            self.resize(size)

    def _hand_over(self, writer: Watcher | None) -> None:
        self.writer = writer
        for watcher in self.watchers:
            watcher.show(Notice())

    def resize(self, size: tuple[int, int]) -> None:
        """Everyone is sent the screen at its new size: terminals arrange lines differently when they change it."""
        if self.ending is not None or size == (self.columns, self.rows):
            return
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.model.resize(*self._read_size())
        if self.recording is not None:
            self.recording.resize(self.columns, self.rows)
        for watcher in self.watchers:
            watcher.restart()

    def _read_size(self) -> tuple[int, int]:
        rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(self._descriptor, termios.TIOCGWINSZ, bytes(8)))
        return columns, rows

    def snapshot(self) -> bytes:
        return take_snapshot(self.model)

    # -- output and input ---------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # how the end of a terminal is read
            data = b""
        if not data:
            self._loop.remove_reader(self._descriptor)
            if not self.output_ended.done():
                self.output_ended.set_result(None)
            return
        shown, answers = self.model.feed(data)
        if answers:
            with suppress(OSError):
                os.write(self._descriptor, answers[:MOST_ANSWERED])
        if shown:
            self._show(shown)

    def _show(self, text: str) -> None:
        if self.recording is not None:
            self.recording.show(text)
        for watcher in self.watchers:
            watcher.show(text)

    async def write(self, data: bytes) -> None:
        """Waits while the program reads nothing."""
        async with self._input:
            while data and self.ending is None:
                try:
                    data = data[os.write(self._descriptor, data) :]
                except (BlockingIOError, InterruptedError):
                    await self._wait_for_room()
                except OSError:
                    return

    async def _wait_for_room(self) -> None:
        has_room: asyncio.Future[None] = self._loop.create_future()

        def note_room() -> None:
            if not has_room.done():
                has_room.set_result(None)

        self._loop.add_writer(self._descriptor, note_room)
        try:
            await asyncio.wait({has_room, self.output_ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if self.ending is None:
                self._loop.remove_writer(self._descriptor)

    # -- the end ------------------------------------------------------------------------------------------------------

    def finish(self, code: int | None, reason: str) -> None:
        if self.ending is not None:
            return
        self.ending = Ending(code, self.ended_by or reason)
        self._loop.remove_reader(self._descriptor)
        self._loop.remove_writer(self._descriptor)
        os.close(self._descriptor)
        if not self.output_ended.done():
            self.output_ended.set_result(None)
        if self.recording is not None:
            self.recording.close()
        for watcher in self.watchers:
            watcher.has_news.set()
