"""Baccarat as text for a terminal: a settled round, a scored one, the odds, the rule card."""

from collections.abc import Iterator, Mapping

from rich.table import Table

from sabot.games.baccarat.house_game import ONLY_WITH, WAGERS_OF_CHOICE, HouseGame
from sabot.games.baccarat.odds import Odds
from sabot.games.baccarat.score import Score
from sabot.games.baccarat.settle import Settlement
from sabot.games.baccarat.wagers import WAGERS, WagerOutcome
from sabot.games.choices import Choice, value_text
from sabot.games.lines import Line, new_table, sums_table
from sabot.terminal import LongLine, hand_text, plain
from sabot.text import amount, counted
from sabot_protocol.baccarat import Game


def settled_lines(settled: Settlement) -> Iterator[Line]:
    """Yield what `sabot settle` prints of a round of baccarat."""
    if settled.announced:
        yield settled.announced
    for hand, handler in (settled.handlers or {}).items():
        turns = "the dealer" if handler is None else f"{handler.player}, {handler.area}"
        yield f"the {hand.title()}'s cards are turned by {turns}"
    table = new_table("", "what", "where", "player", "wager", "amount", "", right=("amount",))
    for number, step in enumerate(settled.steps, 1):
        cells = (step.do, str(step.area), step.player, step.wager or "-")
        table.add_row(str(number), *map(plain, cells), amount(step.amount_cents), plain(step.why))
    for each in settled.left:
        cells = ("left to the floor", str(each.area), each.player, each.wager or "-")
        table.add_row("", *map(plain, cells), amount(each.cents), plain(each.why))
    yield table
    for marker in settled.markers:
        yield f"marker: {marker.area}, {marker.player} owes {amount(marker.owed_cents)}"
    totals = settled.totals().items()
    yield ""
    yield sums_table(
        (name.removesuffix("_cents").replace("_", " "), amount(cents)) for name, cents in totals
    )


def scored_lines(scored: Score, verdicts: Mapping[str, WagerOutcome]) -> Iterator[Line]:
    """Yield what `sabot score` prints of a round of baccarat."""
    for title, hand, total, natural in (
        ("Player", scored.player, scored.player_total, scored.player_natural),
        ("Banker", scored.banker, scored.banker_total, scored.banker_natural),
    ):
        line = plain(f"{title} ").append_text(hand_text(hand, total))
        yield line.append("  natural" if natural else "")
    tied = scored.winner == "tie"
    yield "tie" if tied else f"{scored.winner} wins by {scored.margin}"
    table = new_table("wager", "outcome", "pays to one", "for")
    for wager, verdict in verdicts.items():
        pays = str(verdict.pays_to_one) if verdict.outcome == "win" else "-"
        table.add_row(wager, verdict.outcome, pays, verdict.prize or "-")
    yield table


def odds_lines(tally: Odds) -> Iterator[Line]:
    """Yield what `sabot odds` prints of a game of baccarat."""
    columns = ("pays to one", "win", "push", "lose", "house edge")
    table = new_table("wager", *columns, right=columns)
    for wager, worth in tally.wagers.items():
        one, *more = worth.prizes.values()
        table.add_row(
            wager,
            "" if more else str(one.pays_to_one),
            *(f"{count:,}" for count in (worth.win, worth.push, worth.lose)),
            f"{100 * worth.edge:.4f} %",
        )
        for prize, each in worth.prizes.items() if more else ():
            table.add_row(f"  {prize}", str(each.pays_to_one), f"{each.combinations:,}")
    yield table
    yield f"{counted(tally.total, 'combination')} of {counted(tally.decks, 'deck')}"


def card_lines(house_game: HouseGame, game: Game, chosen: Mapping[str, object]) -> Iterator[Line]:
    """Yield what `sabot games show` prints of a game of baccarat."""
    yield from map(LongLine, (house_game.title, house_game.source, ""))
    yield from (_deal(house_game, game), "", _wagers(house_game, game), "")
    choices = new_table("the house chooses", "as shown", "allowed", "clause")
    fixed = new_table("settled", "", "clause")
    for choice in house_game.choices:
        if not _has_effect(choice, game):
            continue
        value = value_text(chosen.get(choice.name, choice.default))  # type: ignore[arg-type]
        if choice.is_open():
            choices.add_row(choice.name, value, choice.allowed_text(), choice.source_text())
        else:
            fixed.add_row(choice.name, value, choice.source_text())
    yield from (choices, "", fixed)


def _has_effect(choice: Choice, game: Game) -> bool:
    """Whether the game offers the wagers without which a choice means nothing."""
    of_wagers = ONLY_WITH.get(choice.name)
    return not of_wagers or bool(set(WAGERS_OF_CHOICE[of_wagers]) & set(game.wagers))


def _deal(house_game: HouseGame, game: Game) -> Table:
    table = new_table("the deal", "", "clause")
    clauses = house_game.clauses
    table.add_row("cards 1 to 4", "Player, Banker, Player, Banker", clauses["order"])
    for name in ("turned_by", "shown", "betting_closed_by"):
        choice = house_game.choice(name)
        table.add_row(name.replace("_", " "), str(getattr(game, name)), choice.clause)
    table.add_row("a natural 8 or 9", "neither hand draws", clauses["draws"])
    table.add_row("Player draws on", _points(game.player_draws))
    stood = _points(game.banker_draws_if_player_stood)
    table.add_row("Banker draws on", f"{stood}, if the Player stood")
    for total, points in enumerate(game.banker_draws[:8]):
        table.add_row(
            f"Banker on {total} draws",
            f"to a third card of {_points(points)}" if points else "never",
        )
    return table


def _wagers(house_game: HouseGame, game: Game) -> Table:
    wagers = new_table("wager", "", "pays to one", "pushes on", "clause")
    for wager in game.wagers:
        row = WAGERS[wager]
        pays = row.pays_to_one(game.house)
        by_prize = ", ".join(f"{prize} {to_one}" for prize, to_one in pays.items())
        wagers.add_row(
            wager,
            row.title,
            by_prize if len(pays) > 1 else str(*pays.values()),
            ", ".join(row.pushes_in(game)) or "-",
            row.clauses[house_game.rules],
        )
    return wagers


def _points(points: bytes) -> str:
    return " ".join(map(str, points))
