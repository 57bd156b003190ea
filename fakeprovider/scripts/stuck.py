"""A model that never stops by itself."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Fault, Reply, ask, call
from fakeprovider.scripts.registry import script


@script
def runaway(conversation: Conversation) -> Reply:
    """Asks for list_files on every turn, for ever."""
    return ask("list_files")


CYCLE_STEPS = (
    ask("list_files"),
    ask("read_file", {"path": "notes.txt"}),
    ask("read_file", {"path": "errors.log"}),
)


@script
def cycle(conversation: Conversation) -> Reply:
    """list_files, read_file notes.txt, read_file errors.log, and again, for ever."""
    return CYCLE_STEPS[conversation.turn % len(CYCLE_STEPS)]


@script
def fruitless(conversation: Conversation) -> Reply:
    """Searches for one word after another, for ever."""
    return ask("search_files", {"word": f"timeout-{conversation.turn + 1}"})


@script
def denied(conversation: Conversation) -> Reply:
    """Asks to read /etc/shadow on every turn, whatever it is told."""
    return ask("read_file", {"path": "/etc/shadow"})


QUESTIONS = ("Which file mentions a timeout?", "Which worker was it?", "How long did it take?")


@script
def spender(conversation: Conversation) -> Reply:
    """Asks research(question) three times over on every turn, for ever."""
    first, *others = ({"question": question} for question in QUESTIONS)
    return ask("research", first, *(call("research", question) for question in others))


@script
def empty(conversation: Conversation) -> Reply:
    """Asks for list_files, then replies with neither text nor call, for ever."""
    return ask("list_files") if conversation.turn == 0 else Reply()


@script
def malformed(conversation: Conversation) -> Reply:
    """Asks for read_file with arguments that do not parse, for ever."""
    return ask("read_file", '{"path": notes.txt}')


HALF = call("delete_file", '{"path": "err')


@script
def truncated(conversation: Conversation) -> Reply:
    """Asks to delete a file whose name is cut off by the output limit, for ever."""
    return Reply((HALF,), finish="length")


@script
def overflow(conversation: Conversation) -> Reply:
    """Reads part-01.txt, part-02.txt and so on, for ever, however long they are."""
    return ask("read_file", {"path": f"part-{conversation.turn + 1:02}.txt"})


SILENCE = Fault("hang_before_headers", {"seconds": 3600.0})


@script
def stalled(conversation: Conversation) -> Reply:
    """Asks for list_files, and then never answers again."""
    fault = None if conversation.turn == 0 else SILENCE
    return Reply(ask("list_files").blocks, fault=fault)
