"""The boards that run MicroPython on a chip of Raspberry Pi, as the host meets them: by what their
MicroPython says, by their image, and by the drive of their boot loader.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pico:
    """One kind of board."""

    board: str
    """Sabot's name for it, as in a release."""
    chip: str
    """As MicroPython says it."""
    machine: str
    """MicroPython's name for the board, before " with " and the chip."""
    family: int
    """The family of its UF2 files (pico-sdk, boot/uf2.h)."""
    flash_bytes: int
    drive: str
    """The Board-ID in the file INFO_UF2.TXT of its boot loader's drive."""
    disk: str
    """The name that udev gives that drive, a pattern."""
    download: str
    """MicroPython's name for its images."""

    @property
    def says(self) -> str:
        """How MicroPython describes the board."""
        return f"{self.machine} with {self.chip}"


PICOS = {
    each.board: each
    for each in (
        Pico(
            board="pico",
            chip="RP2040",
            machine="Raspberry Pi Pico",
            family=0xE48BFF56,
            flash_bytes=2 << 20,
            drive="RPI-RP2",
            disk="usb-RPI_RP2_*-part1",
            download="RPI_PICO",
        ),
        Pico(
            board="pico2",
            chip="RP2350",
            machine="Raspberry Pi Pico2",
            family=0xE48BFF59,  # with Arm's processors, secure: as MicroPython's image is
            flash_bytes=4 << 20,
            drive="RP2350",
            disk="usb-RPI_RP2350_*-part1",
            download="RPI_PICO2",
        ),
    )
}
"""By Sabot's names."""
