"""A request body in, a completion out: what the provider does, without any HTTP."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from fakeprovider.catalogue import Catalogue, Note
from fakeprovider.choice import obey
from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError
from fakeprovider.formats import check_form
from fakeprovider.job import Job
from fakeprovider.known import LONGEST, Known
from fakeprovider.memory import Memory
from fakeprovider.protocols.table import Aside
from fakeprovider.replies import Pace, Reply
from fakeprovider.scripts import Registry, Script, UnknownScript
from fakeprovider.scripts.ending import ScriptRanOut
from fakeprovider.side import plain_answer, side_request
from fakeprovider.wire import too_deep

_log = logging.getLogger("fakeprovider")

Gate: TypeAlias = Callable[[Job], None]
"""Looks at each request before it is answered."""


class Provider:
    """Scripts, and what decides which of them answers and how strictly.

    `default` is the script where neither path nor model names one, None for none. `catalogue` fits
    a script's calls to the client's tools. `gate` may raise `ApiError` before anything is answered.
    `pace` is for replies that neither path nor script gives one.
    """

    def __init__(
        self,
        scripts: Registry,
        *,
        default: str | None = None,
        strict: bool = True,
        catalogue: Catalogue | None = None,
        gate: Gate | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.scripts = scripts
        self.default = default
        self.strict = strict
        self.catalogue = catalogue or Catalogue()
        self.gate = gate
        self.pace = pace
        self.memory = Memory()

    def answer(self, job: Job) -> tuple[Conversation, Completion]:
        """Parse, check, ask the script, complete; raises `ApiError` for anything that fails."""
        if self.gate is not None:
            self.gate(job)
        if job.route.error:
            raise ApiError(404, job.route.error, kind="not_found", code="bad_path_parameter")
        known = job.known = self._read(job)
        conversation = known.conversation
        self._check(job, conversation)
        goes_on = conversation.options.get("script", "")
        job.script, script = self.choose(job.route.script or goes_on, conversation.model)
        reply = self._reply(job, conversation, script)
        completion = known.complete(reply, job.script)
        check_form(conversation, completion)
        pace = job.route.params.pace or completion.pace or self.pace
        if pace is not completion.pace:
            completion = replace(completion, pace=pace)
        job.completion = completion
        return conversation, completion

    def answer_aside(self, job: Job, aside: Aside) -> bytes:
        """The reply to what no script is asked about; raises `ApiError`."""
        if self.gate is not None:
            self.gate(job)
        try:
            conversation, body = aside(job.body, self.memory, job.route.model)
        except RecursionError:
            raise too_deep() from None
        if conversation is not None:
            self._check(job, conversation)
        return body

    def _read(self, job: Job) -> Known:
        """The request, read now or remembered."""
        if len(job.body) > LONGEST:
            return Known(self._parse(job))
        key = (job.dialect.NAME, job.route.model, job.body)
        known = self.memory.requests.get(key)
        if known is None:
            known = Known(self._parse(job))
            self.memory.requests.put(key, known, known.size(job.body))
        return known

    def _parse(self, job: Job) -> Conversation:
        try:
            return job.dialect.parse(job.body, self.memory, job.route.model)
        except RecursionError:
            raise too_deep() from None

    def _check(self, job: Job, conversation: Conversation) -> None:
        job.conversation = conversation
        if self.strict and conversation.violations:
            raise job.dialect.refuse(conversation.violations[0])

    def _reply(self, job: Job, conversation: Conversation, script: Script) -> Reply:
        """The script's reply, fitted to the client; or a plain one to a side request."""
        side = side_request(conversation, job.head.agent)
        if side is not None:
            job.notes.append(Note("side_request", f"{side.kind} ({side.marker})"))
            return plain_answer(side, conversation)
        catalogue = self.catalogue.for_client(job.route.params.client).for_script(script)
        view = job.route.params.view(catalogue.view(conversation))
        fitted = catalogue.fit(_run(job.script, script, view), conversation)
        job.notes += fitted.notes
        return obey(fitted.reply, conversation)

    def choose(self, path_name: str, model: str) -> tuple[str, Script]:
        """The script named by the path, else by the model, else the default; or a 404."""
        name = path_name or (model if model in self.scripts else self.default)
        try:
            if name is None:
                raise UnknownScript(model, self.scripts)
            return name, self.scripts[name]
        except UnknownScript as error:
            raise ApiError(
                404, _unknown(error), kind="not_found", param="model", code="model_not_found"
            ) from None


def _unknown(error: UnknownScript) -> str:
    return f"The model or script does not exist: {error}."


def _run(name: str, script: Script, conversation: Conversation) -> Reply:
    try:
        reply = script(conversation)
    except ScriptRanOut as error:
        raise ApiError(
            400, f"Script {name!r}: {error}.", code="script_ran_out", retry=False
        ) from None
    except ApiError:
        raise
    except Exception as error:
        _log.exception("script %r failed", name)
        raise _failed(name, f"{type(error).__name__}: {error}") from error
    if not isinstance(reply, Reply):
        raise _failed(name, f"it returned {type(reply).__name__}, not a Reply")
    return reply


def _failed(name: str, why: str) -> ApiError:
    message = f"Script {name!r} failed on this conversation: {why}."
    return ApiError(500, message, kind="server", code="script_failed", retry=False)
