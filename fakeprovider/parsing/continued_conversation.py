"""A conversation of which only the newest part was sent: `previous_response_id`."""

from __future__ import annotations

from dataclasses import dataclass

from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError


def _needs_earlier_text(what: str) -> ApiError:
    error = ApiError(
        400,
        f"The script needs {what} of earlier turns, which the request does not hold: this server "
        "keeps nothing between requests, and `previous_response_id` carries turns, pending calls "
        "and token counts, but no text. Send the whole history (`store: false`) for this script.",
        param="previous_response_id",
        code="earlier_text_needed",
        retry=False,
    )
    return error


@dataclass(frozen=True, slots=True)
class Continued(Conversation):
    """A conversation whose `messages` start after an earlier response.

    Turn, results and token counts are right. What only earlier text can tell raises `ApiError`;
    `system_text` is that of this request, as in the real service, where instructions are not
    carried over. `earlier_turns` counts turns since the user last spoke before this request.
    """

    earlier_turns: int = 0

    @property
    def since_last_user(self) -> int:
        """Assistant turns since the user last spoke."""
        here: int = Conversation.since_last_user.__get__(self)
        spoke = any(message.opens_turn for message in self.messages)
        return here if spoke else here + self.earlier_turns

    @property
    def user_messages(self) -> tuple[str, ...]:
        """Never complete here: raises `ApiError`."""
        raise _needs_earlier_text("the user's messages")

    def seen(self, text: str) -> bool:
        """Whether a message of this request contains `text`; raises `ApiError` if none does."""
        if Conversation.seen(self, text):
            return True
        raise _needs_earlier_text("the text")
