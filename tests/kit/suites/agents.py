import os

import httpx

TOOLS = [{"type": "function", "function": {"name": "list_files", "parameters": {"type": "object"}}}]


def ask(client, url, messages):
    reply = client.post(
        url + "/chat/completions", json={"model": "m", "messages": messages, "tools": TOOLS}
    )
    reply.raise_for_status()
    return reply.json()["choices"][0]["message"]


def agent(client=None, url="", cap=10):
    url = url or os.environ["LLM_BASE_URL"]
    messages = [{"role": "user", "content": "Which file?"}]
    with client or httpx.Client(timeout=60) as client:
        for _ in range(cap):
            said = ask(client, url, messages)
            messages.append(said)
            if not said.get("tool_calls"):
                return said["content"]
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": "a.txt"}
                for call in said["tool_calls"]
            ]
    return "gave up"
