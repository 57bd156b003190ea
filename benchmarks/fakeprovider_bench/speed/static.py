"""The yardstick: a Starlette route that takes the body and returns the same JSON each time."""

from __future__ import annotations

import socket
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

REPLY = {
    "id": "chatcmpl-fake0",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "static",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello."},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


async def chat(request: Request) -> JSONResponse:
    """Always the same; the body is received and not looked at."""
    await request.body()
    return JSONResponse(REPLY)


def main() -> None:
    """Serve on a free port, printed on the first line."""
    app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(  # as the provider has it, so that only the applications differ
        app,
        lifespan="off",
        ws="none",
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
