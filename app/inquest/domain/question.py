"""What a human was asked, and what came of it."""

from __future__ import annotations

from inquest.domain.value import Value


class Question(Value):
    """A question as its journal tells it. `answer` is untrusted text, None while there is none; `actor` gave it.

    `call_key` is where the investigation goes on: the call of a turn, or the stage whose rule asked.
    """

    interrupt_id: str
    prompt: str
    call_key: str
    answer: str | None = None
    actor: str = ""
    expired: bool = False
