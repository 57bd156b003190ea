import httpx
import pytest

BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


async def asked(run):
    transport = run.transport if run.in_process else None
    async with httpx.AsyncClient(transport=transport, timeout=60) as client:
        found = await client.post(run.base_url + "/chat/completions", json=BODY)
    return found.json()["choices"][0]["message"]["content"]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("in_process", [True, False])
async def test_anyio(fake_provider, in_process):
    with fake_provider.run(["done"], in_process=in_process) as run:
        assert await asked(run) == "done"


@pytest.mark.anyio
@pytest.mark.fake_provider(["done"])
async def test_anyio_marked(fake_run):
    assert await asked(fake_run) == "done"


def test_a_run_over_a_socket_has_no_transport(fake_provider):
    with (
        fake_provider.run(["done"], check=False) as run,
        pytest.raises(RuntimeError, match="in_process=True"),
    ):
        run.transport.end()
