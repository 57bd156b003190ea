import os

from agents import agent


def test_it(fake_provider, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "before")
    monkeypatch.delenv("LLM_BASE_URL", raising=False)
    with fake_provider.run("runaway") as run:
        assert os.environ["LLM_BASE_URL"] == run.base_url
        assert os.environ["OPENAI_BASE_URL"] == run.base_url
        assert os.environ["ANTHROPIC_BASE_URL"] + "/v1" == run.base_url
        assert run.anthropic_base_url + "/v1" == run.base_url
        assert agent(cap=4) == "gave up"
        run.assert_turns(4)
        run.assert_turns(3, 5)
        run.assert_called("list_files", times=4)
        run.assert_no_violations()
        assert [one.turn for one in run.requests] == [0, 1, 2, 3]
        assert run.usage.prompt_tokens == sum(one.usage.prompt_tokens for one in run.requests)
        clauses = {one.clause: one.result for one in run.verdict()}
        assert clauses["history"] == "pass"
    assert os.environ["OPENAI_BASE_URL"] == "before"
    assert "LLM_BASE_URL" not in os.environ
