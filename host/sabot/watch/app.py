"""The wall and the table of `sabot serve`, in a terminal."""

import time
from abc import abstractmethod
from collections.abc import Callable
from datetime import tzinfo
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static

from sabot.floor.live import Floor
from sabot.floor.wall import NEEDS, Tile, by_need
from sabot.log.boards import unit_of
from sabot.silences import PICTURE
from sabot.table_time import time_of_day
from sabot.terminal import name_text
from sabot.text import counted, printable
from sabot.watch import table_text, tile_text

_LOOK_S = 0.1
_MOST_ALERTS = 200
_ALL_AGAIN_S = 1.0
"""What depends on the time alone, such as how long a shoe is silent, is shown again so often."""


def _unix_ms() -> int:
    return time.time_ns() // 1_000_000


class WatchApp(App[None]):
    """Shows a floor that others started. `zone` is that of the tables."""

    TITLE = "Sabot"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    DataTable { height: 1fr; }
    #status { height: 1; padding: 0 1; background: $panel; }
    #not-live { display: none; height: 3; padding: 1 2; background: $error; color: $text; }
    #not-live.told { display: block; text-style: bold; }
    #heading { padding: 1 1 0 1; }
    .name { padding: 1 1 0 1; text-style: bold; color: $text-muted; }
    .body { padding: 0 1; }
    #roads { padding: 1 1 0 1; }
    Input { dock: bottom; display: none; }
    Input.asked { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "alerts", "Alerts"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(
        self, floor: Floor, zone: tzinfo, now_unix_ms: Callable[[], int] = _unix_ms
    ) -> None:
        super().__init__()
        self.floor = floor
        self.zone = zone
        self.now_unix_ms = now_unix_ms

    def on_mount(self) -> None:
        self.push_screen(WallScreen())

    def action_alerts(self) -> None:
        """Show the open alerts."""
        if not isinstance(self.screen, AlertsScreen):
            self.push_screen(AlertsScreen())


class _Live(Screen[None]):
    """A screen that shows the floor again when it has changed, and every few seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._shown_version = -1
        self._shown_s = 0.0

    @property
    def watch_app(self) -> WatchApp:
        assert isinstance(self.app, WatchApp)
        return self.app

    def on_mount(self) -> None:
        self.look()
        self.set_interval(_LOOK_S, self.look)

    def look(self) -> None:
        """Show what has changed, and whether it is old."""
        self._show_age()
        version = self.watch_app.floor.version
        again = time.monotonic() - self._shown_s > _ALL_AGAIN_S
        if version != self._shown_version or again:
            before, self._shown_version = self._shown_version, version
            if again:
                self._shown_s, before = time.monotonic(), -1
            self.show_after(before)

    def _show_age(self) -> None:
        """Say so if the log has not been looked at for long. The floor has a thread of its own, so
        that this one notices when it hangs."""
        app = self.watch_app
        told = app.floor.look_ago_s > PICTURE.after_s - _ALL_AGAIN_S
        line = self.query_one("#not-live", Static)
        if told and not line.has_class("told"):
            of = time_of_day(app.floor.looked.unix_ms, app.zone)
            line.update(Text(f"{PICTURE.say(time=of)}. Nothing new comes from the log."))
        line.set_class(told, "told")

    @abstractmethod
    def show_after(self, version: int) -> None:
        """Show what has changed after this version; all if it is negative."""


class _Tables(DataTable[Text]):
    """The lines of the wall."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "Open a table")]


class WallScreen(_Live):
    """A line for each table: those that need a look come first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search"),
        Binding("escape", "all", "All tables", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._wanted = ""
        self._needs: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        yield Static(id="not-live")
        yield Static(id="status")
        yield _Tables(cursor_type="row", zebra_stripes=True)
        yield Input(placeholder="table, unit or game", id="search")
        yield Footer()

    def on_mount(self) -> None:
        table = self._table
        for name in tile_text.COLUMNS:
            table.add_column(name, key=name or "notes")
        table.focus()
        super().on_mount()

    @property
    def _table(self) -> _Tables:
        return self.query_one(_Tables)

    def show_after(self, version: int) -> None:
        floor, now = self.watch_app.floor, self.watch_app.now_unix_ms()
        tiles = floor.tiles() if version < 0 else floor.changed(version)
        table, moved = self._table, False
        if version < 0:
            here = {unit_of(tile.table.unit) for tile in tiles if self._is_wanted(tile)}
            for unit in self._needs.keys() - here:
                table.remove_row(unit)
                del self._needs[unit]
        for tile in tiles:
            moved |= self._show(tile, now)
        if moved:
            units = [unit_of(each.table.unit) for each in by_need(floor.tiles(), now)]
            names = [name_text(unit).plain for unit in units]
            order = {name: place for place, name in enumerate(names)}
            table.sort("unit", key=lambda unit: order.get(unit.plain, len(order)))
        self._show_status(now)

    def _show(self, tile: Tile, now_unix_ms: int) -> bool:
        """Show a tile. Return whether its place in the order may have changed."""
        unit, table = unit_of(tile.table.unit), self._table
        if not self._is_wanted(tile):
            return False
        cells = tile_text.cells(tile, now_unix_ms)
        need = f"{tile.need(now_unix_ms)} {tile.table.name}"
        if unit not in self._needs:
            table.add_row(*cells, key=unit)
        else:
            for name, cell in zip(tile_text.COLUMNS, cells, strict=True):
                if table.get_cell(unit, name or "notes") != cell:
                    table.update_cell(unit, name or "notes", cell, update_width=True)
        before, self._needs[unit] = self._needs.get(unit), need
        return before != need

    def _is_wanted(self, tile: Tile) -> bool:
        of_tile = f"{tile.table.name} {tile.table.unit} {tile.table.game}".casefold()
        return self._wanted in of_tile

    def _show_status(self, now_unix_ms: int) -> None:
        floor = self.watch_app.floor
        needs = [tile.need(now_unix_ms) for tile in floor.tiles()]
        alerts = len(floor.alerts.open)
        done, total = floor.loaded
        parts = [
            time_of_day(now_unix_ms, self.watch_app.zone),
            counted(total, "table"),
            *(f"{needs.count(need)} {word}" for need, word in _NEEDS.items() if need in needs),
            *([counted(alerts, "open alert")] * bool(alerts)),
        ]
        parts += [f"loading {done:,} of {total:,}"] * (done < total)
        parts += [f"searched: {self._wanted}"] * bool(self._wanted)
        parts += [floor.problem] * bool(floor.problem)
        parts += floor.never_came
        self.query_one("#status", Static).update(Text(printable("   ".join(parts))))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        if event.row_key.value is not None:
            self.app.push_screen(TableScreen(event.row_key.value))

    def action_search(self) -> None:
        """Ask for a part of the name of a table, unit or game."""
        search = self.query_one(Input)
        search.add_class("asked")
        search.focus()

    def action_all(self) -> None:
        """Show all tables again."""
        search = self.query_one(Input)
        search.value = ""
        search.remove_class("asked")
        self._table.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._wanted = event.value.strip().casefold()
        self.show_after(-1)

    def on_input_submitted(self, _: Input.Submitted) -> None:
        self._table.focus()


_WORDS = (
    "stopped", "silent", "with events held", "to look at", "in service", "in play", "waiting",
)  # fmt: skip
_NEEDS = dict(zip(NEEDS, _WORDS, strict=True))


class AlertsScreen(_Live):
    """The open alerts, the newest first, as at the desk."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.pop_screen", "All tables")]

    def compose(self) -> ComposeResult:
        yield Static(id="not-live")
        with VerticalScroll():
            yield Static(id="heading")
            yield Static(id="alerts", classes="body")
        yield Footer()

    def show_after(self, version: int) -> None:
        app = self.watch_app
        names = {unit_of(tile.table.unit): tile.table.name for tile in app.floor.tiles()}
        found = app.floor.alerts.open
        self.query_one("#heading", Static).update(Text(counted(len(found), "open alert")))
        lines = [table_text.alert_line(each, names, app.zone) for each in found[:_MOST_ALERTS]]
        if len(found) > _MOST_ALERTS:
            lines.append(Text(f"and {len(found) - _MOST_ALERTS:,} more"))
        self.query_one("#alerts", Static).update(Text("\n").join(lines))


class TableScreen(_Live):
    """One table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.pop_screen", "All tables"),
    ]

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def compose(self) -> ComposeResult:
        yield Static(id="not-live")
        with VerticalScroll():
            yield Static(id="heading")
            yield Static(id="order")
            yield Static("This round", classes="name")
            yield Static(id="current", classes="body")
            yield Static(id="roads")
            yield Static("Last rounds", classes="name")
            yield Static(id="last", classes="body")
        yield Footer()

    def show_after(self, version: int) -> None:
        tile = self.watch_app.floor.tile(self._unit)
        if tile is None:
            self.query_one("#heading", Static).update(
                Text(printable(f"{self._unit} is not in the log any more"))
            )
            return
        now = self.watch_app.now_unix_ms()
        self.query_one("#heading", Static).update(table_text.heading(tile, now))
        order = table_text.order(tile, self.app.size.width - 4)
        self.query_one("#order", Static).update(order)
        self.query_one("#current", Static).update(table_text.current(tile))
        self.query_one("#roads", Static).update(table_text.roads(tile, self.app.size.width - 4))
        self.query_one("#last", Static).update(table_text.last_rounds(tile, self.watch_app.zone))
