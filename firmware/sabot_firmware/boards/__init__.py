"""The boards that the firmware runs on: one room each, with a class `Board` whose types are in
interfaces.pyi.

A board owns its pins and ports. The firmware uses these members of it:

- `NAME`; `storage`, the folder for documents; `serial`, the number of the board, which USB also
  shows; `reset_cause`, a place in `enums.RESET_CAUSES`
- `ticks_ms()`: milliseconds since the start; it never wraps
- `sleep_ms(ms)`: let the processor sleep; no other task runs meanwhile
- `await wait_for_activity(within_ms, wait)`: returns when there may be samples or input, samples
  within `within_ms`; without `wait` it returns after `within_ms` in any case
- `flash`: the journal's chip, as in boards/nor.py
- `switches()`: the positions of the switches at the start; bit n is the n-th of `enums.SWITCHES`
- `read_samples(buf)`: puts sensor samples into `buf`, in the form that cards/reader.py reads;
  returns how many bytes
- `judged(unjudged_bytes, undecided)`: the samples read so far are judged, except for the last
  `unjudged_bytes` of the piece read last, and the lock is set as follows from them; `undecided`:
  whether a card is in the head by these samples, so that more may follow from it. At a card's last
  mark, once the lock is set, and at the end of a pass it is False
- `overruns`: how often samples were lost because they were not read in time
- `levels()`: what the sensors see now; bit n is the n-th of `enums.CHANNELS`
- `noise(source, buf)`: fills `buf` with raw samples of the source with this place in
  `enums.RANDOM_SOURCES`, one a byte
- `temperature_c()`: of the processor, None if it cannot be measured
- `display_answers()`, `samples_come()`: whether the display answers, whether samples arrive
- `take_input()`: the next change of a button or a switch, as in table/inputs.py
- `set_lock(released)`, `set_lamps(lit)`, `show(text)`, `buzz(ms)`
- `await read_link()`: some bytes from the host; `write_link(view)`: returns how many bytes it took
- `watch(timeout_ms)`: start the watchdog, or set another time; it restarts the board if `feed()`
  is not called in that time. `LOOK_BYTES`: bytes of samples that are judged between two calls
- `restarts`: how often the shoe has restarted because something went wrong, each time soon after
  its start; `settle()`: this time it works
- `lid_watched`: whether programs of the shoe have watched its lid until this start, without a
  break, so that the cards are as they were; `set_lid_watched(watched)`: what the next start is to
  find if only a watchdog, an error or a command led to it; after any other cause it finds False
- `lock_obeys()`: whether the lock's output is off if it must be shut
- `SENSES`: whether it has any of the optional parts that the next three lines name
- `lock_follows()`: whether the bolt is where that output wants it, by a contact that senses it;
  True on a board without one
- `supply_good()`: whether the supply is high enough, and not falling, so that an operation of a
  flash may begin; True on a board that cannot tell
- `lid_opened`, `compartment_opened`: whether a latch that needs no power says that the lid, or the
  compartment with the board, was opened since `arm_latches()`; None on a board without that latch
- `reset(cause)`: start again, as after a loss of power; the next start has this `reset_cause`
- `halt(error, for_s)`: stop after an error that the firmware cannot handle, for so many seconds;
  without them it never returns

**The lock.** Whether a card is due depends on all cards before it. Every board must keep these
rules; tests/boards/test_lock_rules.py tries each board.

1. `set_lock(False)` shuts the lock at once, and only `set_lock(True)` can lead to its release.
2. A card that is due never finds it shut: from a card's edge at the first sensor to its last mark,
   a released lock stays released, however long its samples wait to be judged.
3. Safety wins once that card's last mark has passed: if it is not judged within 5 ms, the board
   shuts the lock by itself. A card with too few marks has passed when it leaves the first sensor.
4. It stays shut until that mark is judged, and no longer: the call of `judged` that reaches the
   mark, and is not `undecided`, releases the lock again if `set_lock(True)` was called last, also
   with the next card in the head. So does a `set_lock(True)` that comes meanwhile.

A board on which no sample can wait, because none comes while the shoe does something else, has
nothing to do for rules 3 and 4.
"""

import os
import sys

from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board as AnyBoard

START_MS = const(8000)
"""The watchdog's time while a shoe starts, and in the updater: about the longest that an RP2040
allows."""

SERVICE_MS = const(2500)
"""Its time in service. The longest turn, with erases of a Pico's own flash that take 400 ms, must
be shorter."""


def is_rp2350() -> bool:
    """Whether this interpreter runs on an RP2350."""
    # Not sys.implementation._machine: a release shortens every name that begins with "_".
    return sys.platform == "rp2" and "RP2350" in os.uname().machine


def board_class() -> "type[AnyBoard]":
    """Return the class of the board that this interpreter runs on."""
    if is_rp2350():
        from sabot_firmware.boards.pico2.board import Board
    elif sys.platform == "rp2":
        from sabot_firmware.boards.pico.board import Board
    else:
        from sabot_firmware.boards.sim.board import Board
    return Board
