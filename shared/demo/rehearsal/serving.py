"""The rehearsal process: serves until it is told to end, and keeps its report on disk."""

from __future__ import annotations

import asyncio
import logging
import signal
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from shared import durable
from shared.demo.rehearsal import NAME
from shared.demo.rehearsal.server import Rehearsal
from shared.demo.rehearsal.settings import Settings
from shared.demo.rehearsal.truth import load_truth
from shared.errors import CampaignError
from shared.exits import Exit

log = logging.getLogger(__name__)

WRITE_S = 1.0


class PortInUse(CampaignError):
    """The port asked for is taken."""

    exit_code = Exit.USAGE


@dataclass(frozen=True)
class Place:
    """Where to serve and what to write. `port` 0 = any free one; `port_file` then gets the number."""

    truth: Path
    port: int
    port_file: Path | None
    report: Path | None
    key: str


def serve(place: Place, settings: Settings) -> None:
    """Serves on the loopback interface until SIGTERM or SIGINT. Raises ConfigError, PortInUse, DiskFull."""
    asyncio.run(_serve(place, settings))


async def _serve(place: Place, settings: Settings) -> None:
    settings.mix.shares()
    rehearsal = Rehearsal(settings, load_truth(place.truth), place.key)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner = web.AppRunner(rehearsal.application(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", place.port)
    try:
        await site.start()
    except OSError as error:
        await runner.cleanup()
        raise PortInUse(f"port {place.port} on 127.0.0.1 cannot be served: {error.strerror}; use --port 0") from error
    port = runner.addresses[0][1]
    log.info("REHEARSAL name=%r url=http://127.0.0.1:%d/v1 seed=%d", NAME, port, settings.seed)
    if place.port_file is not None:
        durable.write(place.port_file, f"{port}\n".encode())
    try:
        while not stop.is_set():
            if place.report is not None and rehearsal.report.changed:
                rehearsal.report.write(place.report)
            try:
                await asyncio.wait_for(stop.wait(), WRITE_S)
            except TimeoutError:
                continue
    finally:
        await runner.cleanup()
        if place.report is not None:
            rehearsal.report.write(place.report)
