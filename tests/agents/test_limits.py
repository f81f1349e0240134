"""Back-off, breaker and limiter, on a clock of their own."""

from __future__ import annotations

import asyncio
import heapq
import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from drafter.agents.backoff import delay, start_gap
from drafter.agents.breaker import Breaker
from drafter.agents.leave import Leave, Left, Why
from drafter.agents.limiter import Limiter, Ticket
from drafter.agents.replies import Failure, Kind, Reply

OK = Reply("", (), "stop")
PLATFORM = Failure(Kind.RATE, "http-429", "", 429, "platform", 5.0)
PROVIDER = Failure(Kind.RATE, "http-429", "", 429, "provider")
DENIED = Failure(Kind.DENIED, "http-402", "no credit", 402)
SERVER = Failure(Kind.SERVER, "http-502", "bad gateway", 502)

rolls = st.floats(0, 1, exclude_max=True)
spans = st.floats(0.001, 1000)


@given(st.integers(0, 10_000), spans, spans, rolls, st.floats(0, 4000))
def test_a_delay_is_never_under_its_floor_nor_over_its_bound(
    attempt: int, base: float, cap: float, roll: float, floor: float
) -> None:
    waited = delay(attempt, base, cap, roll, floor)
    assert waited >= floor
    assert waited <= floor + min(cap, base * 2.0 ** min(attempt, 60))


@given(st.integers(0, 60), spans, spans, rolls)
def test_more_attempts_never_wait_less_for_the_same_roll(attempt: int, base: float, cap: float, roll: float) -> None:
    assert delay(attempt + 1, base, cap, roll) >= delay(attempt, base, cap, roll)


@given(st.integers(1, 5000), st.floats(0.1, 1000))
def test_a_cold_start_fits_its_window(count: int, window: float) -> None:
    gap = start_gap(count, window)
    assert gap <= 0.5
    assert gap * count <= window + 1e-6


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class World:
    """A limiter with requests that end when the test says."""

    workers: int
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.breaker = Breaker(cool_s=10, cool_max_s=100, dead_s=1)
        self.limiter = Limiter(self.workers, self.breaker, pause_s=1.0, clock=self.clock, roll=lambda: 0.0)

    def begin(self) -> Ticket:
        assert self.limiter.ready_in() == 0.0
        return self.limiter.begin()


actions = st.lists(
    st.tuples(
        st.sampled_from(["ok", "platform", "provider", "denied", "server", "none"]),
        st.floats(0, 20),
        st.integers(0, 12),
        st.integers(0, 40),
    ),
    max_size=60,
)


@given(st.integers(1, 30), actions)
def test_no_sequence_of_outcomes_breaks_the_bounds(workers: int, steps: list[tuple[str, float, int, int]]) -> None:
    world = World(workers)
    limiter = world.limiter
    flying: list[Ticket] = []
    outcomes = {"ok": OK, "platform": PLATFORM, "provider": PROVIDER, "denied": DENIED, "server": SERVER, "none": None}
    for name, passed, starts, share in steps:
        world.clock.now += passed
        if share > 30:
            limiter.set_workers(share - 25)
        for _ in range(starts):
            if limiter.ready_in() == 0.0:
                flying.append(limiter.begin())
        if flying:
            limiter.end(flying.pop(0), outcomes[name])
        assert limiter.in_flight == len(flying)
        assert limiter.limit >= 1.0 or limiter.workers < 1
        assert limiter.limit <= max(1.0, limiter.workers)
    while flying:
        limiter.end(flying.pop(), None)
    # Whatever happened, time alone brings it back.
    world.clock.now += 10_000
    assert limiter.ready_in() == 0.0


def test_a_platform_limit_pauses_the_whole_pool_until_its_reset() -> None:
    world = World(4)
    first, second = world.begin(), world.begin()
    world.limiter.end(first, PLATFORM)
    assert world.limiter.ready_in() == 5.0
    world.limiter.end(second, OK)
    assert world.limiter.ready_in() == 5.0
    world.clock.now += 5.0
    assert world.limiter.ready_in() == 0.0
    assert world.limiter.limit == 4


def test_a_burst_of_provider_429s_cuts_once_per_round_trip() -> None:
    world = World(10)
    burst = [world.begin() for _ in range(10)]
    world.clock.now += 1
    for ticket in burst:
        world.limiter.end(ticket, PROVIDER)
    assert world.limiter.limit == 7.0
    world.clock.now += 1
    again = [world.begin() for _ in range(3)]
    world.clock.now += 1
    for ticket in again:
        world.limiter.end(ticket, PROVIDER)
    assert round(world.limiter.limit, 2) == 4.9


def cut(world: World) -> None:
    """Brings the limit down once."""
    cuts = world.limiter.cuts
    while world.limiter.cuts == cuts:
        world.clock.now += 1
        ticket = world.begin()
        world.clock.now += 1
        world.limiter.end(ticket, PROVIDER)


