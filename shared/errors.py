"""The error tree.

CampaignError                 one sentence: what is wrong, where, what to do
├── ConfigError               campaign.toml or the command line
├── MissingTool               a program or package that must be installed
├── RepositoryError           the target's git repository is not usable as it is
├── AlreadyRunning            a lock is held by another process
├── RedBase                   the base commit does not build to its expected hash
├── ForeignContract           the expected hash belongs to another binary
├── DiskFull                  ENOSPC or EDQUOT on a state path
└── InstrumentFault           the machinery failed; says nothing about any draft
    └── MissingInput          a file a workspace needs is not there
"""

from __future__ import annotations

from pathlib import Path

from shared.exits import Exit


class CampaignError(Exception):
    """Root of every error a user may see. `str()` is the whole message, ready to print."""

    exit_code: Exit = Exit.FAULT

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConfigError(CampaignError):
    """A mistake in campaign.toml or on the command line, with the place where known."""

    exit_code = Exit.USAGE

    def __init__(self, message: str, path: Path | None = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}:{line}: " if line else f"{path}: "
        super().__init__(where + message)
        self.reason = message
        self.path = path
        self.line = line

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str, Path | None, int | None]]:
        return (ConfigError, (self.reason, self.path, self.line))


class MissingTool(CampaignError):
    """A program or package is not installed; the message says what to install."""

    exit_code = Exit.MISSING_TOOL


class RepositoryError(CampaignError):
    """The target's repository is missing, not git, or in a state that forbids the step."""

    exit_code = Exit.REPOSITORY


class AlreadyRunning(CampaignError):
    """Another process holds the lock this one needs."""

    exit_code = Exit.ALREADY_RUNNING


class RedBase(CampaignError):
    """The base commit does not build to the expected hash, so no draft can be judged."""

    exit_code = Exit.RED_BASE


class ForeignContract(CampaignError):
    """The expected hash found does not belong to the binary being judged (field report F01)."""

    exit_code = Exit.FOREIGN_CONTRACT


class DiskFull(CampaignError):
    """No space on the device that holds the state directory."""

    exit_code = Exit.DISK_FULL


class InstrumentFault(CampaignError):
    """The instrument failed: a timeout, a crash, a missing file. Never a verdict on a draft."""

    exit_code = Exit.FAULT


class MissingInput(InstrumentFault):
    """A workspace lacks a file that a build needs; printed as `MISSING <path>`."""
