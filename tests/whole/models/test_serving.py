"""The language model's server: clients over the loopback get what the model's program says."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tempoc.cli.main import status
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.ops.tensor.source import Param
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.examples import ROOT, load
from tests.support.session.long import chosen, examples, sampled
from tests.support.tiny_llama import SIZES, in_file, weights

LLAMA = ROOT / "examples" / "llama"
ROOM = 1024
SLOTS = 2
LETTERS = "abcdefghijklmnopqrstuvw"
DEFINES = {name: str(value) for name, value in SIZES.items()}
PROMPTS = ("dfhc", "eb", "gqrstu")

endpoint = load(LLAMA / "endpoint.py")
desk = sys.modules["desk"]


class Alphabet:
    """Tokens are letters."""

    def encode(self, text: str) -> list[int]:
        return [LETTERS.index(letter) for letter in text if letter in LETTERS]

    def decode(self, ids: list[int]) -> str:
        return "".join(LETTERS[i] for i in ids)


@dataclass
class Client:
    """Asks a server for completions."""

    server: Any

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(*self.server.server_address[:2], timeout=60)

    def send(self, path: str, **body: object) -> http.client.HTTPResponse:
        connection = self.connect()
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return connection.getresponse()

    def ask(self, prompt: str, **more: object) -> dict[str, Any]:
        body = {"prompt": prompt, "temperature": 0, "max_tokens": 12} | more
        response = self.send("/v1/completions", **body)
        assert response.status == 200
        answer: dict[str, Any] = json.loads(response.read())
        return answer

    def text(self, prompt: str, **more: object) -> str:
        return str(self.ask(prompt, **more)["choices"][0]["text"])

    def together(self, prompts: tuple[str, ...], **more: object) -> list[str]:
        """The answers to requests that are in flight at the same time."""
        answers = [""] * len(prompts)

        def ask(k: int) -> None:
            answers[k] = self.text(prompts[k], **more)

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(len(prompts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers


def events(response: http.client.HTTPResponse) -> Iterator[Any]:
    """The server-sent events of a response as they come."""
    for line in response:
        if line.strip():
            assert line.startswith(b"data: ")
            data = line[len(b"data: ") :].decode().strip()
            yield data if data == "[DONE]" else json.loads(data)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("serving")
    options = [word for name, value in DEFINES.items() for word in ("-D", f"{name}={value}")]
    command = ["compile", str(LLAMA / "serve.rt"), "-o", str(folder / "out"), "-D", f"C={ROOM}"]
    assert status([*command, *options]) == 0
    params = in_file(weights(SIZES["L"]))
    desk.DESK.open()
    server = endpoint.Server(("127.0.0.1", 0), desk.DESK)
    ran = []

    def work() -> None:
        bounds = {"T": desk.STEPS, "B": SLOTS}
        ran.append(run(folder / "out", bounds, {}, params, extern_path=[LLAMA]))

    program = threading.Thread(target=work)
    program.start()
    limits = desk.DESK.limits()
    assert limits == (ROOM, SIZES["V"])
    server.model = endpoint.Model("tiny", Alphabet(), frozenset(), lambda m: m[-1][1], *limits)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Client(server)
    # A request that is under way when the desk closes is told so; the program ends by itself.
    response = Client(server).send("/v1/completions", prompt="ab", max_tokens=1000, stream=True)
    pieces = events(response)
    next(pieces)
    desk.DESK.close()
    assert "shutting down" in [*pieces][-1]["error"]["message"]
    program.join(60)
    assert len(ran) == 1
    server.end()
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `fetch.py` leaves it, and the compiled program in `serve`."""
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("home")
    letters = {letter: k for k, letter in enumerate(LETTERS)}
    words = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=letters, merges=[]))
    words.decoder = tokenizers.decoders.Fuse()
    words.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text('{"eos_token_id": [40, 41]}')
    save_file(in_file(weights(SIZES["L"])), folder / "model.safetensors")
    options = [word for name, value in DEFINES.items() for word in ("-D", f"{name}={value}")]
    out = str(folder / "serve")
    assert status(["compile", str(LLAMA / "serve.rt"), "-o", out, "-D", "C=32", *options]) == 0
    return folder


