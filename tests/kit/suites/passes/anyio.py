import httpx
import pytest

BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


async def asked(run):
    async with httpx.AsyncClient(transport=run.transport) as client:
        found = await client.post(run.base_url + "/chat/completions", json=BODY)
    async with httpx.AsyncClient(timeout=60) as client:
        over = await client.post(run.base_url + "/chat/completions", json=BODY)
    assert found.json() == over.json()
    return found.json()["choices"][0]["message"]["content"]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_anyio(fake_provider):
    with fake_provider.run(["done"]) as run:
        assert await asked(run) == "done"


@pytest.mark.anyio
@pytest.mark.fake_provider(["done"])
async def test_anyio_marked(fake_run):
    assert await asked(fake_run) == "done"
