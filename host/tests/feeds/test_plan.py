"""What goes next, and when, for receivers that are modelled here, over hours of a clock that is
passed in."""

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from host.tests.feeds.conftest import made
from sabot.feeds.message import Message, Position
from sabot.feeds.plan import Page, Plan, pause_s

_PAGE = 3


@dataclass
class _World:
    """Units with messages 1 to `last`, and a receiver that answers by `answers`: "ok", "refused" or
    "failed"."""

    answers: Callable[[Message, float], str]
    rng: random.Random
    last: dict[str, int] = field(default_factory=dict)
    now_s: float = 0.0
    tries: list[tuple[float, str, int]] = field(default_factory=list)
    got: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.plan = Plan(4, self.rng)
        self.at: dict[str, int] = defaultdict(int)

    def add(self, unit: str, count: int) -> None:
        self.last[unit] = self.last.get(unit, 0) + count
        self.plan.notify([unit])

    def run(self, until_s: float) -> None:
        while self.now_s < until_s:
            for unit in self.plan.to_load(self.now_s):
                first = self.at[unit] + 1
                numbers = range(first, min(first + _PAGE, self.last[unit] + 1))
                page = Page([made(unit, n) for n in numbers], Position(max(numbers, default=0), 9))
                self.plan.load(unit, page)
            batch = self.plan.batch(self.now_s)
            assert len({each.unit for each in batch}) == len(batch) <= 4
            answers = [(each, self.answers(each, self.now_s)) for each in batch]
            for message, answer in sorted(answers, key=lambda each: each[1] != "ok"):
                number = message.position.event
                self.tries.append((self.now_s, message.unit, number))
                if answer == "ok":
                    self.got[message.unit].append(number)
                    at = self.plan.delivered(message, self.now_s)
                    self.at[message.unit] = at.event
                elif answer == "refused":
                    self.plan.refused(message, self.now_s)
                else:
                    self.plan.failed(message, self.now_s)
            due_s = self.plan.due_s(self.now_s)
            if batch:
                self.now_s += 0.01
            elif due_s is None or due_s > until_s:
                self.now_s = until_s
            else:
                self.now_s = max(self.now_s + 0.001, due_s)


def test_each_units_messages_go_in_order_and_all_units_take_turns(rng: random.Random) -> None:
    world = _World(lambda *_: "ok", rng)
    for unit in "abcdefghij":
        world.add(unit, 10)
    world.run(1e3)
    assert dict(world.got) == {unit: [*range(1, 11)] for unit in "abcdefghij"}
    tried = [unit for _, unit, _ in world.tries]
    assert {*tried[:40]} > {*"abcd"}  # no unit waits until another one is done
    assert world.plan.waiting_units == 0 and world.plan.due_s(0) is None


def test_new_messages_of_a_unit_follow_while_others_are_sent(rng: random.Random) -> None:
    world = _World(lambda *_: "ok", rng)
    for at_s in range(200):
        world.add(rng.choice("abc"), rng.randrange(1, 4))
        world.run(at_s / 10)
    world.run(1e3)
    assert world.got == {unit: [*range(1, last + 1)] for unit, last in world.last.items()}


def test_one_message_that_is_refused_keeps_its_unit_waiting_and_no_other(
    rng: random.Random,
) -> None:
    poison_s = 7200.0
    for answer in ("refused", "failed"):

        def answers(message: Message, now_s: float, answer: str = answer) -> str:
            bad = message.unit == "a" and message.position.event == 2 and now_s < poison_s
            return answer if bad else "ok"

        world = _World(answers, rng)
        for unit in "abc":
            world.add(unit, 3)
        for at_s in range(0, 7200, 10):  # others go on, every ten seconds
            world.add("b", 1)
            world.run(at_s + 10)
            late_s = world.now_s - max(s for s, unit, _ in world.tries if unit == "b")
            assert world.got["b"][-1] == world.last["b"] and late_s < 11
        assert world.got["a"] == [1]
        tried = [number for _, unit, number in world.tries if unit == "a"]
        assert set(tried[1:]) == {2} and len(tried) < 70, "not without pause"
        world.run(poison_s + 3700)
        assert world.got["a"] == [1, 2, 3]


def test_a_receiver_that_is_down_for_days_is_tried_seldom_and_has_all_soon_after(
    rng: random.Random,
) -> None:
    up_s = 3 * 86_400.0
    world = _World(lambda _, now_s: "ok" if now_s > up_s else "failed", rng)
    units = [f"u{number}" for number in range(50)]
    for unit in units:
        world.add(unit, 5)
    world.run(up_s)
    assert not world.got
    late = [s for s, *_ in world.tries if s > 3600]
    assert len(late) < 3 * 86_400 / 140
    pauses = [after - before for before, after in pairwise(late)]
    assert max(pauses) <= 301
    world.run(up_s + 301 + 60)
    assert world.got == {unit: [1, 2, 3, 4, 5] for unit in units}


def test_a_receiver_that_asks_for_time_is_left_alone(rng: random.Random) -> None:
    plan = Plan(4, rng)
    plan.notify(["a", "b"])
    for unit in plan.to_load(0):
        plan.load(unit, Page([made(unit, 1)], Position(1, 9)))
    for message in plan.batch(0):
        plan.failed(message, 0, 500)
    assert plan.due_s(0) == 500 and not plan.to_load(499) and not plan.batch(499)
    assert plan.to_load(500)
    plan.failed(made("a", 1), 500, 1e9)
    assert plan.due_s(500) == 500 + 86_400, "at most a day"


def test_pauses_double_up_to_their_limit_and_differ(rng: random.Random) -> None:
    for tries, full_s in ((1, 1), (2, 2), (5, 16), (12, 300), (10_000, 300)):
        pauses = {pause_s(tries, 300, rng) for _ in range(50)}
        assert full_s / 2 <= min(pauses) <= max(pauses) <= full_s and len(pauses) > 40
