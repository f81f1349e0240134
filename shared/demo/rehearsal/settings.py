"""What the rehearsal plays: shares of scripts, rates of faults, latency. Every value is written into its report."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, structs

from shared.errors import ConfigError


class Script(StrEnum):
    """How one attempt at one card goes."""

    RIGHT = "right"
    RIGHT_AFTER_DIFF = "right-after-diff"
    WRONG_SYMBOL = "wrong-symbol"
    WRONG_SHAPE = "wrong-shape"
    COMPILE_ERROR = "compile-error"
    TRUNCATED = "truncated"
    GIVES_UP = "gives-up"


class Mix(Struct, frozen=True, kw_only=True):
    """Relative shares of the scripts."""

    right: float = 0.45
    right_after_diff: float = 0.25
    wrong_symbol: float = 0.07
    wrong_shape: float = 0.08
    compile_error: float = 0.06
    truncated: float = 0.04
    gives_up: float = 0.05

    def shares(self) -> dict[Script, float]:
        """Script -> share of the whole. Raises ConfigError when they are no shares."""
        values = {Script(name.replace("_", "-")): value for name, value in structs.asdict(self).items()}
        total = sum(values.values())
        if total <= 0 or any(value < 0 for value in values.values()):
            raise ConfigError("the shares of the rehearsal's mix must not be negative, and not all 0")
        return {script: value / total for script, value in values.items()}


class Faults(Struct, frozen=True, kw_only=True):
    """Probability of each fault per request (0..1), and the platform bursts."""

    provider_429: float = 0.03
    http_502: float = 0.02
    soft_error: float = 0.02
    cut: float = 0.02
    empty_choices: float = 0.01
    no_finish: float = 0.01
    malformed: float = 0.03
    prose: float = 0.05
    in_a_row: int = 3
    """No card meets more transport faults than this one after the other, so that its retries suffice."""
    platform_every: int = 200
    """A burst of platform 429s starts at each such request; 0 = never."""
    platform_burst_s: float = 1.0
    retry_after_s: float = 0.2


class Pace(Struct, frozen=True, kw_only=True):
    """Time to answer: log-normal with this median, `spread` the sigma of its logarithm; 0 seconds = at once."""

    median_s: float = 0.0
    spread: float = 0.5


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that decides what the rehearsal does. Equal settings, equal plans."""

    seed: int = 1
    mix: Mix = Mix()
    faults: Faults = Faults()
    pace: Pace = Pace()
    groups_right: bool = True
    """Functions of a TU that matches only as a group are always played right, so that the group is reachable."""
    looks: float = 0.3
    """Share of attempts that read a file before drafting."""
    usd_per_mtok: float = 0.5
