"""Wake-ups for a directory. Events are hints; whoever waits scans the directory anyway, every few seconds."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

log = logging.getLogger(__name__)


class Watch:
    """Watches one directory tree. `wait` returns on an event or after the given time, whichever is first.

    Identity of the directory is (device, inode), checked at each `wait`: one that was replaced, or whose emitter died,
    is watched anew (field reports F30 to F32).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._event = threading.Event()
        self._observer: BaseObserver | None = None
        self._identity: tuple[int, int] | None = None
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
        self.folder.mkdir(parents=True, exist_ok=True)
        handler = _Wake(self._event)
        observer = Observer()
        try:
            observer.schedule(handler, str(self.folder), recursive=False)
            observer.start()
        except OSError as error:
            log.warning("WATCH-OFF folder=%s reason=%r note=scanning-only", self.folder, str(error))
            self._identity = self._stat()
            return
        self._observer = observer
        self._identity = self._stat()

    def _stat(self) -> tuple[int, int] | None:
        try:
            status = self.folder.stat()
        except FileNotFoundError:
            return None
        return (status.st_dev, status.st_ino)

    def _healthy(self) -> bool:
        if self._stat() != self._identity:
            return False
        return self._observer is None or all(emitter.is_alive() for emitter in self._observer.emitters)


class _Wake(FileSystemEventHandler):
    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def on_created(self, event: FileSystemEvent) -> None:  # noqa: ARG002
        self._event.set()

    def on_moved(self, event: FileSystemEvent) -> None:  # noqa: ARG002
        self._event.set()
