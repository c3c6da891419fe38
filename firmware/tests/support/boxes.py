"""A second dealer of blackjack, written from the game document's choices and not from the round's
class: the inputs of a round, what must be recorded after each, and which card is due then."""

from sabot_protocol import games

HOUSE = {
    "version": games.DOCUMENT_VERSION,
    "family": "blackjack",
    "rules": "maryland",
    "name": "blackjack",
    "title": "Blackjack",
    "source": "Standard Rules - Blackjack",
    "decks": 6,
    "burn": "none",
    "burn_ace": 1,
    "cut_from_end": 78,
    "rounds_after_cut": 0,
    "betting_closed_by": "first_card",
    "shown": "at_once",
    "house": {},
    "boxes": 7,
    "hole_card": "dealt",
    "soft_17": "stands",
    "looks": "ace_or_ten",
    "double_on": "any_two",
    "double_after_split": True,
    "hands_of_box": 4,
    "resplit_aces": False,
    "split_aces": "one_card",
    "split_by": "rank",
    "surrender": "none",
}
CHOICES = {
    "hole_card": ("dealt", "none"),
    "soft_17": ("stands", "hits"),
    "looks": ("ace", "ace_or_ten", "never"),
    "double_on": ("any_two", "9_to_11", "10_or_11"),
    "double_after_split": (False, True),
    "hands_of_box": (2, 3, 4),
    "resplit_aces": (False, True),
    "split_aces": ("one_card", "play_on"),
    "split_by": ("rank", "value"),
    "surrender": ("none", "late", "early"),
}
"""The choices of the deal, and what is allowed."""

_TENS = "TJQK"


def game(**changed):
    """Return a game of blackjack; `changed` are fields of its document."""
    document = dict(HOUSE)
    document.update(changed)
    return games.game_of(games.encode(document))


def random_house(pick):
    """Return fields of a document that do not contradict each other; `pick` chooses of a tuple."""
    house = {name: pick(CHOICES[name]) for name in CHOICES}
    if house["hole_card"] == "none":
        house["looks"] = "never"
    if house["hands_of_box"] == 2:
        house["resplit_aces"] = False
    return house


def best(names):
    """Return the total of cards, and whether it is soft: the best of all ways to count aces."""
    totals = [(0, False)]
    for name in names:
        rank = name[0]
        values = (1, 11) if rank == "A" else (10,) if rank in _TENS else (int(rank),)
        totals = [(sum_ + value, soft or value == 11) for sum_, soft in totals for value in values]
    good = [each for each in totals if each[0] <= 21]
    return max(good) if good else min(totals)


def _value(name):
    return 10 if name[0] in _TENS else 1 if name[0] == "A" else int(name[0])


