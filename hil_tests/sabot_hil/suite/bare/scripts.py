"""The scripts that measure on the Pico itself. Each prints one value with `repr`.

What is timed runs from RAM with interrupts off, and reads the chip's timer itself: then neither the
interpreter nor USB comes in between. Addresses of registers: RP2040 data sheet, 2.6.3 (XIP), 2.17.7
(ROSC), 4.6 (timer), 4.7 (watchdog).
"""

_TIMER = "0x40054028"

CACHE = f"""\
import machine
from array import array
@micropython.viper
def words(begin: int, count: int) -> int:
    timer = ptr32({_TIMER})
    at = ptr32(begin)
    x = 0
    i = 0
    began = timer[0]
    while i < count:
        x = at[i]
        i += 1
    return timer[0] - began
@micropython.viper
def flushes(out: ptr32):
    timer = ptr32({_TIMER})
    xip = ptr32(0x14000000)
    began = timer[0]
    i = 0
    while i < 64:
        xip[1] = 1
        x = xip[1]
        i += 1
    out[0] = timer[0] - began
@micropython.viper
def reads(base: int, out: ptr32):
    xip = ptr32(0x14000000)
    at = ptr32(base)
    xip[1] = 1
    x = xip[1]
    xip[3] = 0
    i = 0
    while i < 256:
        x = at[2 * i]
        x = at[2 * i + 1]
        i += 1
    out[1] = xip[3]
    xip[3] = 0
    i = 0
    while i < 256:
        x = at[2 * i]
        x = at[2 * i + 1]
        i += 1
    out[2] = xip[3]
    xip[1] = 1
    x = xip[1]
    xip[3] = 0
    i = 0
    while i < 256:
        x = at[2 * i]
        x = at[2 * i + 2048]
        x = at[2 * i]
        x = at[2 * i + 4096]
        x = at[2 * i]
        i += 1
    out[3] = xip[3]
words(0x20000000, 16)
out = array("I", (0, 0, 0, 0))
COUNT = 4096
off = machine.disable_irq()
free = words(0x20000000, COUNT)
dear = words(0x13000000, COUNT)
flushes(out)
reads(0x10000000, out)
machine.enable_irq(off)
print(repr((COUNT, free, dear) + tuple(out)))
"""

COLLECTIONS = """\
import gc, time
gc.collect()
kept = []
took = []
for kilobytes in (20, 50, 100, 160):
    while gc.mem_alloc() < kilobytes * 1024:
        for _ in range(20):
            kept.append((len(kept), bytearray(24)))
    best = 1 << 29
    for _ in range(3):
        began = time.ticks_us()
        gc.collect()
        best = min(best, time.ticks_diff(time.ticks_us(), began))
    took.append((kilobytes, best))
print(repr((took, gc.mem_alloc() + gc.mem_free())))
"""

_PIO = """\
import machine, rp2, time, gc, uctypes
from array import array
@rp2.asm_pio(autopush=True, push_thresh=32, fifo_join=rp2.PIO.JOIN_RX)
def program():
    in_(pins, 4)
def sampling(hertz):
    ring = bytearray(2048)
    begin = (uctypes.addressof(ring) + 1023) & -1024
    sm = rp2.StateMachine(0, program, freq=hertz, in_base=machine.Pin(2))
    dma = rp2.DMA()
    control = dma.pack_ctrl(inc_read=False, ring_size=10, ring_sel=True, treq_sel=4)
    dma.config(read=sm, write=begin, count=1 << 27, ctrl=control, trigger=True)
    sm.active(1)
    return sm, dma, ring
"""

PIO = f"""\
{_PIO}
@micropython.viper
def counted(us: int, out: ptr32, count: ptr32):
    timer = ptr32({_TIMER})
    first = count[0]
    began = timer[0]
    while timer[0] - began < us:
        pass
    out[0] = first - count[0]
    out[1] = timer[0] - began
@micropython.viper
def moved(out: ptr32, trigger: ptr32, count: ptr32, words: int):
    timer = ptr32({_TIMER})
    began = timer[0]
    trigger[0] = words
    while count[0]:
        pass
    out[2] = timer[0] - began
out = array("I", (0, 0, 0))
sm, dma, ring = sampling(20_000)
off = machine.disable_irq()
counted(100_000, out, uctypes.addressof(dma.registers) + 8)
machine.enable_irq(off)
slow = out[0], out[1]
sm.active(0)
dma.close()
sm, dma, ring = sampling(8_000_000)
off = machine.disable_irq()
counted(10_000, out, uctypes.addressof(dma.registers) + 8)
machine.enable_irq(off)
fast = out[0], out[1]
sm.active(0)
dma.close()
copy = rp2.DMA()
source = bytearray(4)
control = copy.pack_ctrl(inc_read=False, inc_write=False)
copy.config(read=source, write=bytearray(4), count=0, ctrl=control)
WORDS = 20_000
off = machine.disable_irq()
moved(out, uctypes.addressof(copy.registers) + 0x1C, uctypes.addressof(copy.registers) + 8, WORDS)
machine.enable_irq(off)
copy.close()
print(repr((slow, fast, (WORDS, out[2]))))
"""

