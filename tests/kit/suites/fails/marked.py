import pytest
from agents import agent


@pytest.mark.fake_provider("plan;client=", fault=None)
def test_bad_parameter():
    agent()


@pytest.mark.fake_provider("plan")
def test_marked_without_a_request():
    pass


@pytest.mark.fake_provider("runaway")
def test_env_only():
    assert agent(cap=3) == "gave up"


@pytest.mark.fake_provider(["done", "unused"])
def test_unused():
    agent()


@pytest.mark.fake_provider("runaway", fault="rate_limited,turn=1,times=1,retry_after=0")
def test_run(fake_run):
    with pytest.raises(Exception, match="429"):
        agent()
    assert fake_run.requests[-1].fault == "rate_limited"


def test_unmarked(fake_run):
    pass
