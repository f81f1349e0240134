"""What was played: the plan of every attempt that was asked for, what was delivered, and the counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from shared import durable
from shared.demo.rehearsal import NAME
from shared.demo.rehearsal.plan import CardKey, Plan
from shared.demo.rehearsal.settings import Settings
from shared.demo.rehearsal.truth import Truth


class Report:
    """Collects; `write` replaces the report file whole."""

    def __init__(self, settings: Settings, truth: Truth) -> None:
        self._settings = settings
        self._truth = truth
        self._plans: dict[CardKey, str] = {}
        self._delivered: set[tuple[str, str]] = set()
        self.results: Counter[str] = Counter()
        self.changed = True

    def asked(self, plan: Plan) -> None:
        """A request for this attempt came in."""
        self._plans[plan.key] = plan.script.value
        self.changed = True

    def answered(self, result: str, key: CardKey | None = None, right: bool = False) -> None:
        """A request was answered; `right` = the right body of `key` went out whole."""
        self.results[result] += 1
        if right and key is not None:
            self._delivered.add((key.binary, key.function))
        self.changed = True

    def document(self) -> dict[str, Any]:
        """The report. `functions_right`: right bodies delivered; `reachable`: those that can bank.

        A function of a TU that matches only as a group is reachable when all of its group were delivered.
        """
        groups: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for key, entry in self._truth.entries.items():
            if entry.group is not None:
                groups.setdefault((entry.binary, entry.group), set()).add(key)
        reachable = []
        for key in self._delivered:
            entry = self._truth.entries[key]
            if entry.group is None or groups[entry.binary, entry.group] <= self._delivered:
                reachable.append(key)
        return {
            "name": NAME,
            "settings": msgspec.to_builtins(self._settings),
            "requests": sum(self.results.values()),
            "results": dict(sorted(self.results.items())),
            "attempts": len(self._plans),
            "scripts": dict(sorted(Counter(self._plans.values()).items())),
            "functions_asked": len({(key.binary, key.function) for key in self._plans}),
            "functions_right": sorted(list(key) for key in self._delivered),
            "reachable": sorted(list(key) for key in reachable),
            "plans": [
                {"binary": key.binary, "function": key.function, "attempt": key.attempt, "script": script}
                for key, script in sorted(self._plans.items(), key=lambda item: item[0].name)
            ],
        }

    def write(self, path: Path) -> None:
        """Writes the report durably. Raises DiskFull, OSError."""
        self.changed = False
        durable.write_json(path, self.document())
