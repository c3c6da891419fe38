"""The names that our sources define and MicroPython has too.

A release keeps them (short_names.py): MicroPython may look for one in an object of ours, as `ioctl`
in a file system, or a source may mean MicroPython's own. `test_micropython_names.py` finds them in
MicroPython's binaries.
"""

MICROPYTHON_NAMES = frozenset(
    """
    A B E ERROR HEAD LED Lock ORDER State VOID WDT X a action add b bits block board buf busy
    channel choice clear code const content count d data decode default digest drain e encode end
    event f feed file fill find from_bytes full function g get gpio group h head high i idle index
    install ioctl items j key keys label length line load low machine main measure message
    micropython miso mkfs mode modules mosi mount n name names native next off on open out package
    path phase pin pins poll ptr32 ptr8 put q random raw read readblocks readinto readonly reason
    remove request reset reset_cause round run scan sck scl sda seed seek select self set sha256
    shift signed size sleep_ms start stat state status step stop store system table target task text
    ticks_ms ticks_us timeout title u update v value values version viper wait waiting word write
    writeblocks x y z
    """.split()  # noqa: SIM905 - a list would take 152 lines
)
"""Of version 1.28, its ports for unix and for the Raspberry Pi Pico."""
