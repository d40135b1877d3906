"""HTTP in front of a desk, in the form that clients of OpenAI's interface expect.

`GET /v1/models`, `POST /v1/completions` and `POST /v1/chat/completions`, with or without `stream`.
What a request asks for and the server does not do is refused, not ignored.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parent))
from desk import Arrivals, Desk, Request

LARGEST_BODY = 1 << 24
MOST_ANSWERS = 128
PATIENCE = 0.5  # seconds between two looks at whether a client is still there
UNFINISHED = "\ufffd"  # how a character reads of which not all bytes have come


class Vocabulary(Protocol):
    """Text to token ids and back."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: list[int]) -> str: ...


@dataclass(frozen=True, slots=True)
class Model:
    """What is served: `room` is the longest text in tokens, `size` the number of tokens there are.

    `ends` are the ids that end a text. `chat` writes messages, pairs of role and text, as the text
    that the model goes on with.
    """

    name: str
    vocabulary: Vocabulary
    ends: frozenset[int]
    chat: Callable[[list[tuple[str, str]]], str]
    room: int
    size: int
    created: int = field(default_factory=lambda: int(time.time()))


class Refusal(Exception):
    """An answer that is an error object."""

    def __init__(
        self, message: str, param: str | None = None, code: str | None = None, status: int = 400
    ) -> None:
        super().__init__(message)
        kind = "server_error" if status >= 500 else "invalid_request_error"
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


class Gone(Exception):
    """The client has gone away."""


def number(
    body: Mapping[str, Any], name: str, default: float | None, low: float, high: float
) -> Any:
    """A number of a request; one that has to be whole if its limits are."""
    value = body.get(name)
    if value is None:
        return default
    whole = isinstance(low, int)
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "an integer" if whole else "a number"
        raise Refusal(f"'{name}' must be {kind} between {low} and {high}", name)
    return value


def flag(body: Mapping[str, Any], name: str) -> bool:
    """A bool of a request."""
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise Refusal(f"'{name}' must be true or false", name)
    return bool(value)


NEUTRAL: dict[str, tuple[Any, ...]] = {
    "best_of": (1,), "echo": (False,), "frequency_penalty": (0,), "function_call": ("none",),
    "functions": ([],), "logit_bias": ({},), "logprobs": (False, 0), "modalities": (["text"],),
    "parallel_tool_calls": (True, False), "presence_penalty": (0,),
    "response_format": ({"type": "text"},), "suffix": ("",), "tool_choice": ("none", "auto"),
    "tools": ([],), "top_logprobs": (0,),
}  # fmt: skip
"""What is known and not done, with the values that ask for nothing."""

TAKEN = frozenset({
    "model", "prompt", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p",
    "n", "stop", "stream", "stream_options", "seed", "user", "metadata", "store", "service_tier",
})  # fmt: skip


def check_names(body: Mapping[str, Any]) -> None:
    """Refuse what the server does not know or do."""
    for name, value in body.items():
        if name in TAKEN or value is None or value in NEUTRAL.get(name, ()):
            continue
        known = "not supported by this server" if name in NEUTRAL else "unknown"
        raise Refusal(f"'{name}' is {known}", name, "unsupported_parameter")


