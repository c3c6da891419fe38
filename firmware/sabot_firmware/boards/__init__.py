"""The boards that the firmware runs on: one module each, all with the methods of `Board`, whose
types are in interfaces.pyi.

A board owns its pins and ports. What the firmware asks of it:

- `NAME`, `storage` (a folder to keep documents in), `serial` (the board's own number, as USB
  tells it), `reset_cause` (place in `enums.RESET_CAUSES`)
- `ticks_ms()`: milliseconds since the start, never wrapping
- `await activity(within_ms, wait)`: returns when there may be samples or input, samples so soon;
  without `wait` after `within_ms` in any case
- `flash`: the journal's chip, as in boards/nor.py
- `switches()`: how the switches stood at the start, bit n the n-th of `words.SWITCHES`
- `read_samples(buf)`: bytes of sensor samples put into `buf`, as cards/reader.py reads them
- `overruns`: how often samples were lost because nobody read them in time
- `levels()`: bit n: the n-th of `words.CHANNELS` sees something now; `temperature_c()` of the
  processor, None where it cannot tell; `display_answers()`; `samples_come()`
- `take_input()`: the next change of a button or a switch, as in table/inputs.py
- `set_lock(released)`, `set_lamps(lit)`, `show(text)`, `buzz(ms)`
- `await read_link()`: some bytes from the host; `write_link(view)`: how many it could take
- `reset()`: start anew, as after a loss of power
- `halt(error)`: after an error that nothing can mend; never returns
"""

import sys

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board as AnyBoard


def this_board() -> "AnyBoard":
    """The board that this interpreter runs on, ready to use."""
    if sys.platform == "rp2":
        from sabot_firmware.boards.pico.board import Board
    else:
        from sabot_firmware.boards.sim.board import Board
    return Board()
