"""One Pico without wiring: what the emulator assumes, measured."""