def encoded(text: str, vocabulary: Vocabulary) -> list[int]:
    """Token ids of a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal("a text holds half of a surrogate pair") from None
    return vocabulary.encode(text)


def prompts_of(body: Mapping[str, Any], vocabulary: Vocabulary) -> list[list[int]]:
    """The prompts of a completion: a text, token ids, or a list of either."""
    given = body.get("prompt")
    if isinstance(given, str) or (isinstance(given, list) and all(type(i) is int for i in given)):
        given = [given]
    if not isinstance(given, list):
        raise Refusal("'prompt' must be a text, a list of token ids, or a list of these", "prompt")
    if len(given) > MOST_ANSWERS:
        raise Refusal(f"a request may ask for {MOST_ANSWERS} answers", "prompt")
    prompts = []
    for one in given:
        if isinstance(one, str):
            prompts.append(encoded(one, vocabulary))
        elif isinstance(one, list) and all(type(i) is int and i >= 0 for i in one):
            prompts.append(one)
        else:
            raise Refusal("a prompt must be a text or a list of token ids", "prompt")
    return prompts


ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
"""Whose a message may be, and the name by which the model knows them."""


def messages_of(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The messages of a chat: role and text of each."""
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise Refusal("'messages' must be a list of at least one message", "messages")
    messages = []
    for k, one in enumerate(given):
        where = f"messages[{k}]"
        if not isinstance(one, dict) or not isinstance(role := one.get("role"), str):
            raise Refusal(f"'{where}' must be an object with a role", where)
        if role not in ROLES:
            raise Refusal(f"'{where}.role' must be one of {', '.join(ROLES)}", where)
        content = one.get("content")
        if isinstance(content, list):
            parts = [p.get("text") for p in content if isinstance(p, dict)]
            texts = [part for part in parts if isinstance(part, str)]
            content = "".join(texts) if len(texts) == len(content) else None
        if not isinstance(content, str):
            raise Refusal(f"'{where}.content' must be text", where)
        messages.append((ROLES[role], content))
    return messages


def stops_of(body: Mapping[str, Any]) -> list[str]:
    """The texts before which an answer ends."""
    given = body.get("stop")
    stops = [given] if isinstance(given, str) else [] if given is None else given
    if (
        not isinstance(stops, list)
        or len(stops) > 4
        or not all(s and type(s) is str for s in stops)
    ):
        raise Refusal("'stop' must be a text or a list of at most 4, none of them empty", "stop")
    return stops


@dataclass(slots=True, eq=False)
class Choice:
    """The text of one answer as it grows; `ready` is what has not been handed out."""

    request: Request
    vocabulary: Vocabulary
    stops: list[str]
    ids: list[int] = field(default_factory=list)
    shown: int = 0
    reason: str = ""

    def add(self, token: int) -> str:
        """The text that can be shown now. The first of the stops ends the choice."""
        self.ids.append(token)
        return self._show(final=False)

    def end(self, reason: str) -> str:
        """The rest of the text."""
        self.reason = self.reason or reason
        return self._show(final=True)

    def _show(self, final: bool) -> str:
        text = self.vocabulary.decode(self.ids)
        cuts = [at for stop in self.stops if (at := text.find(stop)) >= 0]
        until = len(text)
        if cuts:
            until, self.reason = min(cuts), "stop"
        elif not final:
            certain = text.rstrip(UNFINISHED)
            until = len(certain) - self._begun(certain)
        new = text[self.shown : until]
        self.shown = max(self.shown, until)
        return new

    def _begun(self, text: str) -> int:
        """How many characters at the end may be the beginning of a stop."""
        sizes = (k for stop in self.stops for k in range(1, len(stop)) if text.endswith(stop[:k]))
        return max(sizes, default=0)


def choices_of(body: Mapping[str, Any], model: Model, is_chat: bool) -> list[Choice]:
    """The answers that a request asks for. Raises `Refusal`."""
    check_names(body)
    if body.get("model") not in (None, model.name):
        message = f"there is no model '{body['model']}' here, only '{model.name}'"
        raise Refusal(message, "model", "model_not_found", 404)
    if is_chat:
        prompts = [encoded(model.chat(messages_of(body)), model.vocabulary)]
    else:
        prompts = prompts_of(body, model.vocabulary)
    heat, nucleus = number(body, "temperature", 1.0, 0.0, 2.0), number(body, "top_p", 1.0, 0.0, 1.0)
    copies = number(body, "n", 1, 1, MOST_ANSWERS)
    if len(prompts) * copies > MOST_ANSWERS:
        raise Refusal(f"a request may ask for {MOST_ANSWERS} answers", "prompt")
    seed = number(body, "seed", None, -(1 << 63), (1 << 63) - 1)
    seed = int.from_bytes(os.urandom(8)) if seed is None else seed % (1 << 64)
    stops, arrivals = stops_of(body), Arrivals()
    choices: list[Choice] = []
    for prompt in (p for p in prompts for _ in range(copies)):
        limit = limit_of(body, len(prompt), model, is_chat)
        if not prompt or any(token >= model.size for token in prompt):
            raise Refusal(f"a prompt needs at least one token, each below {model.size}", "prompt")
        request = Request(
            prompt, limit, arrivals, float(heat), float(nucleus), seed + len(choices), model.ends
        )
        choices.append(Choice(request, model.vocabulary, stops))
    return choices


