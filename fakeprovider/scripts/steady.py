"""A model that does as it should: look, read, answer."""

from __future__ import annotations

from dataclasses import replace

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Fault, Reply, Text, WebSearch, ask, call, say
from fakeprovider.scripts.registry import script
from fakeprovider.scripts.reply_sequence import ran_out

PLAN_ANSWER = "errors.log mentions a timeout: worker 7 timed out after 30000 ms."


@script
def plan(conversation: Conversation) -> Reply:
    """Lists the files, reads errors.log, answers."""
    match conversation.turn:
        case 0:
            return ask("list_files")
        case 1:
            return ask("read_file", {"path": "errors.log"})
        case 2:
            return say(PLAN_ANSWER)
    raise ran_out(conversation)


HINT = "Call list_files"
GAVE_UP = "I could not read the file, so I do not know."
RECOVER_ANSWER = "errors.log mentions a timeout."


@script
def recover(conversation: Conversation) -> Reply:
    """Guesses timeout.log; lists the files if the error says to, else gives up.

    Turns: read timeout.log; list_files if a result says "Call list_files"; read errors.log; answer.
    """
    match conversation.turn:
        case 0:
            return ask("read_file", {"path": "timeout.log"})
        case 1 if any(HINT in result.text for result in conversation.results):
            return ask("list_files")
        case 1:
            return say(GAVE_UP)
        case 2 if conversation.results:
            return ask("read_file", {"path": "errors.log"})
        case 3:
            return say(RECOVER_ANSWER)
    raise ran_out(conversation)


TURNS = 40
LONG_ANSWER = f"I read all {TURNS - 2} parts."


@script
def long(conversation: Conversation) -> Reply:
    """Forty turns of progress: list_files, read part-01.txt to part-38.txt, then the answer."""
    turn = conversation.turn
    if turn == 0:
        return ask("list_files")
    if turn < TURNS - 1:
        return ask("read_file", {"path": f"part-{turn:02}.txt"})
    if turn == TURNS - 1:
        return say(LONG_ANSWER)
    raise ran_out(conversation)


POLLING_ANSWER = "The job is done."


@script
def polling(conversation: Conversation) -> Reply:
    """Asks for job_status until a result says that the job is done, then says so."""
    last = conversation.last_result
    if last is not None and "done" in last.text:
        return say(POLLING_ANSWER)
    return ask("job_status", {"job": 1})


PAGES = 8
SHAKY_ANSWER = f"I read all {PAGES} pages."


@script
def shaky(conversation: Conversation) -> Reply:
    """Fetches eight pages, each again after an error, then says so."""
    results = (message for message in conversation.messages if message.role == "tool")
    fetched = sum("error" not in result.text.lower() for result in results)
    return ask("fetch_page", {"page": fetched + 1}) if fetched < PAGES else say(SHAKY_ANSWER)


SLOW_ANSWER = "The archive was scanned."


@script
def slow(conversation: Conversation) -> Reply:
    """Asks for scan_archive, a tool of several seconds, then says that it was scanned."""
    match conversation.turn:
        case 0:
            return ask("scan_archive")
        case 1:
            return say(SLOW_ANSWER)
    raise ran_out(conversation)


SEARCHES = 25
SEARCHING_ANSWER = "Nothing on the web mentions that timeout."


@script
def searching(conversation: Conversation) -> Reply:
    """Searches 25 times on the service's side, then answers: a turn that pauses twice."""
    if conversation.turn:
        raise ran_out(conversation)
    searches = (WebSearch(f"timeout {number}") for number in range(SEARCHES))
    return Reply((*searches, Text(SEARCHING_ANSWER)))


WORDS = (
    "Before I look at the next file, let me think aloud about what I have seen, what I might see, "
    "what it could mean, and how I would go on from there if it meant something else. "
) * 8


@script
def chatter(conversation: Conversation) -> Reply:
    """Says some three hundred words and asks for list_files, for ever."""
    return say(WORDS, call("list_files"))


QUESTION = "Which file mentions a timeout?"


@script
def delegate(conversation: Conversation) -> Reply:
    """Asks research(question) once, then answers with what came back."""
    if conversation.turn == 0:
        return ask("research", {"question": QUESTION})
    if conversation.turn == 1:
        return say(_answer(conversation))
    raise ran_out(conversation)


def _answer(conversation: Conversation) -> str:
    """What came back, or that nothing did."""
    result = conversation.last_result
    if result is None or "no result" in result.text:
        return "The research brought no result, so I do not know."
    return f"Research says: {result.text}"


OUTAGE = Fault("unavailable", {"times": 2})


@script
def flaky(conversation: Conversation) -> Reply:
    """As plan, but the first two attempts at each turn but the first are answered with 503."""
    return replace(plan(conversation), fault=None if conversation.turn == 0 else OUTAGE)
