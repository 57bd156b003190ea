"""docs/clients.md: every client has its block, and every base URL in it leads somewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from fakeprovider.fitting.client_presets import PRESETS
from fakeprovider.server import Server

PAGE = (Path(__file__).parents[1] / "docs" / "clients.md").read_text()
ACTION = yaml.safe_load((Path(__file__).parents[1] / "action.yml").read_text())
CLIENTS = [
    "Claude Code",
    "Codex",
    "opencode",
    "mini-swe-agent",
    "aider",
    "llm",
    "curl",
    "openai",
    "anthropic",
    "pydantic-ai",
    "openai-agents",
    "LangChain",
    "LiteLLM",
    "inspect-ai",
    "smolagents",
    "AutoGen",
    "Strands",
    "openai (Node)",
    "@anthropic-ai/sdk",
    "Vercel AI SDK",
    "@openai/agents",
    "LangChain.js",
]
URLS = sorted(set(re.findall(r"http://127\.0\.0\.1:8080[^\s\"'`)|\\]*", PAGE)))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def section(client: str) -> str:
    found = re.search(rf"^### {re.escape(client)}\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, client
    return found[1]


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_has_a_block_with_a_base_url(client: str) -> None:
    assert "```" in section(client)
    assert "http://127.0.0.1:8080/plan" in section(client)


def test_there_is_no_section_that_is_no_client() -> None:
    assert re.findall(r"^### (.*)$", PAGE, re.MULTILINE) == CLIENTS


@pytest.mark.parametrize("url", URLS)
def test_each_base_url_leads_somewhere(server: Server, url: str) -> None:
    """Also without /v1; the page of a client's path is that of the endpoint under it."""
    base = url.replace("http://127.0.0.1:8080", server.url).removesuffix("/chat/completions")
    body = {"model": "any", "messages": [{"role": "user", "content": "x"}]}
    reply = httpx.post(f"{base}/chat/completions", json=body, timeout=60)
    expected = 429 if "rate_limited" in url and "turn=0" in url else 200
    assert reply.status_code == expected, reply.text


@pytest.mark.parametrize("client", PRESETS)
def test_each_preset_is_used_on_the_page(client: str) -> None:
    assert f";client={client}/v1" in PAGE or f";client={client}'" in PAGE


def test_clients_that_take_the_url_without_version_get_it_without() -> None:
    for client in ("Claude Code", "anthropic", "@anthropic-ai/sdk"):
        assert "/v1" not in section(client)
    for client in ("openai", "openai (Node)", "Vercel AI SDK", "pydantic-ai"):
        urls = re.findall(r"http://[^\"']*", section(client))
        assert all(url.endswith("/v1") for url in urls)


def test_data_blocks_are_data() -> None:
    for text in blocks("json"):
        assert json.loads(text)
    for text in blocks("yaml"):
        assert yaml.safe_load(text)


def test_the_action_is_called_with_inputs_that_it_has() -> None:
    used: dict[str, Any] = yaml.safe_load(blocks("yaml")[-1])[-1]["with"]
    assert set(used) <= set(ACTION["inputs"])
    required = {name for name, one in ACTION["inputs"].items() if one.get("required")}
    assert required <= set(used)


def test_the_page_has_no_place_of_an_action_that_nobody_has_published() -> None:
    """A local path, the runner's own actions, or words that are plainly to be filled in."""
    found = re.findall(r"uses: ([^\s`]+)", PAGE.partition("\n## GitHub Actions\n")[2])
    known = ("./", "actions/", "your-organisation/your-repository@COMMIT")
    assert found
    assert all(one.startswith(known) for one in found)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_block_runs(server: Server) -> None:
    command = re.findall(r"```sh\n(.*?)```", section("curl"), re.DOTALL)[0]
    told = subprocess.run(
        ["sh", "-c", command.replace("http://127.0.0.1:8080", server.url)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(told.stdout)["object"] == "chat.completion"