def limit_of(body: Mapping[str, Any], length: int, model: Model, is_chat: bool) -> int:
    """How many tokens may follow a prompt of this length."""
    left = model.room - length
    name = "max_tokens" if body.get("max_completion_tokens") is None else "max_completion_tokens"
    limit: int = number(body, name, max(left, 1) if is_chat else 16, 1, 1 << 31)
    if limit > left:
        message = f"{length} tokens of the prompt and {limit} of the answer are more than"
        raise Refusal(f"{message} {model.room}", name, "context_length_exceeded")
    return limit


@dataclass(frozen=True, slots=True)
class Form:
    """How answers look: those of a chat and those that go on with a text are different."""

    is_chat: bool
    model: str
    made: int = field(default_factory=lambda: int(time.time()))
    name: str = field(default_factory=lambda: uuid.uuid4().hex)

    def whole(self, choices: list[Choice], texts: list[str]) -> dict[str, Any]:
        """The answer in one piece."""
        shown = []
        for k, (choice, text) in enumerate(zip(choices, texts, strict=True)):
            message = {"role": "assistant", "content": text}
            content = {"message": message} if self.is_chat else {"text": text}
            shown.append(self._choice(k, content, choice.reason))
        return self._around("chat.completion", shown) | {"usage": usage(choices)}

    def piece(self, index: int, text: str, reason: str, first: bool = False) -> dict[str, Any]:
        """A piece of an answer."""
        delta = ({"role": "assistant"} if first else {}) | ({} if reason else {"content": text})
        content = {"delta": delta} if self.is_chat else {"text": text}
        return self._around("chat.completion.chunk", [self._choice(index, content, reason)])

    def sizes(self, choices: list[Choice]) -> dict[str, Any]:
        """The last piece: how many tokens there were."""
        return self._around("chat.completion.chunk", []) | {"usage": usage(choices)}

    def _choice(self, index: int, content: dict[str, Any], reason: str) -> dict[str, Any]:
        return {"index": index, **content, "logprobs": None, "finish_reason": reason or None}

    def _around(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        prefix, kind = ("chatcmpl", kind) if self.is_chat else ("cmpl", "text_completion")
        head = {"id": f"{prefix}-{self.name}", "object": kind, "created": self.made}
        return {**head, "model": self.model, "choices": choices}


def usage(choices: list[Choice]) -> dict[str, int]:
    """Tokens of prompts and answers. Prompts that are alike count once."""
    prompts = sum(
        len(p) for p in {id(c.request.prompt): c.request.prompt for c in choices}.values()
    )
    answers = sum(len(choice.ids) for choice in choices)
    return {
        "prompt_tokens": prompts,
        "completion_tokens": answers,
        "total_tokens": prompts + answers,
    }


class Server(ThreadingHTTPServer):
    """A thread for each connection; all of them put their requests on one desk."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], desk: Desk) -> None:
        """Bind the address. Raises `OSError`. Requests come in with `serve_forever`."""
        super().__init__(address, Handler)
        self.desk = desk
        self.model: Model | None = None
        self._answers = threading.Condition()
        self._under_way = 0

    @contextmanager
    def answer(self) -> Iterator[Model]:
        """While an answer is made: the end of the server waits for it."""
        assert self.model is not None, "no connection is taken before"
        with self._answers:
            self._under_way += 1
        try:
            yield self.model
        finally:
            with self._answers:
                self._under_way -= 1
                self._answers.notify_all()

    def end(self) -> None:
        """Take no more connections; wait a little for the answers that are under way."""
        if self.model is not None:
            self.shutdown()
        self.server_close()
        with self._answers:
            self._answers.wait_for(lambda: not self._under_way, PATIENCE)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that go away in the middle."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds in which a client sends or takes something
    disable_nagle_algorithm = True  # each token is sent at once

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""

    def do_GET(self) -> None:
        """The models that are here."""
        self._answer(self._models)

    def do_POST(self) -> None:
        """Answers of the model."""
        self._answer(self._generate)

    def _answer(self, method: Callable[[Model], None]) -> None:
        with self.server.answer() as model:
            try:
                method(model)
            except Refusal as refusal:
                self._send(refusal.status, refusal.body)
            except Gone:
                self.close_connection = True

    def _send(self, status: int, body: Mapping[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _models(self, model: Model) -> None:
        named = {"id": model.name, "object": "model", "created": model.created, "owned_by": "you"}
        match self.path.partition("?")[0].rstrip("/"):
            case "/v1/models":
                self._send(200, {"object": "list", "data": [named]})
            case path if path == f"/v1/models/{model.name}":
                self._send(200, named)
            case path:
                raise _nothing_at("GET", path)

    def _generate(self, model: Model) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        body = self._body()
        if path not in ("/v1/completions", "/v1/chat/completions"):
            raise _nothing_at("POST", path)
        is_chat = path == "/v1/chat/completions"
        streams = flag(body, "stream")
        options = body.get("stream_options") or {}
        if options and not (streams and isinstance(options, dict)):
            raise Refusal("'stream_options' is an object, and goes with 'stream'", "stream_options")
        sizes = flag(options, "include_usage")
        choices = choices_of(body, model, is_chat)
        form = Form(is_chat, model.name)
        try:
            for choice in choices:
                self.server.desk.submit(choice.request)
            if streams:
                self._stream(form, choices, sizes)
                return
            texts = [""] * len(choices)
            for index, text in self._pieces(choices):
                texts[index] += text
        finally:
            for choice in choices:
                choice.request.cancelled = True
        self._send(200, form.whole(choices, texts))

    def _body(self) -> dict[str, Any]:
        """The JSON object that was sent. Otherwise the connection ends with the answer."""
        size = self.headers.get("Content-Length", "")
        if not (size.isascii() and size.isdigit()) or int(size) > LARGEST_BODY:
            self.close_connection = True
            raise Refusal(f"a body needs a Content-Length of at most {LARGEST_BODY}")
        try:
            body = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            raise Refusal("the body is not JSON") from None
        if not isinstance(body, dict):
            raise Refusal("the body is not a JSON object")
        return body

    def _pieces(self, choices: list[Choice]) -> Iterator[tuple[int, str]]:
        """Text as it comes, with the index of its choice. Raises `Gone`, and `Refusal` at the end
        of the server."""
        at = {id(choice.request): k for k, choice in enumerate(choices)}
        while any(not choice.reason for choice in choices):
            try:
                arrival = choices[0].request.arrivals.get(timeout=PATIENCE)
            except Empty:
                arrival = None
            if self._is_gone():
                raise Gone
            if arrival is None:
                continue
            if arrival.reason == "closed":
                raise Refusal("the server is shutting down", status=503)
            index = at[id(arrival.request)]
            choice = choices[index]
            if not choice.reason:
                text = choice.end(arrival.reason) if arrival.reason else choice.add(arrival.token)
                choice.request.cancelled = bool(choice.reason)
                if text or choice.reason:
                    yield index, text

    def _is_gone(self) -> bool:
        """Whether the client has closed the connection."""
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _stream(self, form: Form, choices: list[Choice], sizes: bool) -> None:
        """Send pieces as they come, as server-sent events."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        for index in range(len(choices) if form.is_chat else 0):
            self._event(form.piece(index, "", "", first=True))
        try:
            for index, text in self._pieces(choices):
                if text:
                    self._event(form.piece(index, text, ""))
                if reason := choices[index].reason:
                    self._event(form.piece(index, "", reason))
        except Refusal as refusal:
            self._event(refusal.body)
            return
        if sizes:
            self._event(form.sizes(choices))
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, body: Mapping[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(body).encode() + b"\n\n")


def _nothing_at(method: str, path: str) -> Refusal:
    return Refusal(f"there is nothing for {method} at {path or '/'}", code="not_found", status=404)
