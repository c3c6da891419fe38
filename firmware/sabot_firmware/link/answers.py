"""Builds the answer to a command: the report of its definition, a `reply`, or a refusal."""

from sabot_protocol import enums, messages

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_protocol.schema import Shape


class Refusal(Exception):
    """A command is not carried out. `reason` is a word of `enums.REFUSALS`, `detail` belongs to it:
    a figure, a name, a fault that was found."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


def reply(command_id: int, reason: str = "none", detail: str = "") -> "list[object]":
    """Return the message `reply`: done, or refused for the `reason`."""
    return [messages.REPLY.number, command_id, enums.REFUSALS.index(reason), detail]


def answer_command(
    shape: "Shape", values: "list[object]", carry_out: "Callable[..., list[object] | None]"
) -> "list[object]":
    """Carry out a command with its `values` and return the message that answers it.

    `carry_out` gets the values after the `id`. It returns the fields of the report after the `id`,
    or None if a `reply` is enough, or raises Refusal.
    """
    command_id: int = values[0]  # type: ignore[assignment]
    try:
        fields = carry_out(*values[1:])
    except Refusal as refused:
        return reply(command_id, refused.reason, refused.detail)
    if shape.answer is None or fields is None:
        return reply(command_id)
    return [shape.answer.number, command_id] + fields
