"""The tables of campaign.toml. Every field carries its meaning; docs/configuration.md is made from here.

Durations are seconds (`_s`), sizes are as their names say. All tables are strict: an unknown key is an error.
msgspec does the type and range checks.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]
"""Names become folder names under the state directory, so they are restricted here, once."""


class Project(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[project] the decomp repository."""

    name: Annotated[Name, Meta(description="Name of the project; also names its state folder.")]
    platform: Annotated[Literal["psx", "n64"], Meta(description="Target platform.")] = "psx"
    inputs: Annotated[
        list[str],
        Meta(description="Git-ignored files and folders a fresh worktree needs to build; copied, never linked."),
    ] = field(default_factory=list)


class Binary(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[binary.NAME] one image with its own build output and expected hash."""

    build: Annotated[
        list[str],
        Meta(description="Argument list that builds `output` from the project root; no shell.", min_length=1),
    ]
    output: Annotated[str, Meta(description="Built image, relative to the project root.")]
    checksums: Annotated[
        str,
        Meta(description="Checksum file (sha1sum/sha256sum form, any case); the line naming `output` is the contract."),
    ]
    map: Annotated[str, Meta(description="GNU ld link map written by the build.")]
    elf: Annotated[str, Meta(description="Linked ELF written by the build.")]
    asm: Annotated[str, Meta(description="Folder of this binary's splat assembly.")]
    sources: Annotated[list[str], Meta(description="Folders (or files) of this binary's C sources.", min_length=1)]
    symbols: Annotated[list[str], Meta(description="splat symbol files of this binary.")] = field(default_factory=list)
    lane: Annotated[
        Literal["queue", "batch"],
        Meta(description="`batch`: drafts wait and are gated on their own cadence by a clean rebuild."),
    ] = "queue"
    compile: Annotated[
        list[str],
        Meta(
            description=(
                "Argument list compiling one TU, with {source} and {object}; "
                "empty = ask `make -n` or `ninja -t commands` for the object."
            )
        ),
    ] = field(default_factory=list)


class Landing(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[landing] where proven drafts are committed."""

    branch: Annotated[str, Meta(description="Branch that receives the banks; checked out nowhere.")] = "campaign"
    follow: Annotated[
        str, Meta(description="The person's branch: fast-forwarded to the landing branch when it is safe.")
    ] = "main"
    message: Annotated[str, Meta(description="Subject template; {wave}, {binary} and {n} are filled in.")] = (
        "feat(decomp): wave {wave} {binary} - {n} banked"
    )
    lock_wait_s: Annotated[Seconds, Meta(description="Longest wait for a foreign index.lock or ref lock.")] = 30.0


class Filter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[filter] the pre-filter and the agents' oracle: one compile of one TU."""

    oracle_slots: Annotated[
        int, Meta(ge=0, description="Compilers at most, machine-wide, for oracles; 0 = cores - 1.")
    ] = 0
    compile_timeout_s: Annotated[Seconds, Meta(description="Wall time of one TU compile.")] = 20.0
    compile_memory_mib: Annotated[Count, Meta(description="Address space of one compiler process.")] = 1024
    draft_max_kib: Annotated[Count, Meta(description="Largest draft accepted.")] = 256
    flags: Annotated[
        list[str],
        Meta(description="Flags added to every TU compile of a draft; they must not change code."),
    ] = field(default_factory=lambda: ["-Werror=implicit-function-declaration"])


class Gate(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[gate] whole-binary builds."""

    slots: Annotated[int, Meta(ge=0, description="Builds in parallel, each in its own workspace; 0 = cores.")] = 0
    batch_max: Annotated[Count, Meta(description="Drafts of one binary in one build at most.")] = 200
    batch_every_s: Annotated[
        Seconds, Meta(description='Cadence of binaries with lane = "batch"; they also run when nothing else is queued.')
    ] = 900.0
    build_timeout_s: Annotated[Seconds, Meta(description="Wall time of one build; past it the build is a FAULT.")] = (
        1800.0
    )
    build_memory_mib: Annotated[Count, Meta(description="Address space of one build process.")] = 4096
    scan_s: Annotated[Seconds, Meta(description="Longest time between two scans of the spool.")] = 3.0


class Drafter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[drafter] how work is drawn and the fleet is kept full."""

    workers: Annotated[Count, Meta(description="Agents in flight: the set point of the fleet.")] = 24
    lanes: Annotated[
        list[str], Meta(description="Lanes that are drawn, by name; empty = all. The others' cards wait.")
    ] = field(default_factory=list)
    agents_per_shard: Annotated[
        Count, Meta(description="Agents one shard process holds at most (200-320 measured as the useful range).")
    ] = 240
    cards_per_wave: Annotated[Count, Meta(description="Cards drawn into one wave.")] = 220
    queue_depth: Annotated[
        Count, Meta(description="Waves with drafts the gater has not judged, above which drawing pauses.")
    ] = 2
    attempts: Annotated[Count, Meta(description="Agents per card and wave.")] = 1
    tries: Annotated[Count, Meta(description="Waves one function may be drawn in before it is left to a person.")] = 6
    ramp_window_s: Annotated[Seconds, Meta(description="A cold start spreads its launches over this window.")] = 240.0
    flush_interval_s: Annotated[
        Seconds, Meta(description="No finished draft is without a marker for longer than this.")
    ] = 60.0
    marker_drafts: Annotated[Count, Meta(description="Final drafts that make a marker before the interval is up.")] = 40
    straggler_grace_s: Annotated[Seconds, Meta(description="After a stop: time agents get before their last turn.")] = (
        120.0
    )
    stall_s: Annotated[Seconds, Meta(description="A shard without progress for this long is ended and salvaged.")] = (
        1200.0
    )
    twins: Annotated[
        bool, Meta(description="After every bank, draft the open stubs of equal code from it, without a model.")
    ] = True
    orphan_grace_s: Annotated[Seconds, Meta(description="A shard without a drafter for this long saves and ends.")] = (
        600.0
    )


class Night(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[night] when a night ends by itself, and what it is called."""

    until: Annotated[
        str,
        Meta(
            description='Time of day, as "07:30" on this machine\'s clock: the drain starts early enough to be done by '
            "then; empty = goes on until `.run/stop`.",
            pattern=r"^(([01]\d|2[0-3]):[0-5]\d)?$",
        ),
    ] = ""
    tag: Annotated[
        str, Meta(description="A word of yours kept in waves, ledger and report.", pattern=r"^[A-Za-z0-9_.-]{0,64}$")
    ] = ""


class Spend(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[spend] what a night may cost."""

    credit_floor_usd: Annotated[
        float,
        Meta(
            ge=0,
            description="Drawing stops (exit code 7) when a pool's credit, from its `credit_url`, is not above this.",
        ),
    ] = 2.0
    night_usd: Annotated[
        float,
        Meta(
            ge=0,
            description="Most that the agents of one night may cost; an agent's whole budget is reserved at dealing, "
            "and an unknown cost counts as the whole budget. 0 = no cap.",
        ),
    ] = 0.0
    every_s: Annotated[Seconds, Meta(description="Time between two looks at the credit.")] = 60.0


class Disk(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[disk] room for the state directory."""

    free_mib: Annotated[
        int, Meta(ge=0, description="Nothing is drawn while less than this is free on the state directory's device.")
    ] = 1024
    free_inodes: Annotated[int, Meta(ge=0, description="As `free_mib`, for inodes.")] = 10_000


class Pool(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[pool.NAME] one model at one OpenAI-compatible endpoint."""

    url: Annotated[str, Meta(description="Base URL; `/chat/completions` is appended.", pattern=r"^https?://")]
    model: Annotated[str, Meta(description="Model id sent with every request.", min_length=1)]
    share: Annotated[float, Meta(ge=0, description="Share of the workers, relative to the other pools.")] = 1.0
    key_env: Annotated[str, Meta(description="Environment variable holding the key; dropped once read.")] = ""
    key_file: Annotated[str, Meta(description="File holding the key, alone or as NAME=value lines.")] = ""
    key_name: Annotated[str, Meta(description="Which NAME of `key_file` is the key.")] = ""
    output_tokens: Annotated[Count, Meta(description="Output limit sent with every request.")] = 8000
    output_field: Annotated[
        Literal["max_tokens", "max_completion_tokens"], Meta(description="Name of the output limit in the request.")
    ] = "max_tokens"
    tokens_per_s: Annotated[
        float, Meta(gt=0, description="Slowest generation rate planned for; bounds one generation.")
    ] = 30.0
    socket_timeout_s: Annotated[Seconds, Meta(description="Longest wait for one response.")] = 700.0
    retries: Annotated[int, Meta(ge=0, description="Retries of one request after 429, 5xx or a cut connection.")] = 8
    backoff_s: Annotated[Seconds, Meta(description="First back-off; doubles, with full jitter.")] = 20.0
    backoff_max_s: Annotated[Seconds, Meta(description="Longest back-off; a longer Retry-After is still obeyed.")] = (
        120.0
    )
    credit_url: Annotated[
        str,
        Meta(
            description="Endpoint that tells the credit behind the key, as https://openrouter.ai/api/v1/key; "
            "empty = not asked, the credit is unknown.",
            pattern=r"^(https?://.*)?$",
        ),
    ] = ""
    input_usd_per_mtok: Annotated[float, Meta(ge=0, description="Price of a million input tokens; 0 = unknown.")] = 0.0
    output_usd_per_mtok: Annotated[float, Meta(ge=0, description="Price of a million output tokens; 0 = unknown.")] = (
        0.0
    )


class Lane(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[lane.NAME] a filter over the frontier with an agent budget."""

    bands: Annotated[
        list[tuple[int, int]], Meta(description="Instruction-count ranges [low, high); waves rotate over them.")
    ] = field(default_factory=lambda: [(5, 50), (50, 120), (120, 400), (400, 2000)])
    turns: Annotated[Count, Meta(description="Model turns per agent.")] = 24
    tokens: Annotated[Count, Meta(description="Tokens (in and out) per agent.")] = 400_000
    cost_usd: Annotated[float, Meta(gt=0, description="Cost per agent where the provider reports it.")] = 0.15
    nudges: Annotated[int, Meta(ge=0, description="Turns without a tool call that are answered with a reminder.")] = 6


class Notify(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[notify] what `campaign observe` (a systemd timer) does every minute; off by default."""

    command: Annotated[
        list[str], Meta(description="Argument list run for each new trouble, the sentence as its last argument.")
    ] = field(default_factory=list)
    webhook: Annotated[str, Meta(description='URL that gets each new trouble as JSON: {"text": ...}.')] = ""
    repeat_s: Annotated[Seconds, Meta(description="A trouble that stays is told again after this long.")] = 7200.0
    metrics_file: Annotated[str, Meta(description="Prometheus text file to keep up to date, e.g. NAME.prom.")] = ""
