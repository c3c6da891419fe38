"""The pins of the bench board and the parts on them. hil_tests/wiring is drawn from this table."""

HIGH, LOW = 1, 0

PINS = (
    # GPIO, part of the shoe, level at which it is on: as in boards/pico/board.py
    (0, "display_sda", HIGH),  # I2C0, in place of the display
    (1, "display_scl", HIGH),
    (2, "sensor_e", HIGH),  # outputs in place of the sensor head: four neighbours, E the lowest
    (3, "sensor_a", HIGH),
    (4, "sensor_b", HIGH),
    (5, "sensor_x", HIGH),
    (6, "button_next", LOW),  # contacts to ground: driven low or left open, never driven high
    (7, "button_reveal", LOW),
    (8, "button_void", LOW),
    (9, "button_burn", LOW),
    (10, "switch_lid_open", HIGH),  # the shut lid closes it
    (11, "switch_key_on", LOW),
    (12, "switch_service_on", LOW),
    (13, "lamp_player", HIGH),  # senses: eight neighbours, in the order of rig.SENSES
    (14, "lamp_banker", HIGH),
    (15, "lamp_tie", HIGH),
    (16, "lamp_ready", HIGH),
    (17, "lamp_error", HIGH),
    (18, "lock", HIGH),
    (19, "buzzer", HIGH),
    (20, "supply", HIGH),  # 5 V of the shoe, divided by two
    (22, "power", HIGH),  # the high-side switch; after a reset the chip itself pulls the pin low
)
"""Pins 27 and 28 are free; 23, 24, 25 and 29 of the Pico are not led out."""

SUPPLY_LEVEL = 21
"""PWM for the filter that sets the level of the shoe's 3.3 V, if one is fitted."""
LEVEL_FITTED = 26
"""High, by a wire to 3.3 V, if that filter is fitted."""

FIRST_SENSOR = "sensor_e"
FIRST_SENSE = "lamp_player"

PIN_OF = {part: (gpio, level) for gpio, part, level in PINS}
