"""Money: exact, and unknown is never nothing."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness.budget.charging import Price, PriceTable, cost, inconsistent
from fakeprovider_harness.models import Usage
from fakeprovider_harness.models.base import inclusive

PRICE = Price("10", "30", cached="1", cache_write="12.5")
BENCH = Price("2.00", "12.00")


def test_both_ways_of_counting_cost_the_same() -> None:
    one, _ = inclusive(100_000, 1_000, cached=80_000)
    other, _ = inclusive(20_000 + 80_000, 1_000, cached=80_000, written=0)
    assert cost(one, PRICE) == cost(other, PRICE) == Decimal("0.31")
    assert one.prompt_tokens == other.prompt_tokens == 100_000


@pytest.mark.parametrize(
    ("prompt", "completion", "usd"),
    [(815, 70, "0.00247"), (88_649, 1_150, "0.191098"), (337_299, 2_300, "0.702198")],
)
def test_the_reference_figures_come_out_exactly(prompt: int, completion: int, usd: str) -> None:
    assert cost(Usage(prompt, completion), BENCH) == Decimal(usd)
    assert BENCH.cost(Usage(prompt, completion)) == Decimal(usd)


def test_cache_reads_and_writes_have_their_own_prices() -> None:
    usage = Usage(1_000_000, 0, cached_tokens=300_000, cache_write_tokens=200_000)
    assert cost(usage, PRICE) == Decimal("5") + Decimal("0.3") + Decimal("2.5")


def test_unknown_cache_prices_bound_the_bill_from_above() -> None:
    usage = Usage(1_000_000, 0, cached_tokens=300_000, cache_write_tokens=200_000)
    assert cost(usage, Price("10", "30")) == Decimal("5") + Decimal("3") + Decimal("4")


def test_an_impossible_discount_is_not_believed() -> None:
    usage = Usage(100, 0, cached_tokens=120)
    assert inconsistent(usage)
    assert cost(usage, PRICE) == 120 * Decimal("10") / 1_000_000
    normal, notes = inclusive(100, 0, cached=120)
    assert normal.estimated
    assert notes
    assert cost(normal, PRICE) == cost(usage, PRICE)


_TOKENS = st.integers(0, 10_000_000)
_AMOUNT = st.decimals(0, 1000, places=4)


@settings(max_examples=200, deadline=None)
@given(_TOKENS, _TOKENS, _TOKENS, _TOKENS, _AMOUNT, _AMOUNT)
def test_no_usage_costs_less_than_nothing_or_than_its_output(
    prompt: int, completion: int, cached: int, written: int, input: Decimal, output: Decimal
) -> None:
    price = Price(input, output)
    total = cost(Usage(prompt, completion, cached, written), price)
    assert total >= completion * output / 1_000_000
    assert total >= prompt * input / 1_000_000


def test_amounts_are_exact_or_refused() -> None:
    assert Price("0.10", 2) == Price(Decimal("0.1"), "2.0")
    with pytest.raises(TypeError, match="not exact"):
        Price(0.1, "2")  # type: ignore[arg-type]
    for wrong in ("-1", "nan", "cheap", "inf"):
        with pytest.raises(ValueError, match="price input"):
            Price(wrong, "2")


def test_a_price_reads_as_it_is_written() -> None:
    assert repr(PRICE) == "Price(input='10', output='30', cached='1', cache_write='12.5')"
    assert eval(repr(PRICE)) == PRICE
    assert len({PRICE, eval(repr(PRICE)), BENCH}) == 2


# ---------------------------------------------------------------- the table


def test_an_unknown_model_has_no_price_however_near_its_name() -> None:
    table = PriceTable({"fake-4-1": BENCH})
    assert table.get("fake-4-1") == BENCH
    assert table.get("fake-4.1") is None
    assert "fake-4-1" in table.missing("fake-4.1")
    assert "no price" in table.missing("other")


def test_a_fallback_is_used_only_if_it_is_given() -> None:
    table = PriceTable({"a": BENCH}, fallback=PRICE)
    assert (table.get("a"), table.get("b")) == (BENCH, PRICE)


def test_the_empty_table_prices_nothing() -> None:
    assert PriceTable().get("gpt") is None
    assert list(PriceTable()) == []


TOML = """
as_of = 2026-01-31
source = "https://prices.test"
[models."m-1"]
input = 0.1
output = "12.00"
cached = 0.01
[fallback]
input = 5
output = 25
"""


def test_a_file_is_read_exactly_and_says_where_it_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(TOML)
    table = PriceTable.load(path)
    assert table.get("m-1") == Price("0.1", "12", cached="0.01")
    assert table.get("other") == Price(5, 25)
    assert (table.as_of, table.source, list(table)) == (
        "2026-01-31",
        "https://prices.test",
        ["m-1"],
    )


def test_a_json_file_does_too(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text('{"as_of":"2026","source":"s","models":{"m":{"input":0.1,"output":2}}}')
    assert PriceTable.load(path).get("m") == Price("0.1", 2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"models":{"m":{"input":1,"output":2}}}', "as_of"),
        ('{"as_of":"2026","models":{"m":{"input":1,"output":2}}}', "source"),
        ('{"as_of":"2026","source":"s","models":{"m":{"input":1}}}', "m: .*output"),
        ('{"as_of":"2026","source":"s","models":{"m":{"input":"x","output":2}}}', "m: .*input"),
        ('{"as_of":"2026","source":"s","models":{"m":7}}', "m: "),
        ('{"as_of":"2026","source":"s","models":[1]}', "models"),
        ("[]", "object"),
        ("{", "prices.json"),
    ],
)
def test_a_file_that_lacks_something_names_it(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=says):
        PriceTable.load(path)
