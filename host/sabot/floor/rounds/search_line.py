"""Reads a search as people type it: "20:15 to 20:40, Tuesday, table 12, natural", "cards 7 9 K".

What it does not understand it says; it never searches for less than was typed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from sabot.errors import nearest
from sabot.floor.rounds.search import ANY, Query
from sabot.floor.rounds.search_times import (
    AGO,
    DAY,
    LAST,
    TIME,
    SaidSpan,
    SaidTime,
    said_before_now,
    said_day,
    said_time,
)
from sabot.floor.rounds.search_words import OUTCOMES, PHRASES
from sabot.notable.kinds import SEARCHED
from sabot.table_time import BadTime
from sabot.text import card_names, printable, shortened
from sabot_protocol import enums

_MOST_LETTERS = 500
_MOST_LISTED = 12
_LARGEST = (1 << 63) - 1
_BETWEEN = re.compile(r"[\s,;]+")
_FILLER = re.compile(
    r"(?:on|in|at|the|of|and|with|a|an|was|were|where|is|for|which|rounds?)\b", re.I
)
_TO = re.compile(r"(?:to|until|till|before|and|-|–|—)(?![a-z])\s*", re.I)
_FROM = re.compile(r"(?:from|since|after|between)\b\s*", re.I)
_AT = re.compile(r"(?:at|around)\b\s*", re.I)
_NUMBER = re.compile(
    r"(?P<what>shoe|round|hand)(?:\s+of\s+cards)?\s*(?:number|no\.?|#)?\s*(?P<n>\d+)\b", re.I
)
_NAMED = re.compile(r"(?P<what>table|unit)\b\s*:?\s*", re.I)
_CARDS = re.compile(r"(?:cards?|ranks?|sequence|dealt)\b\s*:?\s*", re.I)
_ONE = r"(?:10|[A2-9TJQK])[CDHS♣♦♥♠♧♢♡♤][\ufe0e\ufe0f]?"
_CARD = re.compile(rf"{_ONE}(?=(?:{_ONE})*(?![a-z0-9]))", re.I)
_RANK = re.compile(r"(?:10|[A2-9TJQK])(?![a-z0-9:.])", re.I)
_WORD = re.compile(r"[^\s,;]+")


class BadSearch(ValueError):
    """A search that cannot be understood; the message says what to write."""


@dataclass(frozen=True, slots=True)
class Known:
    """The names in a log."""

    tables: Sequence[str] = ()
    units: Sequence[str] = ()


def read_line(text: str, known: Known, zone: tzinfo, now_unix_ms: int) -> Query:
    """Read a line of words. Times are on the clock of `zone`. Raises BadSearch."""
    return read_fields({"words": text}, known, zone, now_unix_ms)


def read_fields(fields: Mapping[str, str], known: Known, zone: tzinfo, now_unix_ms: int) -> Query:
    """Read the fields of the search page: `words` as `read_line`, and `day`, `from`, `to`, `table`,
    `unit`, `shoe`, `round`, `cards`, `winner`, `outcome`, `incident`, `by_hand`, `void`, `ghost`.
    Empty ones do not matter. Raises BadSearch, also if two say different things."""
    reader = _Reader(known, zone, now_unix_ms)
    given = {name: value.strip() for name, value in fields.items() if value.strip()}
    for name, value in given.items():
        if len(value) > _MOST_LETTERS:
            raise BadSearch(f"{name}: over {_MOST_LETTERS} characters; write less")
    try:
        reader.words(given.pop("words", ""))
        for name, value in given.items():
            reader.field(name, value)
        return reader.query()
    except BadTime as error:
        raise BadSearch(str(error)) from None
    except OverflowError:  # the day after the last day, or before the first
        raise BadSearch("times are from 1970 to 9999") from None


class _Reader:
    def __init__(self, known: Known, zone: tzinfo, now_unix_ms: int) -> None:
        self._known, self._zone, self._now_unix_ms = known, zone, now_unix_ms
        self._query, self._span = Query(), SaidSpan()

    def query(self) -> Query:
        """Return all that was read."""
        begin, end = self._span.unix_ms(self._zone, self._now_unix_ms)
        return replace(self._query, begin_unix_ms=begin, end_unix_ms=end)

    def field(self, name: str, value: str) -> None:
        """Read a field of the search page."""
        match name:
            case "day":
                found = DAY.fullmatch(value)
                if found is None:
                    raise BadSearch(f"{_quoted(value)} is not a day; write Tuesday or 2026-11-21")
                self._day(found)
            case "from" | "to":
                time = TIME.fullmatch(value)
                if time is None:
                    raise BadSearch(f"{_quoted(value)} is not a time; write 20:15")
                self._time("begin" if name == "from" else "end", time)
            case "table" | "unit":
                self._name(name, value)
            case "shoe" | "round":
                if not value.isascii() or not value.isdecimal():
                    raise BadSearch(f"{_quoted(value)} is not the number of a {name}; write 3")
                self._number(name, value)
            case "cards":
                at = self._cards(value, 0)
                if at < len(value):
                    self._not_a_card(value[at:])
            case "winner" | "outcome" | "incident":
                self._word(name, value)
            case "by_hand" | "void" | "ghost":
                self._set(name, True)

    def words(self, text: str) -> None:
        """Read a line of words."""
        at = 0
        while at < len(text):
            if between := _BETWEEN.match(text, at):
                at = between.end()
            else:
                at = self._next(text, at)

    def _next(self, text: str, at: int) -> int:
        """Read what begins here; return where it ends."""
        if number := _NUMBER.match(text, at):
            self._number(number["what"].lower().replace("hand", "round"), number["n"])
            return number.end()
        if named := _NAMED.match(text, at):
            return self._named(named["what"].lower(), text, named.end())
        end = self._times(text, at)
        if end is None:
            end = self._phrase(text, at)
        if end is not None:
            return end
        if cards := _CARDS.match(text, at):
            end = self._cards(text, cards.end())
            if end == cards.end():
                self._not_a_card(text[end:])
            return end
        if _CARD.match(text, at):
            return self._cards(text, at)
        for unit in sorted(self._known.units, key=len, reverse=True):
            if _is_here(unit, text, at):
                self._set("unit", unit)
                return at + len(unit)
        if filler := _FILLER.match(text, at):
            return filler.end()
        word = _WORD.match(text, at)
        assert word is not None
        raise BadSearch(_not_understood(word[0]))

    def _times(self, text: str, at: int) -> int | None:
        """Read a time, a time span or a day; None if there is none here."""
        if day := DAY.match(text, at):
            self._day(day)
            return self._second_day(text, day.end())
        if before := LAST.match(text, at) or AGO.match(text, at):
            begin, end = said_before_now(before, self._now_unix_ms)
            self._put_time("begin", begin)
            self._put_time("end", end)
            return before.end()
        for pattern, place in ((_FROM, "begin"), (_AT, "at"), (_TO, "end"), (None, "")):
            said = None if pattern is None else pattern.match(text, at)
            if pattern is not None and said is None:
                continue
            start = at if said is None else said.end()
            if place in ("begin", "end") and (day := DAY.match(text, start)):
                if place == "begin":
                    self._day(day)
                    return self._second_day(text, day.end())
                raise BadSearch(f"{text[at : day.end()]!r}: write from which day as well")
            time = TIME.match(text, start)
            if time is None:
                continue
            return self._span_from(place, time, text)
        return None

    def _span_from(self, place: str, time: re.Match[str], text: str) -> int:
        to = _TO.match(text, _past_blanks(text, time.end()))
        end = TIME.match(text, to.end()) if to is not None and place in ("", "begin") else None
        if end is None:
            self._time(place or "at", time)
            return time.end()
        self._time("begin", time)
        self._time("end", end)
        return end.end()

    def _second_day(self, text: str, at: int) -> int:
        """Read "to" and another day after a day, if they are there."""
        to = _TO.match(text, _past_blanks(text, at))
        other = None if to is None else DAY.match(text, to.end())
        if other is None:
            return at
        self._day(other, second=True)
        return other.end()

    def _day(self, found: re.Match[str], *, second: bool = False) -> None:
        day = said_day(found, self._zone, self._now_unix_ms)
        if self._span.days and not second and list(self._span.days) != [day]:
            raise BadSearch(f"two days are given, {self._span.days[0]} and {day}; write one")
        weekday = bool(found["weekday"]) and not second
        days = [*self._span.days, day] if second else [day]
        self._span = replace(self._span, days=days, weekday=weekday)

    def _time(self, place: str, found: re.Match[str]) -> None:
        self._put_time(place, said_time(found))

    def _put_time(self, place: str, said: SaidTime) -> None:
        if getattr(self._span, place) not in (None, said):
            raise BadSearch(
                f"two times are given, {getattr(self._span, place).text} and {said.text}; "
                "write 20:15 to 20:40"
            )
        self._span = replace(self._span, **{place: said})  # type: ignore[arg-type]
        if self._span.at is not None and (self._span.begin or self._span.end):
            raise BadSearch(f"{self._span.at.text} and a time span are given; write one of them")

    def _phrase(self, text: str, at: int) -> int | None:
        """Read the longest phrase that begins here; None if there is none."""
        words = re.split(r"(\s+)", re.split("[,;]", text[at:])[0].lower())
        for count in range(min(len(words), 2 * _MOST_WORDS - 1), 0, -2):
            said = "".join(words[:count])
            known = PHRASES.get(re.sub(r"\s+", " ", said)) or PHRASES.get(said)
            if known is not None:
                self._word(*known)
                return at + len(said)
        return None

    def _word(self, name: str, value: str) -> None:
        """Take a winner, an outcome, a kind of incident or a flag, by its name."""
        names: Sequence[str]
        if name == "outcome":
            if value not in OUTCOMES:
                raise BadSearch(
                    f"no round has the outcome {_quoted(value)}{_near(value, OUTCOMES)}"
                )
            outcomes = (*self._query.outcomes, value)
            self._query = replace(self._query, outcomes=tuple(dict.fromkeys(outcomes)))
            return
        if name in ("by_hand", "void", "ghost"):
            self._set(name, True)
            return
        names = enums.WINNERS if name == "winner" else (ANY, *SEARCHED)
        if value not in names:
            raise BadSearch(f"there is no {name} {_quoted(value)}{_near(value, names)}")
        self._set(name, value)

    def _named(self, what: str, text: str, at: int) -> int:
        """Read the name of a table or unit. One with blanks may be in quotes."""
        if quoted := re.compile(r'"([^"]*)"').match(text, at):
            self._name(what, quoted[1])
            return quoted.end()
        names = self._known.tables if what == "table" else self._known.units
        for name in sorted(names, key=len, reverse=True):
            if name and _is_here(name, text, at):
                self._set(what, name)
                return at + len(name)
        word = _WORD.match(text, at)
        self._name(what, word[0] if word else "")
        return at

    def _name(self, what: str, name: str) -> None:
        names = self._known.tables if what == "table" else self._known.units
        same = [each for each in names if each.lower() == name.lower()]
        if not same:
            listed = ", ".join(map(printable, names[:_MOST_LISTED])) or "none is known"
            more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
            raise BadSearch(f"the log has no {what} {_quoted(name)}; there are: {listed}{more}")
        self._set(what, name if name in same else same[0])

    def _number(self, what: str, digits: str) -> None:
        number = int(digits[:20])
        if number > _LARGEST:
            raise BadSearch(f"{_quoted(digits)} is not the number of a {what}; write 3")
        self._set(what, number)

    def _cards(self, text: str, at: int) -> int:
        """Read cards and ranks that follow each other; return where they end."""
        found, end = list[str](), at
        while True:
            at = _past_blanks(text, end)
            if card := _CARD.match(text, at):
                found += card_names(card[0])
            elif card := _RANK.match(text, at):
                found.append("T" if card[0] == "10" else card[0].upper())
            else:
                break
            end = card.end()
        if found:
            if self._query.cards not in ((), tuple(found)):
                raise BadSearch("two sequences of cards are given; write one")
            self._query = replace(self._query, cards=tuple(found))
        return end

    def _not_a_card(self, text: str) -> None:
        word = _WORD.match(text.strip())
        what = _quoted(word[0]) if word else "nothing"
        raise BadSearch(f"{what} is not a card; write 7H 10♠ K, a rank alone for any suit")

    def _set(self, name: str, value: object) -> None:
        before = getattr(self._query, name)
        if before not in (None, False, value):
            raise BadSearch(f"{name} is given twice, {before} and {value}; write one")
        self._query = replace(self._query, **{name: value})  # type: ignore[arg-type]


_MOST_WORDS = max(len(phrase.split()) for phrase in PHRASES)
_SAID_ALONE = (
    *PHRASES, "table", "unit", "shoe", "round", "cards", "today", "yesterday", "from", "to", "at",
)  # fmt: skip


def _not_understood(word: str) -> str:
    if re.fullmatch(r"\d+", word):
        return (
            f"{_quoted(word)}: of what is this the number? write table {word}, shoe {word}, "
            f"round {word} or cards {word}"
        )
    if re.fullmatch(r"\d{1,2}[./]\d{1,2}[./]\d{2,4}", word):
        return f"{_quoted(word)} may be two different days; write 2026-11-21"
    return f"{_quoted(word)} is not understood{_near(word.lower(), _SAID_ALONE)}"


def _near(word: str, names: Sequence[str] | Mapping[str, object]) -> str:
    near = nearest(word, list(names))
    return f"; did you mean {near.replace('_', ' ')}?" if near else ""


def _quoted(text: str) -> str:
    return repr(printable(shortened(text, 40)))


def _is_here(name: str, text: str, at: int) -> bool:
    end = at + len(name)
    return text[at:end].lower() == name.lower() and not re.match(r"[\w-]", text[end : end + 1])


def _past_blanks(text: str, at: int) -> int:
    between = re.compile(r"[\s,]*").match(text, at)
    return at if between is None else between.end()
