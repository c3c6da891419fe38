"""The clock and the scheduler of a shoe whose turns take time (timed_shoe.py). It needs CPython."""

import heapq


class Turns:
    """The clock, the scheduler in place of the module asyncio, and a timer's interrupt."""

    def __init__(self):
        self.now_us = 0
        self.timer = None
        """The timer of the interrupt, a fake machine.Timer; None for none."""
        self._next_look_us = 0
        self._queue = []
        self._order = 0

    def spend(self, us):
        """Let time pass, in which the processor does something or sleeps."""
        end_us = self.now_us + us
        timer = self.timer
        if timer is None:
            self._next_look_us = end_us
        while self._next_look_us < end_us:
            self.now_us = self._next_look_us
            self._next_look_us += 1000 * timer.period
            timer.callback(timer)
        self.now_us = end_us

    def ticks_ms(self):
        return int(self.now_us) // 1000

    def sleep_ms(self, ms):
        return _Pause(1000 * (self.ticks_ms() + ms))

    def Event(self):
        return Event(self)

    def add(self, task, due_us=0):
        self._order += 1
        heapq.heappush(self._queue, (due_us, self._order, task))

    def run_until(self, end_us):
        """Run the tasks until `end_us` or, if a turn lasts longer, until it is over."""
        while self.now_us < end_us:
            due_us = min(self._queue[0][0], end_us)
            if due_us > self.now_us:
                self.spend(due_us - self.now_us)
                continue
            task = heapq.heappop(self._queue)[2]
            try:
                waits_for = task.send(None)
            except StopIteration:
                continue
            if isinstance(waits_for, _Pause):
                self.add(task, waits_for.until_us)
            else:
                waits_for.waiting.append(task)


class _Pause:
    def __init__(self, until_us):
        self.until_us = until_us

    def __await__(self):
        yield self


class Event:
    def __init__(self, turns):
        self.waiting = []
        self._turns = turns
        self._is_set = False

    def set(self):
        self._is_set = True
        for task in self.waiting:
            self._turns.add(task)
        self.waiting = []

    def clear(self):
        self._is_set = False

    async def wait(self):
        if not self._is_set:
            await _Wait(self)


class _Wait:
    def __init__(self, event):
        self._event = event

    def __await__(self):
        yield self._event