RANDOM = """\
import os, machine
from array import array
@micropython.viper
def bits(out: ptr8, count: int):
    rosc = ptr32(0x40060000)
    i = 0
    while i < count:
        out[i] = rosc[7] & 1
        i += 1
COUNT = 4096
raw = bytearray(COUNT)
bits(raw, COUNT)
same = sum(raw[i] == raw[i + 1] for i in range(COUNT - 1))
import time
began = time.ticks_us()
drawn = os.urandom(1024)
took = time.ticks_diff(time.ticks_us(), began)
ones = sum(bin(octet).count("1") for octet in drawn)
pieces = set(drawn[i:i + 4] for i in range(0, 1024, 4))
print(repr((COUNT, sum(raw), same, took, ones, len(pieces))))
"""

DRAWN = "import os\nprint(repr(os.urandom(32)))"

STALL = """\
import sys, time, select
waiting = select.poll()
waiting.register(sys.stdout, select.POLLOUT)
port = sys.stdout.buffer
def room(ms):
    end = time.ticks_add(time.ticks_ms(), ms)
    while True:
        for _ in waiting.ipoll(0):
            return True
        if time.ticks_diff(end, time.ticks_ms()) <= 0:
            return False
taken = 0
began = time.ticks_ms()
while time.ticks_diff(time.ticks_ms(), began) < 8000 and room(300):
    port.write(b" ")
    taken += 1
stopped = not room(0)
began = time.ticks_us()
port.write(b" " * 600)
took = time.ticks_diff(time.ticks_us(), began)
while not room(30_000):
    pass
print(repr((taken, stopped, took)))
"""

FLASH = f"""\
{_PIO}
flash = rp2.Flash()
held = bytearray(4096)
empty = -1
for block in range(flash.ioctl(4, 0) - 1, -1, -1):
    flash.readblocks(block, held)
    if held.count(b"\\xff") == 4096:
        empty = block
        break
seen = array("i", (0, 0))
ticks_us, ticks_diff = time.ticks_us, time.ticks_diff
def look(timer):
    now = ticks_us()
    gap = ticks_diff(now, seen[0])
    if gap > seen[1]:
        seen[1] = gap
    seen[0] = now
def timed(work):
    seen[0] = time.ticks_us()
    seen[1] = 0
    before = dma.count
    began = time.ticks_us()
    work()
    took = time.ticks_diff(time.ticks_us(), began)
    words = before - dma.count
    time.sleep_ms(3)
    return took, words, seen[1]
if empty < 0:
    print(repr(None))
else:
    page, pages = bytes(256), bytes(4096)
    sm, dma, ring = sampling(80_000)
    try:
        one = timed(lambda: flash.writeblocks(empty, page, 0))
        flash.ioctl(6, empty)
        whole = timed(lambda: flash.writeblocks(empty, pages, 0))
    finally:
        erase = timed(lambda: flash.ioctl(6, empty))
    timer = machine.Timer(period=1, callback=look, hard=True)
    time.sleep_ms(5)
    idle = timed(lambda: time.sleep_ms(20))
    again = timed(lambda: flash.ioctl(6, empty))
    timer.deinit()
    sm.active(0)
    flash.readblocks(empty, held)
    print(repr((one, whole, erase, again[2], idle[2], held.count(b"\\xff") == 4096)))
"""

SETTINGS = """\
import machine
print(repr([machine.mem32[0x18000000 + register] for register in (0x00, 0x04, 0x14, 0xF4)]))
"""


_MARK = """\
machine.mem32[0x4005800C] = 0x5AB07
machine.mem32[0x40058014] = 0
print("going")
time.sleep_ms(20)
"""

MARKED = f"""\
import machine, time
{_MARK}
machine.mem32[0x40058010] = machine.mem32[{_TIMER}]
machine.reset()
"""

BITES_AFTER_S = 0.5

BITTEN = f"""\
import machine, time
@micropython.viper
def until_it_bites():
    timer = ptr32({_TIMER})
    watchdog = ptr32(0x40058000)
    while True:
        watchdog[5] = timer[0]
{_MARK}
wdt = machine.WDT(timeout={BITES_AFTER_S * 1000:.0f})
machine.mem32[0x40058010] = machine.mem32[{_TIMER}]
until_it_bites()
"""

CAUSE = """\
import machine
causes = {machine.PWRON_RESET: "power_on", machine.WDT_RESET: "watchdog"}
print(repr((causes.get(machine.reset_cause(), "unknown"), machine.mem32[0x40058008],
            [machine.mem32[0x4005800C + 4 * n] & 0xFFFFFFFF for n in range(3)])))
"""

CHIPS_US = f"__import__('machine').mem32[{_TIMER}] & 0xFFFFFFFF"
