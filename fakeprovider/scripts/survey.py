"""A model on a long task of equal parts, that knows no more than what its prompt still shows."""

from __future__ import annotations

import re

from fakeprovider.conversation import Conversation, Message
from fakeprovider.replies import Reply, Text, ask, call, say
from fakeprovider.scripts.registry import script
from fakeprovider.scripts.reply_sequence import ran_out

_FACT = re.compile(r"log (\d+): (\d+) failures")
_READ = re.compile(r"part-(\d+)\.log")
_PARTS = re.compile(r"all (\d+) logs")
_RANGE = re.compile(r"logs (\d+) to (\d+)")
ASKED_TO_SUM_UP = "replaced by your summary"
DEFAULT_PARTS = 40
AT_ONCE = 8
"""Logs given to an assistant in one go."""
FETCHED = 4
"""Notes fetched in one go."""


@script
def survey(conversation: Conversation) -> Reply:
    """Reads part-01.log and so on, fetches what was left out if it can, and adds up what it sees.

    Asked for a summary, it lists every fact that it sees: no real model is that faithful.
    """
    if ASKED_TO_SUM_UP in conversation.messages[-1].text:
        return say(_summary(conversation))
    parts, read = _parts(conversation), _last_read(conversation)
    if read < parts:
        return ask("read_file", _path(read + 1))
    missing = [part for part in range(1, parts + 1) if part not in _facts(conversation)]
    if missing and conversation.offers("recall"):
        notes = [call("recall", {"note": part}) for part in missing[:FETCHED]]
        return Reply((*_noticed(conversation), *notes))
    return say(_answer(conversation))


@script
def survey_noting(conversation: Conversation) -> Reply:
    """As `survey`, but notes what each log said while it reads the next."""
    parts, read = _parts(conversation), _last_read(conversation)
    if read < parts:
        noting = [
            call("note", {"text": f"{text.text} (part-{read:02}.log)"})
            for text in _noticed(conversation)
        ]
        return Reply((*noting, call("read_file", _path(read + 1))))
    return say(_answer(conversation))


@script
def survey_lead(conversation: Conversation) -> Reply:
    """Leaves the logs to assistants, eight at a time, and adds up what they say."""
    parts = _parts(conversation)
    first = conversation.turn * AT_ONCE + 1
    if first > parts:
        return say(_answer(conversation))
    last = min(parts, first + AT_ONCE - 1)
    return ask(
        "research", {"question": f"How many failures are in each of logs {first} to {last}?"}
    )


@script
def survey_part(conversation: Conversation) -> Reply:
    """Reads the logs that the question names, and says what each holds."""
    wanted = _RANGE.search(conversation.user_messages[0])
    if wanted is None:
        raise ran_out(conversation)
    first, last = map(int, wanted.groups())
    part = first + conversation.turn
    return ask("read_file", _path(part)) if part <= last else say(_spelt(_facts(conversation)))


def _path(part: int) -> dict[str, str]:
    return {"path": f"part-{part:02}.log"}


def _parts(conversation: Conversation) -> int:
    parts = _PARTS.search(conversation.user_messages[0])
    return int(parts.group(1)) if parts else DEFAULT_PARTS


def _last_read(conversation: Conversation) -> int:
    """The highest part named since the task: in calls, or in a text that stands in for them."""
    texts = [text for message in conversation.messages for text in _own(message, conversation)]
    return max((int(part) for text in texts for part in _READ.findall(text)), default=0)


def _own(message: Message, conversation: Conversation) -> list[str]:
    if message.role == "system" or message.text == conversation.user_messages[0]:
        return []
    return [message.text, *(call.arguments for call in message.calls)]


def _facts(conversation: Conversation) -> dict[int, int]:
    """Failures by part, as far as the prompt still says."""
    return {
        int(part): int(count)
        for message in conversation.messages
        for part, count in _FACT.findall(message.text)
    }


def _noticed(conversation: Conversation) -> list[Text]:
    """What the last results said, in words that stay when the results are left out."""
    facts = [fact for result in conversation.results for fact in _FACT.findall(result.text)]
    return [Text(_spelt({int(part): int(count) for part, count in facts}))] if facts else []


def _spelt(facts: dict[int, int]) -> str:
    return "; ".join(f"log {part}: {count} failures" for part, count in sorted(facts.items()))


def _summary(conversation: Conversation) -> str:
    read = _last_read(conversation)
    return f"Read up to part-{read:02}.log. {_spelt(_facts(conversation))}"


def _answer(conversation: Conversation) -> str:
    facts = _facts(conversation)
    return f"{sum(facts.values())} failures, in the {len(facts)} logs that I can still see."
