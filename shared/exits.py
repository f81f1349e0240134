"""Exit codes of the three commands. docs/exit-codes.md explains each; the systemd units name NO_RESTART."""

from enum import IntEnum


class Exit(IntEnum):
    """What the process ended for. Codes are stable across releases."""

    OK = 0
    NEGATIVE = 1  # the work was done and the answer is no (refused drafts, a sum that is off)
    USAGE = 2  # bad command line or campaign.toml
    FAULT = 3  # the instrument failed; nothing is said about any draft
    MISSING_TOOL = 4  # compiler, linker, git or a Python package is not there
    ALREADY_RUNNING = 5  # another process holds the lock
    DRAINED = 6  # a stop file is present; `campaign resume` lifts it
    CREDIT_FLOOR = 7  # the provider's credit is at or under the floor
    RED_BASE = 8  # the base commit does not build to the expected hash
    DISK_FULL = 9
    REPOSITORY = 10  # the target repository is missing, dirty or in an operation where that matters
    FOREIGN_CONTRACT = 11  # the expected hash on file belongs to another binary
    SPEND_CAP = 12  # the night's cap on spend is reached
    INTERRUPTED = 130


NO_RESTART: frozenset[Exit] = frozenset(
    {
        Exit.USAGE,
        Exit.MISSING_TOOL,
        Exit.ALREADY_RUNNING,
        Exit.DRAINED,
        Exit.CREDIT_FLOOR,
        Exit.SPEND_CAP,
        Exit.REPOSITORY,
        Exit.FOREIGN_CONTRACT,
    }
)
"""Codes that Restart= must not restart: the same start would end the same way."""
