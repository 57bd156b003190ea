import os

import pytest
from agents import agent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def test_left_open(fake_provider):
    run = fake_provider.run(["done", "never"]).__enter__()
    fake_provider.run("runaway").__enter__()
    assert agent(url=run.base_url) == "done"


def test_the_environment_is_put_back():
    assert "LLM_BASE_URL" not in os.environ
    assert "FAKEPROVIDER_RUN" not in os.environ


def test_never_opened(fake_provider):
    assert agent(url=fake_provider.run(["done"]).base_url) == "done"


@settings(
    max_examples=5,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers())
def test_examples_left_open(fake_provider, number):
    fake_provider.run("plan", key="example", in_process=True).__enter__()


@pytest.fixture
def careless(fake_provider):
    return fake_provider.run("plan", check=False).__enter__()


def test_with_a_careless_fixture(careless):
    agent()
