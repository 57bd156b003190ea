"""Model clients and the shapes between them and the loop."""

from .base import (
    Attempt,
    Call,
    CancelSignal,
    Message,
    Model,
    ModelCancelled,
    ModelError,
    ModelReply,
    Role,
    ToolSpec,
    Usage,
)
from .chat import ChatModel
from .factory import PROTOCOLS, make_model
from .messages import MessagesModel
from .responses import ResponsesModel
from .timeouts import Timeouts

__all__ = [
    "PROTOCOLS",
    "Attempt",
    "Call",
    "CancelSignal",
    "ChatModel",
    "Message",
    "MessagesModel",
    "Model",
    "ModelCancelled",
    "ModelError",
    "ModelReply",
    "ResponsesModel",
    "Role",
    "Timeouts",
    "ToolSpec",
    "Usage",
    "make_model",
]
