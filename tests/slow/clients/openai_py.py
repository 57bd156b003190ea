"""The official openai SDK for Python: `plan`, whole and streamed, sync and async."""

import asyncio
import os

import openai
import tools

MODEL = "gpt-4.1"
START = {"role": "user", "content": tools.TASK}


def chat(client: openai.OpenAI, stream: bool) -> str:
    offered = [{"type": "function", "function": tool} for tool in tools.SCHEMAS]
    history = [START]
    while True:
        asked = {"model": MODEL, "messages": history, "tools": offered}
        if stream:
            with client.chat.completions.stream(**asked) as chunks:
                message = chunks.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
        history.append(message)
        if not message.tool_calls:
            return message.content
        history += [
            {
                "role": "tool",
                "tool_call_id": call.id,
                "content": tools.run(call.function.name, call.function.arguments),
            }
            for call in message.tool_calls
        ]


async def chat_async(client: openai.AsyncOpenAI) -> str:
    offered = [{"type": "function", "function": tool} for tool in tools.SCHEMAS]
    history = [START]
    while True:
        reply = await client.chat.completions.create(model=MODEL, messages=history, tools=offered)
        message = reply.choices[0].message
        history.append(message)
        if not message.tool_calls:
            return message.content
        history += [
            {
                "role": "tool",
                "tool_call_id": call.id,
                "content": tools.run(call.function.name, call.function.arguments),
            }
            for call in message.tool_calls
        ]


def responses(client: openai.OpenAI, stream: bool, by_id: bool) -> str:
    offered = [{"type": "function", "strict": False, **tool} for tool in tools.SCHEMAS]
    items, previous = [START], None
    while True:
        asked = {"model": MODEL, "input": items, "tools": offered}
        if previous is not None and by_id:
            asked["previous_response_id"] = previous.id
        if stream:
            with client.responses.stream(**asked) as events:
                previous = events.get_final_response()
        else:
            previous = client.responses.create(**asked)
        outputs = [
            {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": tools.run(item.name, item.arguments),
            }
            for item in previous.output
            if item.type == "function_call"
        ]
        if not outputs:
            return previous.output_text
        items = outputs if by_id else [*items, *previous.output, *outputs]


with openai.OpenAI() as gpt:
    for streamed in (False, True):
        if os.environ["DIALECT"] == "chat":
            print(chat(gpt, streamed))
        else:
            print(responses(gpt, streamed, by_id=False))
            print(responses(gpt, streamed, by_id=True))
if os.environ["DIALECT"] == "chat":
    print(asyncio.run(chat_async(openai.AsyncOpenAI())))