def test_a_cut_limit_grows_back_only_while_it_binds() -> None:
    world = World(10)
    cut(world)
    assert world.limiter.limit == 7.0
    for _ in range(50):
        world.clock.now += 1
        world.limiter.end(world.begin(), OK)  # one at a time: the limit is not what holds us back
    assert world.limiter.limit == 7.0
    for _ in range(30):
        world.clock.now += 1
        flying = []
        while world.limiter.ready_in() == 0.0:
            flying.append(world.begin())
        for ticket in reversed(flying):
            world.limiter.end(ticket, OK)
    assert 7.0 < world.limiter.limit <= 10.0


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**32))
def test_a_provider_that_refuses_a_few_whatever_the_load_does_not_starve_the_fleet(seed: int) -> None:
    world = World(200)
    rng = random.Random(seed)
    flying: list[Ticket] = []
    lowest = 200.0
    for _ in range(4000):
        while world.limiter.ready_in() == 0.0:
            flying.append(world.begin())
        world.clock.now += 0.01
        world.limiter.end(flying.pop(rng.randrange(len(flying))), PROVIDER if rng.random() < 0.04 else OK)
        lowest = min(lowest, world.limiter.limit)
    assert lowest >= 200 * 0.7**2


def test_a_denial_stops_all_requests_until_one_probe_gets_through() -> None:
    world = World(4)
    first, second = world.begin(), world.begin()
    world.limiter.end(first, DENIED)
    world.limiter.end(second, DENIED)  # sent before it opened: says nothing new
    assert world.breaker.opened == 1
    assert world.limiter.ready_in() == 10.0
    world.clock.now += 10.0
    probe = world.begin()
    assert probe.probe
    assert world.limiter.ready_in() is None
    world.limiter.end(probe, DENIED)
    assert world.limiter.ready_in() == 20.0
    world.clock.now += 20.0
    world.limiter.end(world.begin(), OK)
    assert not world.breaker.open
    assert world.limiter.ready_in() == 0.0
    assert world.breaker.reason == ""


def test_a_probe_that_ends_without_an_answer_lets_the_next_one_probe() -> None:
    world = World(4)
    world.limiter.end(world.begin(), DENIED)
    world.clock.now += 10.0
    world.limiter.end(world.begin(), None)
    assert world.begin().probe


def test_a_dead_provider_opens_the_breaker_but_one_bad_second_does_not() -> None:
    world = World(40)
    for ticket in [world.begin() for _ in range(30)]:
        world.limiter.end(ticket, SERVER)
    assert not world.breaker.open
    world.clock.now += 2
    for _ in range(10):
        if not world.breaker.open:
            world.limiter.end(world.begin(), SERVER)
    assert world.breaker.open


def test_a_share_that_grows_is_used_unless_the_limit_was_cut() -> None:
    world = World(4)
    world.limiter.set_workers(8)
    assert world.limiter.limit == 8
    cut(world)
    world.limiter.set_workers(20)
    assert world.limiter.limit < 8
    world.limiter.set_workers(2)
    assert world.limiter.limit == 2


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 8), st.integers(1, 40), st.integers(0, 2**32), st.sets(st.integers(0, 39)))
def test_every_waiter_gets_its_turn_or_leaves(workers: int, agents: int, seed: int, leavers: set[int]) -> None:
    """The waiting itself: no lost wake-up, never more in flight than the share."""
    rng = random.Random(seed)

    async def main() -> None:
        limiter = Limiter(workers, Breaker(0.001, 0.002, 0.001), pause_s=0.001)
        leaves = [Leave() for _ in range(agents)]
        highest = 0

        async def agent(number: int) -> bool:
            nonlocal highest
            for _ in range(3):
                try:
                    ticket = await limiter.slot(leaves[number])
                except Left:
                    return False
                highest = max(highest, limiter.in_flight)
                await asyncio.sleep(0)
                outcome = rng.choice([OK, OK, OK, PROVIDER, DENIED, SERVER, None])
                limiter.end(ticket, outcome)
            return True

        tasks = [asyncio.create_task(agent(number)) for number in range(agents)]
        await asyncio.sleep(0)
        for number in leavers:
            if number < agents:
                leaves[number].ask(Why.CANCELLED)
        await asyncio.wait_for(asyncio.gather(*tasks), 10)
        assert highest <= workers
        assert limiter.in_flight == 0

    asyncio.run(main())


def test_a_fleet_settles_under_a_provider_that_allows_less_than_its_share() -> None:
    """A provider that serves 6 at a time, requests of 1 s: its capacity is used, though nobody names it."""
    clock = Clock()
    limiter = Limiter(24, Breaker(10, 100, 1e9), pause_s=1.0, clock=clock, roll=lambda: 0.5)
    events: list[tuple[float, int, Ticket, bool]] = []
    served = refused = active = 0
    for serial in range(6000):
        while limiter.ready_in() == 0.0:
            good = active < 6
            active += good
            heapq.heappush(events, (clock.now + (1.0 if good else 0.05), serial, limiter.begin(), good))
            serial += 1
        clock.now, _, ticket, good = heapq.heappop(events)
        active -= good
        served += good
        refused += not good
        limiter.end(ticket, OK if good else PROVIDER)
    assert served / (clock.now - 1000.0) > 6 * 0.75