def test_the_script_serves_until_it_is_interrupted(home: Path, alone: dict[str, str]) -> None:
    command = [sys.executable, str(LLAMA / "serve.py"), "--home", str(home), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            words = process.stdout.readline().split()
            assert words[:2] == ["home0", "is"]
            address = words[-1].removeprefix("http://").removesuffix("/v1")
            connection = http.client.HTTPConnection(address, timeout=60)
            body = {"prompt": "dfhc", "max_tokens": 12, "temperature": 0}
            connection.request("POST", "/v1/completions", json.dumps(body))
            answer = json.loads(connection.getresponse().read())
            assert answer["choices"][0]["text"] == alone["dfhc"]
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
            assert process.stdout.read() == ""
        finally:
            process.kill()


@pytest.mark.long("a client more")
def test_the_chat_reads_along(home: Path, alone: dict[str, str]) -> None:
    script = [sys.executable, str(LLAMA / "chat.py"), "--home", str(home)]
    script += ["--out", str(home / "serve"), "--tokens"]
    done = subprocess.run([*script, "12", *PROMPTS], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [prompt + alone[prompt] for prompt in PROMPTS]
    assert done.returncode == 0
    done = subprocess.run([*script, "31", *PROMPTS], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "37 tokens are more than 32: compile with -D C=N\n"


@pytest.mark.usefixtures("with_runner")
@pytest.mark.parametrize("program", ["model", "serve"])
def test_the_chat_rounds_weights(program: str, home: Path, alone: dict[str, str]) -> None:
    """Where the program has another dtype than the checkpoint, as with `-D dtype=bf16`."""
    wide, out = home / "wide", home / "serve"
    wide.mkdir(exist_ok=True)
    shutil.copy(home / "tokenizer.json", wide)
    tensors = {name: value.astype("f8") for name, value in in_file(weights(SIZES["L"])).items()}
    save_file(tensors, wide / "model.safetensors")
    if program == "model":
        out, options = home / "out", [f"-D{name}={value}" for name, value in DEFINES.items()]
        assert status(["compile", str(LLAMA / "model.rt"), "-o", str(out), *options]) == 0
    script = [sys.executable, str(LLAMA / "chat.py"), "--home", str(wide), "--out", str(out)]
    script += ["--tokens", "12", "dfhc"]
    if chosen["long"]:
        done = subprocess.run(script, capture_output=True, text=True, timeout=120)
        assert done.returncode == 1
        assert "--cast-params converts it" in done.stderr
    script.append("--cast-params")
    done = subprocess.run(script, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"dfhc{alone['dfhc']}\n")


@pytest.mark.parametrize("given", [["--tokens", "0", "ab"], ["ab", ""]])
def test_the_chat_refuses_what_has_no_answer(home: Path, given: list[str]) -> None:
    """Whatever the program is: it is not asked."""
    script = [sys.executable, str(LLAMA / "chat.py"), "--home", str(home), "--out", str(home)]
    done = subprocess.run([*script, *given], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a text needs a prompt, and --tokens at least 1" in done.stderr


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    """What follows each prompt, by the reference evaluator of the model's program: 12 tokens."""
    options = Options(level=0, defines=DEFINES)
    graph = Compilation.from_path(str(LLAMA / "model.rt"), options).graph
    stacked = weights(SIZES["L"])
    params = {
        name: stacked[node.op.template]
        for name, node in graph.nodes.items()
        if isinstance(node.op, Param)
    }
    texts = {}
    for prompt in PROMPTS:
        ids = np.array([Alphabet().encode(prompt)], np.int32)
        size = ids.shape[1]
        inputs = {"prompt": ids, "length": np.array([size], np.int32)}
        bounds = {"B": 1, "P": size, "S": size, "T": size + 12}
        tokens = evaluate(graph, bounds, inputs, params, float64=True)["tok"][0]
        texts[prompt] = Alphabet().decode(tokens[size:].tolist())
    assert len({*texts.values()}) == len(PROMPTS)
    return texts


def test_requests_in_flight_get_what_they_get_alone(client: Client, alone: dict[str, str]) -> None:
    for prompt in PROMPTS:
        assert client.text(prompt) == alone[prompt]
    # There are fewer slots than requests, so that some wait and take the place of another.
    for prompts in (PROMPTS, PROMPTS * 3):
        assert client.together(prompts) == [alone[prompt] for prompt in prompts]


def test_requests_join_and_leave_a_running_batch(client: Client, alone: dict[str, str]) -> None:
    response = client.send(
        "/v1/completions", prompt="dfhc", max_tokens=300, temperature=0, stream=True
    )
    pieces = events(response)
    started = "".join(next(pieces)["choices"][0]["text"] for _ in range(3))
    assert [client.text(prompt) for prompt in PROMPTS] == [alone[prompt] for prompt in PROMPTS]
    rest = [*pieces]
    assert rest.pop() == "[DONE]"
    assert rest[-1]["choices"][0]["finish_reason"] == "length"
    whole = started + "".join(piece["choices"][0]["text"] for piece in rest)
    assert whole.startswith(alone["dfhc"])
    assert whole == client.text("dfhc", max_tokens=300)


def test_free_slots_read_ahead_in_prompts() -> None:
    """Each text has a slot; who came first has those that are left, as long as it has a prompt."""
    made, arrivals = desk.Desk(), desk.Arrivals()
    for prompt in ([1, 2, 3, 4, 5, 6], [7, 8]):
        made.submit(desk.Request(prompt, 3, arrivals))
    steps = []
    for words in ([0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 9, 10], [11, 12, 0, 0]):
        tokens, texts, places, *_ = made.exchange(np.array(words, np.int32), ROOM, 23)
        steps.append([*zip(texts.tolist(), places.tolist(), tokens.tolist(), strict=True)])
    assert steps == [
        [(0, 0, 1), (0, 1, 2), (0, 2, 3), (1, 0, 7)],
        [(0, 3, 4), (0, 4, 5), (0, 5, 6), (1, 1, 8)],
        [(0, 6, 9), (1, 2, 10), (-1, 0, 0), (-1, 0, 0)],
        [(0, 7, 11), (1, 3, 12), (-1, 0, 0), (-1, 0, 0)],
    ]


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_leaves_its_slot(
    client: Client, alone: dict[str, str], stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted = []
    submit = desk.DESK.submit

    def recorded(request: Any) -> None:
        if request.prompt == [0, 1]:
            request.limit = 1 << 60  # only who goes away makes room
            submitted.append(request)
        submit(request)

    monkeypatch.setattr(desk.DESK, "submit", recorded)
    connections = []
    for _ in range(SLOTS + 1):
        connection = client.connect()
        body = {"prompt": "ab", "max_tokens": 1000, "temperature": 0, "stream": stream}
        connection.request("POST", "/v1/completions", json.dumps(body))
        connections.append(connection)
        # One after the other: the first of them gets a slot, the last one waits.
        while len(submitted) < len(connections):
            time.sleep(0.001)
    if stream:
        assert connections[0].getresponse().readline().startswith(b"data: ")
    for connection in connections:
        connection.close()
        if connection.sock is not None:
            connection.sock.close()
    assert client.text("eb") == alone["eb"]
    until = time.monotonic() + 60
    while desk.DESK.busy():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_a_stop_ends_the_text_before_it(client: Client, alone: dict[str, str]) -> None:
    text = alone["dfhc"]
    stop = text[4:7]
    answer = client.ask("dfhc", stop=["zz", stop])
    assert answer["choices"][0]["text"] == text[: text.index(stop)]
    assert answer["choices"][0]["finish_reason"] == "stop"
    response = client.send("/v1/completions", prompt="dfhc", temperature=0, stop=stop, stream=True)
    pieces = [*events(response)][:-1]
    assert "".join(p["choices"][0]["text"] for p in pieces) == text[: text.index(stop)]
    assert pieces[-1]["choices"][0]["finish_reason"] == "stop"


def test_draws_belong_to_the_request(client: Client) -> None:
    drawn = {"temperature": 2, "seed": 5, "max_tokens": 40}
    text = client.text("dfhc", **drawn)
    assert client.together(("dfhc",) * 4, **drawn) == [text] * 4
    assert client.text("dfhc", **drawn | {"seed": 6}) != text
    assert client.text("dfhc", **drawn | {"top_p": 0}) == client.text("dfhc", max_tokens=40)
    several = client.ask("dfhc", **drawn | {"n": 3})["choices"]
    assert [choice["index"] for choice in several] == [0, 1, 2]
    assert len({choice["text"] for choice in several}) == 3 and several[0]["text"] == text


def test_chats(client: Client, alone: dict[str, str]) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "dfhc"}]}]
    body = {"messages": messages, "temperature": 0, "max_completion_tokens": 12, "model": "tiny"}
    answer = json.loads(client.send("/v1/chat/completions", **body).read())
    assert answer["object"] == "chat.completion"
    (choice,) = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": alone["dfhc"]}
    assert choice["finish_reason"] == "length"
    assert answer["usage"] == {"prompt_tokens": 4, "completion_tokens": 12, "total_tokens": 16}
    options = {"stream": True, "stream_options": {"include_usage": True}}
    response = client.send("/v1/chat/completions", **body, **options)
    assert response.getheader("Content-Type") == "text/event-stream"
    first, *pieces, last, usage, done = events(response)
    assert first["object"] == "chat.completion.chunk"
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(p["choices"][0]["delta"]["content"] for p in pieces) == alone["dfhc"]
    assert len(pieces) == 12
    assert last["choices"][0] | {"logprobs": 0} == {
        "index": 0, "delta": {}, "logprobs": 0, "finish_reason": "length",
    }  # fmt: skip
    assert usage["usage"] == answer["usage"] and usage["choices"] == [] and done == "[DONE]"


def test_developers_speak_as_the_system_does() -> None:
    """Clients call by that name what the model was trained on as the system's."""
    roles = "developer", "user", "assistant", "system"
    body = {"messages": [{"role": role, "content": "ab"} for role in roles]}
    known = [role for role, _ in endpoint.messages_of(body)]
    assert known == ["system", "user", "assistant", "system"]


@pytest.mark.parametrize("room", sampled([1, 9], "more room", of=2))
def test_the_program_means_what_its_equations_say(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where texts are longer than what is kept; `--verify` compares with the evaluator."""
    options = [word for name, value in DEFINES.items() for word in ("-D", f"{name}={value}")]
    out = tmp_path / "out"
    command = ["compile", str(LLAMA / "serve.rt"), "-o", str(out), "-D", f"C={room}", *options]
    assert status(command) == 0
    save_file(in_file(weights(SIZES["L"])), tmp_path / "params.safetensors")
    for slots, steps in ((2, 7), (1, 1), (3, 12))[: examples(1, long=3)]:
        made = desk.Desk()
        monkeypatch.setattr(desk, "exchange", made.exchange)
        for k, prompt in enumerate((*PROMPTS, *PROMPTS, "ab")):
            ids, limit = Alphabet().encode(prompt), 100 if k > 5 else 2 + k % 3
            made.submit(desk.Request(ids, limit, desk.Arrivals(), float(k % 2), 0.9, k))
        command = ["run", str(out), "--verify", "--bounds", f"T={steps},B={slots}"]
        command += ["--params", str(tmp_path / "params.safetensors"), "--extern-path", str(LLAMA)]
        assert status(command) == 0


def test_models(client: Client) -> None:
    for path in ("/v1/models", "/v1/models/tiny"):
        connection = client.connect()
        connection.request("GET", path)
        named = json.loads(connection.getresponse().read())
        (model,) = named.get("data", [named])
        assert (model["id"], model["object"]) == ("tiny", "model")


MESSAGE = {"role": "user", "content": "ab"}


@pytest.mark.parametrize(
    ("path", "body", "code", "param"),
    [
        ("completions", "{", 400, None),
        ("completions", "[" * 100_000, 400, None),
        ("completions", "[]", 400, None),
        ("completions", {}, 400, "prompt"),
        ("completions", {"prompt": ""}, 400, "prompt"),
        ("completions", {"prompt": []}, 400, "prompt"),
        ("completions", {"prompt": [23]}, 400, "prompt"),
        ("completions", {"prompt": ["ab"] * 129}, 400, "prompt"),
        ("completions", {"prompt": ["ab"] * 2, "n": 65}, 400, "prompt"),
        ("completions", {"prompt": [-1]}, 400, "prompt"),
        ("completions", {"prompt": "ab\ud800"}, 400, None),
        ("completions", {"prompt": "ab", "max_tokens": 0}, 400, "max_tokens"),
        ("completions", {"prompt": "ab", "max_tokens": 1.5}, 400, "max_tokens"),
        ("completions", {"prompt": "ab", "max_tokens": ROOM - 1}, 400, "max_tokens"),
        ("completions", {"prompt": "ab", "temperature": float("nan")}, 400, "temperature"),
        ("completions", {"prompt": "ab", "temperature": "warm"}, 400, "temperature"),
        ("completions", {"prompt": "ab", "top_p": 2}, 400, "top_p"),
        ("completions", {"prompt": "ab", "stop": [""]}, 400, "stop"),
        ("completions", {"prompt": "ab", "stop": 3}, 400, "stop"),
        ("completions", {"prompt": "ab", "n": 0}, 400, "n"),
        ("completions", {"prompt": "ab", "stream": 1}, 400, "stream"),
        ("completions", {"prompt": "ab", "stream_options": {"a": 1}}, 400, "stream_options"),
        ("completions", {"prompt": "ab", "echo": True}, 400, "echo"),
        ("completions", {"prompt": "ab", "colour": "red"}, 400, "colour"),
        ("completions", {"prompt": "ab", "model": "other"}, 404, "model"),
        ("chat/completions", {}, 400, "messages"),
        ("chat/completions", {"messages": [{"role": "x"}]}, 400, "messages[0]"),
        ("chat/completions", {"messages": [{"role": ["user"]}]}, 400, "messages[0]"),
        ("chat/completions", {"messages": [MESSAGE, {"role": "user"}]}, 400, "messages[1]"),
        ("chat/completions", {"messages": [MESSAGE], "tools": [{}]}, 400, "tools"),
        ("chat/completions", {"messages": [MESSAGE | {"content": "a" * ROOM}]}, 400, "max_tokens"),
        ("embeddings", {}, 404, None),
    ],
)
def test_what_is_wrong_is_said_as_clients_expect(
    client: Client, path: str, body: object, code: int, param: str | None
) -> None:
    connection = client.connect()
    text = body if isinstance(body, str) else json.dumps(body)
    connection.request("POST", f"/v1/{path}", text)
    response = connection.getresponse()
    error = json.loads(response.read())["error"]
    assert (response.status, error["param"]) == (code, param)
    assert error["type"] == "invalid_request_error" and error["message"]
    # The connection, and the server, can be used further.
    connection.request("GET", "/v1/models")
    assert connection.getresponse().status == 200


def test_text_is_held_back_until_it_is_certain() -> None:
    class Halves:
        """Each token is a byte."""

        def encode(self, text: str) -> list[int]:
            return [*text.encode()]

        def decode(self, ids: list[int]) -> str:
            return bytes(ids).decode(errors="replace")

    def pieces(text: str, *stops: str) -> tuple[list[str], str]:
        choice = endpoint.Choice(None, Halves(), [*stops])
        shown = []
        for token in text.encode():
            shown.append(choice.add(token))
            if choice.reason:
                break
        return [*shown, choice.end("length")], choice.reason

    assert pieces("aé€") == (["a", "", "é", "", "", "€", ""], "length")
    assert pieces("aé€!", "é€") == (["a", "", "", "", "", "", ""], "stop")
    assert pieces("xxyxxz", "xxz") == (["", "", "xxy", "", "", "", ""], "stop")
    assert pieces("ab", "bc") == (["a", "", "b"], "length")
