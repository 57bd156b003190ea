"""Counts of tokens that are missing or wrong."""

from __future__ import annotations

from fakeprovider.faults.kind import BLOCKS, ITEMS, Param, Values
from fakeprovider.faults.registry import fault


@fault(
    "count_missing",
    hook="count",
    group="counting",
    line="404: this service does not count tokens.",
    source="lmstudio-ai/lmstudio-bug-tracker#2055",
    shapes=BLOCKS | ITEMS,
)
def _count_missing(count: int, values: Values) -> int | None:
    return None


@fault(
    "count_scaled",
    hook="count",
    group="counting",
    line="The count is an estimate, and says nothing of it.",
    source="BerriAI/litellm#37102, router-for-me/CLIProxyAPI#679",
    params=(Param("factor", 0.55, "what the count is multiplied by", most=100),),
    shapes=BLOCKS | ITEMS,
)
def _scaled(count: int, values: Values) -> int | None:
    return round(count * float(values["factor"]))


@fault(
    "count_more",
    hook="count",
    group="counting",
    line="The count is too high.",
    source="router-for-me/CLIProxyAPI#4104",
    params=(Param("tokens", 2000, "how much too high"),),
    shapes=BLOCKS | ITEMS,
)
def _more(count: int, values: Values) -> int | None:
    return count + int(values["tokens"])
