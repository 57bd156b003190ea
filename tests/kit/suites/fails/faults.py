import pytest
from agents import agent


def test_not_streamed(fake_provider):
    with fake_provider.run("plan", fault="cut,turn=1"):
        agent()


def test_turn_never_asked_for(fake_provider):
    with fake_provider.run("plan;fault=rate_limited,turn=9"):
        agent()


def test_the_second_of_one_name(fake_provider):
    twice = ["empty_reply,turn=0", "empty_reply,turn=5-7"]
    with fake_provider.run("runaway", fault=twice):
        agent(cap=1)


@pytest.mark.fake_provider("plan", fault="count_missing")
def test_nothing_counted():
    agent()


def test_may_miss(fake_provider):
    with fake_provider.run("plan", fault="rate_limited,turn=9", must_strike=False):
        agent()
