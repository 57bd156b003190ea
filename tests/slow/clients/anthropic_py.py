"""The official anthropic SDK for Python: `plan` by hand, whole, streamed, and its tool runner."""

import anthropic
import tools

ASKED = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1000,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "tools": [
        {
            "name": tool["name"],
            "description": tool["description"],
            "input_schema": tool["parameters"],
        }
        for tool in tools.SCHEMAS
    ],
}


def by_hand(client: anthropic.Anthropic, stream: bool) -> str:
    history = [{"role": "user", "content": tools.TASK}]
    while True:
        if stream:
            with client.messages.stream(messages=history, **ASKED) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(messages=history, **ASKED)
        history.append({"role": "assistant", "content": message.content})
        if message.stop_reason != "tool_use":
            return message.content[0].text
        results = [
            {
                "type": "tool_result",
                "tool_use_id": block.id,
                "content": tools.run(block.name, block.input),
            }
            for block in message.content
            if block.type == "tool_use"
        ]
        history.append({"role": "user", "content": results})


@anthropic.beta_tool
def list_files() -> str:
    """List the files in the working directory."""
    return tools.list_files()


@anthropic.beta_tool
def read_file(path: str) -> str:
    """Read one file and return its contents."""
    return tools.read_file(path)


with anthropic.Anthropic() as claude:
    print(by_hand(claude, stream=False))
    print(by_hand(claude, stream=True))
    runner = claude.beta.messages.tool_runner(
        model=ASKED["model"],
        max_tokens=1000,
        tools=[list_files, read_file],
        messages=[{"role": "user", "content": tools.TASK}],
    )
    print(runner.until_done().content[0].text)
