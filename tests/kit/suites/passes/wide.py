from contextlib import ExitStack

import httpx
import pytest
from agents import agent


@pytest.fixture(scope="module")
def wide(fake_provider):
    with fake_provider.run("runaway", environ=False) as run:
        yield run


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


def test_a_wide_run_stays_open(wide):
    assert agent(url=wide.base_url, cap=2) == "gave up"


def test_a_wide_run_is_still_open(wide, fake_provider, stack):
    stack.enter_context(fake_provider.run(["done"]))
    assert agent(url=wide.base_url, cap=2) == "gave up"
    assert agent() == "done"
    wide.assert_turns(2, 4)


def test_after_the_block_nothing_is_answered(fake_provider):
    with fake_provider.run("runaway") as run:
        agent(cap=1)
    with pytest.raises(httpx.HTTPStatusError, match="400"):
        agent(url=run.base_url)