class SecondDealer:
    """Deals one round. `draw` returns the name of the next card, `decide` one of the decisions that
    it is given. `steps` has `[input, lines, due]` for each input, the position that is due after
    it or None."""

    def __init__(self, house, boxes, draw, decide):
        self.house = dict(HOUSE)
        self.house.update(house)
        self.steps = []
        self.dealer = []
        self._draw = draw
        self._decide = decide
        self._boxes = [[{"cards": [], "split": 0, "doubled": 0, "out": 0}] for _ in range(boxes)]
        self._deal()

    def _press(self, button):
        self.steps.append([button, ["button " + button], None])

    def _say(self, *words):
        self.steps[-1][1].append(" ".join([str(word) for word in words]))

    def _card(self, position, hand):
        self.steps[-1][2] = position
        name = self._draw()
        self.steps.append([name, ["card %s %s" % (name, position)], None])
        hand.append(name)

    def _deal(self):
        house, boxes = self.house, self._boxes
        self._press("next")
        self._say("betting_closed button")
        for lap in range(2):
            for i in range(len(boxes)):
                self._card("box_%d" % (i + 1), boxes[i][0]["cards"])
            if lap == 0:
                self._card("dealer", self.dealer)
            elif house["hole_card"] == "dealt":
                self._card("hole", self.dealer)
        if self._insurance():
            for i in range(len(boxes)):
                j = 0
                while j < len(boxes[i]):
                    self._play(i, j)
                    j += 1
            if house["hole_card"] == "dealt":
                self._say("unsealed")
            self._play_dealer()
        self._results()

    def _insurance(self):
        """Stop for insurance if it is due; return whether the round goes on."""
        house, up = self.house, _value(self.dealer[0])
        if up != 1 and not (up == 10 and house["looks"] == "ace_or_ten"):
            return True
        if house["surrender"] == "early":
            for i in range(len(self._boxes)):
                hand = self._boxes[i][0]
                if best(hand["cards"])[0] < 21 and self._decide(("stay", "surrender")) != "stay":
                    # `burn` steps through the boxes that may surrender still.
                    may = [each for each in self._boxes[:i] if self._may_surrender(each[0])]
                    for _ in range(len(may) + 1):
                        self._press("burn")
                    self._press("next")
                    self._surrender(i, 0, hand)
        self._press("next")
        if house["hole_card"] == "none" or house["looks"] == "never":
            return True
        blackjack = best(self.dealer)[0] == 21
        self._say("looked", int(blackjack))
        if blackjack:
            self._say("unsealed")
        return not blackjack

    def _may_surrender(self, hand):
        return not hand["out"] and best(hand["cards"])[0] < 21

    def _surrender(self, i, j, hand):
        self._say("play", i + 1, j + 1, "surrenders", *self._total(hand))
        hand["out"] = 1

    def _total(self, hand):
        total, soft = best(hand["cards"])
        return total, int(soft)

    def _play(self, i, j):
        house, box, position = self.house, self._boxes[i], "box_%d" % (i + 1)
        hand = box[j]
        names = hand["cards"]
        while not hand["out"]:
            if len(names) == 1:
                self._card(position, names)
            total = best(names)[0]
            if total >= 21:
                return
            two = len(names) == 2
            split_ace = hand["split"] and names[0][0] == "A"
            shut = split_ace and house["split_aces"] == "one_card"
            pair = two and names[0][0] == names[1][0]
            if house["split_by"] == "value":
                pair = two and _value(names[0]) == _value(names[1])
            splits = pair and len(box) < house["hands_of_box"]
            splits = splits and (house["resplit_aces"] or not split_ace)
            if shut and not splits:
                return
            can = ["stand"] if shut else ["hit", "stand"]
            can += ["split"] if splits else []
            lowest = {"any_two": 0, "9_to_11": 9, "10_or_11": 10}[house["double_on"]]
            if two and not shut and (house["double_after_split"] or not hand["split"]):
                if lowest == 0 or lowest <= total <= 11:
                    can.append("double")
            surrenders = two and not hand["split"] and house["surrender"] != "none"
            can += ["surrender"] if surrenders else []
            self.steps[-1][2] = None if shut else position
            action = self._decide(tuple(can))
            if action == "hit":
                self._card(position, names)
            elif action == "stand":
                self._press("next")
                self._say("play", i + 1, j + 1, "stands", *self._total(hand))
                return
            elif action == "double":
                self._press("reveal")
                self._say("play", i + 1, j + 1, "doubles", *self._total(hand))
                hand["doubled"] = 1
                self._card(position, names)
                return
            elif action == "split":
                self._press("burn")
                self._press("next")
                self._say("play", i + 1, j + 1, "splits", *self._total(hand))
                hand["split"] = 1
                box.insert(j + 1, {"cards": [names.pop()], "split": 1, "doubled": 0, "out": 0})
            else:
                for _ in range(2 if splits else 1):
                    self._press("burn")
                self._press("next")
                self._surrender(i, j, hand)

    def _natural(self, hand):
        return not hand["split"] and len(hand["cards"]) == 2 and best(hand["cards"])[0] == 21

    def _play_dealer(self):
        hands = [hand for box in self._boxes for hand in box]
        live = [
            hand
            for hand in hands
            if not hand["out"] and not self._natural(hand) and best(hand["cards"])[0] <= 21
        ]
        up, dealer = _value(self.dealer[0]), self.dealer
        if not live:
            natural = [hand for hand in hands if self._natural(hand)]
            late = [hand for hand in hands if hand["out"] and self.house["surrender"] == "late"]
            if len(dealer) == 1 and (up == 1 or (up == 10 and (natural or late))):
                self._card("dealer", dealer)
            return
        while True:
            total, soft = best(dealer)
            if len(dealer) > 1 and total >= 17:
                if not (total == 17 and soft and self.house["soft_17"] == "hits"):
                    return
            self._card("dealer", dealer)

    def _results(self):
        of_dealer, soft = best(self.dealer)
        blackjack = len(self.dealer) == 2 and of_dealer == 21
        for i in range(len(self._boxes)):
            for j in range(len(self._boxes[i])):
                hand = self._boxes[i][j]
                total = best(hand["cards"])[0]
                if hand["out"] and blackjack and self.house["surrender"] == "late":
                    result = "loses"
                elif hand["out"]:
                    result = "surrendered"
                elif self._natural(hand):
                    result = "pushes" if blackjack else "blackjack"
                elif total > 21 or blackjack:
                    result = "loses"
                elif of_dealer > 21:
                    result = "wins"
                else:
                    order = (total > of_dealer) - (total < of_dealer)
                    result = ("pushes", "wins", "loses")[order]
                self._say("hand_result", i + 1, j + 1, result, *self._total(hand))
        self._say("blackjack_result", of_dealer, int(soft), len(self.dealer))
