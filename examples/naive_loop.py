"""The loop of ten lines: it works in every demo, and nothing in it can make it stop."""

import json
import os

import httpx


def run(task, tools, base_url=None, client=None):
    """Ask until the model answers. `tools` are (JSON schema of the function, function) by name."""
    url = (base_url or os.environ["LLM_BASE_URL"]) + "/chat/completions"
    offered = [{"type": "function", "function": schema} for schema, _ in tools.values()]
    messages = [{"role": "user", "content": task}]
    while True:
        body = {"model": "any", "messages": messages, "tools": offered}
        reply = (client or httpx).post(url, json=body, timeout=60).json()["choices"][0]["message"]
        messages.append(reply)
        if not reply.get("tool_calls"):
            return reply["content"]
        for call in reply["tool_calls"]:
            function = call["function"]
            result = tools[function["name"]][1](**json.loads(function["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
