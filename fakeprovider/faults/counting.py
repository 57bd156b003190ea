"""What `count_tokens` may say other than the count."""

from __future__ import annotations

from fakeprovider.faults.kind import Kind, Param, Values

_DIALECTS = frozenset({"messages", "responses"})


def _missing(count: int, values: Values) -> int | None:
    return None


def _scaled(count: int, values: Values) -> int | None:
    return round(count * float(values["factor"]))


def _more(count: int, values: Values) -> int | None:
    return count + int(values["tokens"])


KINDS = (
    Kind(
        name="count_missing",
        group="counting",
        line="404: this service does not count tokens.",
        source="lmstudio-ai/lmstudio-bug-tracker#2055",
        dialects=_DIALECTS,
        count=_missing,
    ),
    Kind(
        name="count_scaled",
        group="counting",
        line="The count is an estimate, and says nothing of it.",
        source="BerriAI/litellm#37102, router-for-me/CLIProxyAPI#679",
        params=(Param("factor", 0.55, "what the count is multiplied by", most=100),),
        dialects=_DIALECTS,
        count=_scaled,
    ),
    Kind(
        name="count_more",
        group="counting",
        line="The count is too high.",
        source="router-for-me/CLIProxyAPI#4104",
        params=(Param("tokens", 2000, "how much too high"),),
        dialects=_DIALECTS,
        count=_more,
    ),
)
