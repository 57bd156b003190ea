"""A scripted fake LLM provider: real wire protocols, misbehaviour on demand.

What a script needs is here; the server is `fakeprovider.server.Server`.
"""

from fakeprovider.conversation import Call, Conversation, Message, Offered, Result
from fakeprovider.replies import (
    Fault,
    Pace,
    Refusal,
    Reply,
    Text,
    Thinking,
    ToolCall,
    ask,
    call,
    say,
)

__all__ = [
    "Call",
    "Conversation",
    "Fault",
    "Message",
    "Offered",
    "Pace",
    "Refusal",
    "Reply",
    "Result",
    "Text",
    "Thinking",
    "ToolCall",
    "ask",
    "call",
    "say",
]
