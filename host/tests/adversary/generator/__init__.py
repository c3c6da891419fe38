"""An attacker who knows all that the chip's sources of randomness give computes what a unit draws.

The model of the chip, the attack on raw numbers, and the pool as docs/randomness.md publishes it
were written from public pages alone, without the code of the firmware's pool.
"""
