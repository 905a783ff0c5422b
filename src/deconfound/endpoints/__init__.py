"""Language models behind HTTP: settings, requests, retries, a durable cache, costs and batch files.

Code that asks models needs four things of this room: ``read_endpoints`` and ``read_chat_model`` for the settings,
``Request`` for one call, ``ReplyCache`` for what was answered before, and ``run_requests`` for everything else.
"""

from deconfound.endpoints.chat_model import ChatModel, read_chat_model
from deconfound.endpoints.endpoint import Endpoint, read_endpoints
from deconfound.endpoints.failure import Failure
from deconfound.endpoints.reply import Reply
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.request import Request, RequestBuilder
from deconfound.endpoints.run_meter import RunOutcome
from deconfound.endpoints.runner import RunOptions, run_requests

__all__ = [
    "ChatModel",
    "Endpoint",
    "Failure",
    "Reply",
    "ReplyCache",
    "Request",
    "RequestBuilder",
    "RunOptions",
    "RunOutcome",
    "read_chat_model",
    "read_endpoints",
    "run_requests",
]
