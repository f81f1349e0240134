"""Wake-ups for the spool. Events are hints; whoever waits scans the directory anyway, every few seconds."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

from watchdog.events import FileCreatedEvent, FileMovedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

log = logging.getLogger(__name__)


class Watch:
    """Wakes when a file is renamed into `inbox`: `wait` returns then, or when its time is up.

    The whole of `folder` is watched, from which files come and to which they go: watchdog holds a rename out of what it
    watches back for half a second, and everything behind it, because the other half might still come.
    Identity of the folders is (device, inode), checked at each `wait`: one that was replaced, or whose emitter died,
    is watched anew (field reports F30 to F32).
    """

    def __init__(self, folder: Path, inbox: Path) -> None:
        self.folder = folder
        self.inbox = inbox
        self._event = threading.Event()
        self._observer: BaseObserver | None = None
        self._identity: tuple[tuple[int, int] | None, ...] = ()
        self._start()

    def wait(self, seconds: float) -> bool:
        """True when something happened, False when the time was up."""
        if not self._healthy():
            log.warning("WATCH-RESTART folder=%s", self.folder)
            self.close()
            self._start()
            return True
        happened = self._event.wait(seconds)
        self._event.clear()
        return happened

    def wake(self) -> None:
        """Ends a `wait` in another thread."""
        self._event.set()

    def close(self) -> None:
        """Stops watching."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(5)
            self._observer = None

    def _start(self) -> None:
        self.inbox.mkdir(parents=True, exist_ok=True)
        observer = Observer()
        try:
            observer.schedule(
                _Wake(self._event, self.inbox),
                str(self.folder),
                recursive=True,
                event_filter=[FileMovedEvent, FileCreatedEvent],
            )
            observer.start()
        except OSError as error:
            log.warning("WATCH-OFF folder=%s reason=%r note=scanning-only", self.folder, str(error))
        else:
            self._observer = observer
        self._identity = self._stat()

    def _stat(self) -> tuple[tuple[int, int] | None, ...]:
        return tuple(_identity(path) for path in (self.folder, self.inbox))

    def _healthy(self) -> bool:
        if self._stat() != self._identity:
            return False
        return self._observer is None or all(emitter.is_alive() for emitter in self._observer.emitters)


class _Wake(FileSystemEventHandler):
    def __init__(self, event: threading.Event, inbox: Path) -> None:
        self._event = event
        self._prefix = f"{inbox}/"

    def on_created(self, event: FileSystemEvent) -> None:
        """A rename from a folder that is not watched (yet) arrives as this."""
        if os.fsdecode(event.src_path).startswith(self._prefix):
            self._event.set()

    def on_moved(self, event: FileSystemEvent) -> None:
        if os.fsdecode(event.dest_path).startswith(self._prefix):
            self._event.set()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return (status.st_dev, status.st_ino)
