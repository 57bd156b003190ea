"""The page for a person: the scripts with base URLs to copy, and the journal as it grows."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from fakeprovider.scripts import Script, describe

_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.n, th.n { text-align: right; } code { font: 13px ui-monospace, monospace; }
button { font: inherit; font-size: 12px; padding: 0 .5rem; cursor: pointer; }
.wide { overflow-x: auto; } .bad { color: #c0392b; } .note { color: #b7791f; }
.quiet { opacity: .65; } input { font: inherit; padding: .1rem .4rem; }
"""

_SCRIPT = """
const body = document.querySelector('#journal tbody'), state = document.querySelector('#state');
const run = document.querySelector('#run');
document.addEventListener('click', event => {
  if (event.target.dataset.copy) {
    navigator.clipboard.writeText(event.target.dataset.copy);
    event.target.textContent = 'copied';
    setTimeout(() => { event.target.textContent = 'copy'; }, 1000);
  }
});
const cell = (text, kind) => {
  const made = document.createElement('td');
  made.textContent = text ?? '';
  if (kind) made.className = kind;
  return made;
};
function row(one) {
  const made = document.createElement('tr');
  const usage = one.usage ?? {};
  const wrong = [one.error, ...(one.violations ?? []).map(v => v.detail)].filter(Boolean);
  const notes = (one.notes ?? []).map(note => `${note.rule}: ${note.detail}`);
  made.append(cell(one.number, 'n'), cell(one.run), cell(one.script), cell(one.turn, 'n'),
    cell(one.protocol + (one.stream ? ', streamed' : '')),
    cell(one.cancelled ? 'broken off' : one.status, one.status >= 400 ? 'bad' : ''),
    cell((one.tools ?? []).join(', ') || one.finish), cell(usage.prompt_tokens, 'n'),
    cell(usage.completion_tokens, 'n'), cell(one.fault, 'note'),
    cell([...new Set([...wrong, ...notes])].join('; '), wrong.length ? 'bad' : 'note'));
  return made;
}
let shown = '';
async function look() {
  try {
    const only = run.value ? '&run=' + encodeURIComponent(run.value) : '';
    const text = await (await fetch('_journal?last=200' + only)).text();
    if (text !== shown) {
      shown = text;
      const all = JSON.parse(text).exchanges;
      body.replaceChildren(...all.reverse().map(row));
      state.textContent = all.length < 200 ? `${all.length} exchanges` : 'the last 200 exchanges';
    }
  } catch (error) {
    state.textContent = 'the provider does not answer';
  }
  setTimeout(look, 1000);
}
run.addEventListener('input', () => { shown = ''; });
look();
"""

_HEADINGS = (
    ("#", "n"),
    ("run", ""),
    ("script", ""),
    ("turn", "n"),
    ("protocol", ""),
    ("status", ""),
    ("called", ""),
    ("in", "n"),
    ("out", "n"),
    ("fault", ""),
    ("what to know", ""),
)


def page(base: str, scripts: Mapping[str, Script]) -> str:
    """The page as HTML. `base` is where the server is, ending in a slash."""
    rows = "\n".join(_script_row(base, name, script) for name, script in scripts.items())
    headings = "".join(f'<th class="{kind}">{name}</th>' for name, kind in _HEADINGS)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>fakeprovider</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{_STYLE}</style></head><body>
<h1>fakeprovider</h1>
<p>A scripted fake LLM provider. Give a client one of these as its base URL, and any key.
Anthropic's own SDK and Claude Code take it without <code>/v1</code>; a run key in front, as in
<code>{escape(base)}~mytest/plan/v1</code>, keeps runs apart.</p>
<h2>Scripts</h2>
<table><tbody>
{rows}
</tbody></table>
<h2>Journal</h2>
<p><label>run <input id="run" placeholder="all"></label>
<span id="state" class="quiet"></span></p>
<div class="wide"><table id="journal">
<thead><tr>{headings}</tr></thead><tbody></tbody></table></div>
<script>{_SCRIPT}</script>
</body></html>
"""


def plain(base: str, scripts: Mapping[str, Script]) -> str:
    """The same for a terminal: the base URLs."""
    urls = "\n".join(f"  {base}{name}/v1" for name in scripts)
    return f"A scripted fake LLM provider. Base URLs:\n\n{urls}\n"


def _script_row(base: str, name: str, script: Script) -> str:
    url = escape(f"{base}{name}/v1", quote=True)
    return (
        f"<tr><td><b>{escape(name)}</b></td><td>{escape(describe(script))}</td>"
        f'<td><code>{url}</code> <button data-copy="{url}">copy</button></td></tr>'
    )
