import pytest
from test_anyio import asked


@pytest.mark.asyncio
@pytest.mark.fake_provider(["done"])
async def test_asyncio(fake_run):
    assert await asked(fake_run) == "done"
