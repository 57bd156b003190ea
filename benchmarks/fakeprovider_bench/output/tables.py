"""A report in text: the cells of its rows, JSON, CSV, Markdown, and the lines under the table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from decimal import Decimal

import msgspec

from fakeprovider_bench.growth import Growth
from fakeprovider_bench.report import Report, Row, StopCell

HEADERS = (
    "policy",
    "turns",
    "tools",
    "input",
    "output",
    "cost",
    "×",
    "over",
    "last",
    "status",
    "stop",
)
CSV_HEADERS = (
    "scenario",
    "harness",
    "policy",
    "turns",
    "tool_runs",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "overshoot",
    "last_prompt",
    "status",
    "stop",
    "answer",
    "estimated",
    "run_id",
    "extra",
)
NUMERIC = frozenset(HEADERS[1:9])
ESTIMATED = (
    "~ estimated, at the most it can have been: a request was sent and its reply never came, or "
    "came without usage."
)


def to_json(report: Report) -> str:
    """The documented JSON form, indented."""
    return msgspec.json.format(msgspec.json.encode(report.to_data()), indent=1).decode()


def to_csv(report: Report, *, header: bool = True) -> str:
    """A header line (left out for a report that follows another) and a line per policy."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if header:
        writer.writerow(CSV_HEADERS)
    for row in report.rows:
        writer.writerow(_csv_cells(report, row))
    return out.getvalue()


def to_markdown(report: Report) -> str:
    """A pipe table, the growth line and the notes."""
    headers = headers_of(report)
    rule = ["---:" if header in NUMERIC else "---" for header in headers]
    lines = [_pipes(headers), _pipes(rule)]
    lines += [_pipes(cells(row, report)) for row in report.rows]
    return "\n".join([*lines, "", *summary(report)]) + "\n"


def headers_of(report: Report) -> tuple[str, ...]:
    """The common headers, and what this scenario's rows measure beyond them."""
    return (*HEADERS, *dict.fromkeys(name for row in report.rows for name in row.extra))


def cells(row: Row, report: Report) -> tuple[str, ...]:
    """The row as text, one cell per header; the ratio is to the first row's cost."""
    more = headers_of(report)[len(HEADERS) :]
    return (*_common(row, report.rows[0]), *(_extra(row.extra.get(name)) for name in more))


def _extra(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _common(row: Row, first: Row) -> tuple[str, ...]:
    mark = mark_of(row)
    compared = ratio(row.cost_usd, first.cost_usd)
    return (
        row.policy,
        str(row.turns),
        "n/o" if row.tool_runs is None else str(row.tool_runs),
        f"{mark}{row.input_tokens:,}",
        f"{mark}{row.output_tokens:,}",
        cost(row),
        f"~{compared}" if compared != "-" and (row.estimated or first.estimated) else compared,
        _overshoot(row.stop),
        f"{row.last_prompt:,}",
        row.status or "n/o",
        _stop(row.stop),
    )


def mark_of(row: Row) -> str:
    """`~` before a figure that holds an estimate."""
    return "~" if row.estimated else ""


def cost(row: Row) -> str:
    """What a row cost, marked where that is an estimate."""
    return usd(None) if row.cost_usd is None else mark_of(row) + usd(row.cost_usd)


def usd(amount: Decimal | None) -> str:
    """Dollars to the last digit charged, without trailing zeros beyond the cent."""
    if amount is None:
        return "unknown"
    text = f"{amount:f}"
    whole, _, digits = text.partition(".")
    return f"${whole}.{digits.rstrip('0').ljust(2, '0')}"


def ratio(value: Decimal | None, base: Decimal | None) -> str:
    """`value` over `base` to two digits; a dash where there is nothing to divide by."""
    if value is None or not base:
        return "-"
    return f"{value / base:.2f}"


def summary(report: Report) -> list[str]:
    """The lines under the table: growth, the shape of the prompts, notes."""
    lines = []
    growth, longest = report.growth(), report.longest()
    if growth is not None and longest is not None:
        lines.append(growth_line(growth, longest, report))
    if longest is not None and longest.turns > 1:
        lines.append(
            f"prompt per turn ({longest.policy}): {sparkline(longest.prompt_tokens)}"
            f" {longest.prompt_tokens[0]:,} → {longest.last_prompt:,} tokens"
        )
    return [*lines, *footnotes(report), *report.notes]


def footnotes(report: Report) -> list[str]:
    """What the marks in the table mean, where there are any."""
    return [ESTIMATED] if any(row.estimated for row in report.rows) else []


def growth_line(growth: Growth, row: Row, report: Report) -> str:
    """The growth of `row` in words; what doubling would cost comes from the fit."""
    n = growth.turns
    if not row.grows:
        return (
            f"growth ({row.policy}): exponent {growth.exponent:.2f}; prompts shrink on the way, so "
            "what more turns cost is on no line"
        )
    doubled = growth.total(2 * n)
    text = (
        f"growth ({row.policy}): input ≈ {growth.a:,.1f}·n + {growth.b:,.2f}·n²,"
        f" exponent {growth.exponent:.2f}, residual {growth.residual:.2f} tokens a turn;"
        f" {n} → {2 * n} turns ≈ {doubled:,.0f} input tokens"
    )
    if growth.total(n) > 0:
        text += f" ({doubled / growth.total(n):.1f}×)"
    cost = report.cost(Decimal(round(doubled)), Decimal(2 * row.output_tokens))
    if cost is not None and row.cost_usd:
        text += f", ≈ ${cost:.2f} ({cost / row.cost_usd:.1f}×)"
    return text


def _csv_cells(report: Report, row: Row) -> list[object]:
    stop = row.stop
    return [
        report.scenario,
        report.harness,
        row.policy,
        row.turns,
        "" if row.tool_runs is None else row.tool_runs,
        row.input_tokens,
        row.output_tokens,
        "" if row.cost_usd is None else f"{row.cost_usd:f}",
        "" if stop is None or stop.overshoot is None else stop.overshoot,
        row.last_prompt,
        row.status or "",
        "" if stop is None else stop.kind,
        row.answer or "",
        str(row.estimated).lower(),
        row.run_id or "",
        msgspec.json.encode(row.extra).decode() if row.extra else "",
    ]


def _overshoot(stop: StopCell | None) -> str:
    if stop is None or stop.overshoot is None:
        return "-"
    if isinstance(stop.overshoot, Decimal):
        return usd(stop.overshoot)
    return f"{stop.overshoot:,}" if isinstance(stop.overshoot, int) else f"{stop.overshoot:.3g}"


def _stop(stop: StopCell | None) -> str:
    if stop is None:
        return "-"
    return stop.kind


def _pipes(row: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |"


BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[int], width: int = 24) -> str:
    """Draw `values` from zero to their maximum in at most `width` characters."""
    if not values:
        return ""
    picked = _sample(values, width)
    scale = len(BLOCKS) / (max(*picked, 0) + 1)
    return "".join(BLOCKS[int(value * scale)] for value in picked)


def _sample(values: Sequence[int], width: int) -> Sequence[int]:
    if len(values) <= width:
        return values
    step = (len(values) - 1) / (width - 1)
    return [values[round(i * step)] for i in range(width)]
