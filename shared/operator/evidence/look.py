"""Drafts of one open stub judged anew in a private tree at the landing head, to show them beside their target."""

from __future__ import annotations

from contextlib import ExitStack

from shared.bases import Bases
from shared.config import Campaign
from shared.errors import CampaignError, InstrumentFault
from shared.operator.evidence.rows import Key
from shared.operator.evidence.stubs import OpenStubs
from shared.oracle.judge import Judge
from shared.state import StateDir
from shared.workspace import acquire

KIND = "show"
SLOTS = 2
"""Private trees for people who look at drafts; the gater's and the agents' are left alone."""


class Looker:
    """Lists drafts of `key`. A context manager; what it cannot do it says instead of raising."""

    def __init__(self, campaign: Campaign, state: StateDir, stubs: OpenStubs, key: Key) -> None:
        self.key = key
        self.tu = ""
        self.judge: Judge | None = None
        self.refused = ""
        self._open = ExitStack()
        try:
            self._prepare(campaign, state, stubs)
        except CampaignError as error:
            self.refused = str(error)

    def _prepare(self, campaign: Campaign, state: StateDir, stubs: OpenStubs) -> None:
        places = stubs.places.get(self.key, [])
        if len(places) != 1:
            raise InstrumentFault(f"{self.key[1]} has {len(places)} stubs in {self.key[0]}, not one")
        self.tu = places[0].tu
        base = Bases(campaign, state).find(self.key[0], stubs.commit)
        if base is None:
            raise InstrumentFault(
                f"no green build of {self.key[0]} at {stubs.commit[:12]} is known; campaign progress --build makes one"
            )
        workspace = acquire(campaign, state, KIND, SLOTS)
        if workspace is None:
            raise InstrumentFault(f"all {SLOTS} private trees of campaign show are in use; try again")
        self._open.callback(workspace.release)
        workspace.sync(stubs.commit, read_only=True)
        self.judge = self._open.enter_context(Judge(workspace.tree, campaign, base, scratch=state.tmp))

    def __enter__(self) -> Looker:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def diff(self, draft: bytes) -> tuple[str, str]:
        """(listing, why there is none)."""
        if self.judge is None:
            return "", self.refused
        seen = self.judge.look(self.tu, self.key[1], draft)
        if seen.listing:
            return seen.listing, ""
        return "", f"{seen.judgement.verdict.value}: {seen.judgement.reason}"
