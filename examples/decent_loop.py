"""A loop of sixty lines that stops: a cap, a budget, no retry without hope, no call in the dark."""

import json
import time

import httpx
import jsonschema

RETRIED = {408, 409, 429, 500, 502, 503, 504, 529}


class Stopped(Exception):
    """The run ended without an answer; the text says why."""


def run(
    task, tools, base_url, *, turns, tokens=None, client=None, approve=lambda name, args: False
):
    """The answer, and what it took: (text, turns, tokens). Raises `Stopped`.

    `tools` are (schema, function, needs approval) by name; `approve(name, arguments)` is asked.
    """
    offered = [{"type": "function", "function": schema} for schema, _, _ in tools.values()]
    messages, used, seen = [{"role": "user", "content": task}], 0, {}
    for turn in range(1, turns + 1):
        if tokens is not None and used >= tokens:
            raise Stopped(f"{used} of {tokens} tokens used")
        body = {"model": "any", "messages": messages, "tools": offered}
        reply = _ask(client or httpx, base_url, body)
        choice, usage = reply["choices"][0], reply["usage"]
        used += usage["prompt_tokens"] + usage["completion_tokens"]
        calls = choice["message"].get("tool_calls") or []
        messages.append(choice["message"])
        if not calls and choice["finish_reason"] == "stop":
            return choice["message"]["content"], turn, used
        cut = choice["finish_reason"] != "tool_calls"
        for call in calls:
            result = _run(call["function"], tools, approve) if not cut else "Not run: cut off."
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            key = (call["function"]["name"], call["function"]["arguments"], result)
            seen[key] = seen.get(key, 0) + 1
            if seen[key] == 4:
                raise Stopped(f"{key[0]} was called four times with the same result")
        if not calls:
            messages.append({"role": "user", "content": "You were cut off. Go on."})
    raise Stopped(f"{turns} turns used")


def _run(function, tools, approve):
    """The result of a call, in words the model can act on."""
    if function["name"] not in tools:
        return f"Error: not run, invalid: there is no {function['name']}, only {', '.join(tools)}"
    schema, run, asks = tools[function["name"]]
    try:
        arguments = json.loads(function["arguments"])
        jsonschema.validate(arguments, schema["parameters"])
    except (ValueError, jsonschema.ValidationError) as error:
        return f"Error: not run, the call is invalid: {error}"
    if asks and not approve(function["name"], arguments):
        return "The user rejected this call: it was not run."
    return run(**arguments)


def _ask(client, base_url, body, attempts=4):
    """The reply; asks again only where that can help, and as late as the service says."""
    for attempt in range(1, attempts + 1):
        answer = client.post(f"{base_url}/chat/completions", json=body, timeout=60)
        if answer.status_code == 200:
            return answer.json()
        hopeless = answer.status_code not in RETRIED or "insufficient_quota" in answer.text
        if hopeless or attempt == attempts:
            raise Stopped(f"the provider: {answer.status_code} {answer.text[:200]}")
        told = float(answer.headers.get("retry-after-ms", 0)) / 1000
        time.sleep(max(told, float(answer.headers.get("retry-after", 0)), 0.12 * attempt))
    raise AssertionError("unreachable")
