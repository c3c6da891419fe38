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
- `judged(in_pass)`: all samples read so far are judged, and what followed from them is done;
  `in_pass`: whether a card is in the head by these samples
- `overruns`: how often samples were lost because they were not read in time
- `levels()`: what the sensors see now; bit n is the n-th of `enums.CHANNELS`
- `noise(source, buf)`: fills `buf` with raw samples of the source with this place in
  `enums.RANDOM_SOURCES`, one a byte
- `temperature_c()`: of the processor, None if it cannot be measured
- `display_answers()`, `samples_come()`: whether the display answers, whether samples arrive
- `take_input()`: the next change of a button or a switch, as in table/inputs.py
- `set_lock(released)`, `set_lamps(lit)`, `show(text)`, `buzz(ms)`
- `await read_link()`: some bytes from the host; `write_link(view)`: returns how many bytes it took
- `reset()`: start again, as after a loss of power
- `halt(error)`: stop after an error that the firmware cannot handle; never returns
"""

import sys

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board as AnyBoard


def board_class() -> "type[AnyBoard]":
    """Return the class of the board that this interpreter runs on."""
    if sys.platform == "rp2":
        from sabot_firmware.boards.pico.board import Board
    else:
        from sabot_firmware.boards.sim.board import Board
    return Board
