"""A run of the suites as one page of HTML, for people, without scripts or other files."""

import base64
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from sabot.html import as_text, page
from sabot_hil.report.limits import BOARD, EMULATOR, LIMITS
from sabot_hil.report.results import Comparison, Measurement, Result, SuiteRun

FILE = "report.html"
_WORD_BYTES = 4


def write_page(run: SuiteRun, folder: Path) -> None:
    """Write `report.html`. Raises OSError."""
    (folder / FILE).write_text(render_page(run))


def render_page(run: SuiteRun) -> str:
    """Return the whole page."""
    failed = [result for result in run.results if result.outcome == "failed"]
    stopped = [result for result in run.results if result.outcome == "stopped"]
    skipped = [result for result in run.results if result.outcome == "skipped"]
    title = f"Test bench: {run.about.get('Target', 'a shoe')}"
    body = (
        f"<h1>{as_text(title)}</h1>",
        _html_verdict(run),
        _html_table("", (), run.about.items(), "facts"),
        *(_summary(result) for result in run.results),
        _comparisons(run.comparisons),
        _measurements(run.measurements),
        _limits(run.measurements),
        *(_failure(result) for result in failed),
        _html_table("Stopped", ("Test", "Why"), ((_short(r.test), r.reason) for r in stopped)),
        _html_table(
            "Not tested here", ("Test", "Why"), ((_short(r.test), r.reason) for r in skipped)
        ),
        _html_table("All tests", ("Test", "Result", "Took"), map(_result_row, run.results)),
    )
    return page(title, _STYLE, body, images=True)


_STYLE = """
:root { color-scheme: light; }
body { font: 10pt/1.4 "Helvetica Neue", Arial, "Liberation Sans", sans-serif; color: #111;
  background: #fff; margin: 1em auto; max-width: 260mm; padding: 0 4mm; }
h1 { font-size: 18pt; margin: 0 0 .4em; } h2 { font-size: 13pt; margin: 1.6em 0 .4em; }
.verdict { border: 3px solid; border-radius: 4px; padding: .4em .7em; margin: .6em 0;
  font-size: 15pt; font-weight: bold; }
.verdict small { display: block; font-size: 10pt; font-weight: normal; color: #111; }
.good { color: #14602e; border-color: #14602e; background: #eef8f0; }
.bad { color: #a01010; border-color: #a01010; background: #fdeeee; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 2px 8px 2px 0;
  border-bottom: 1px solid #ccc; overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid #111; }
.facts th, .summary th { width: 14em; font-weight: normal; color: #444; }
.summary th { width: 36em; }
td.number { text-align: right; white-space: nowrap; }
pre { font: 8.5pt/1.35 "DejaVu Sans Mono", "Liberation Mono", monospace; background: #f5f5f5;
  padding: .6em; overflow-x: auto; max-height: 28em; }
img { max-width: 100%; height: auto; } code { font-size: 9.5pt; background: #f5f5f5; }
.failed { color: #a01010; font-weight: bold; } .skipped, .stopped { color: #92400e; }
.passed { color: #14602e; }
svg.gauge { width: 160px; height: 12px; }
@page { size: A4 landscape; margin: 12mm; }
@media print { pre { max-height: none; white-space: pre-wrap; } tr, img { break-inside: avoid; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } }
"""


def _html_verdict(run: SuiteRun) -> str:
    failed, stopped = run.counted("failed"), run.counted("stopped")
    counts = f"{run.counted('passed')} passed, {failed} failed, "
    counts += f"{stopped} stopped, " if stopped else ""
    counts += f"{run.counted('skipped')} not tested here"
    if run.unfinished:
        why = as_text(run.unfinished)
        return f'<p class="verdict bad">Not judged to the end<small>{why}; {counts}</small></p>'
    if failed:
        return f'<p class="verdict bad">Not to be accepted<small>{counts}</small></p>'
    if not run.counted("passed"):
        return f'<p class="verdict bad">Nothing was tested<small>{counts}</small></p>'
    return f'<p class="verdict good">No test failed<small>{counts}</small></p>'


def _summary(result: Result) -> str:
    return _html_table(_short(result.test).capitalize(), (), result.summary, "summary")


def _comparisons(compared: Sequence[Comparison]) -> str:
    rows = "".join(
        f"<tr><td>{as_text(each.name)}</td>"
        f'<td class="number">{each.measured:,.6g} {as_text(each.unit)}</td>'
        f'<td class="number">{each.emulated:,.6g} ± {each.within:g}</td>'
        f'<td class="{"passed" if each.agrees else "failed"}">{as_text(each.verdict)}</td></tr>'
        for each in compared
    )
    if not rows:
        return ""
    titles = ("What", "Measured here", "Emulator", "What follows")
    head = "<tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>"
    return (
        "<h2>What the emulator assumes</h2>"
        f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    )


def _measurements(measured: Sequence[tuple[str, Measurement]]) -> str:
    if not measured:
        return ""
    rows = "".join(
        f"<tr><td>{as_text(each.name)}</td>"
        f'<td class="number {"passed" if each.good else "failed"}">'
        f"{each.value:,.6g} {as_text(each.unit)}</td><td>{_gauge(each)}</td>"
        f"<td>{as_text(each.limits) or '–'}</td><td>{each.left or '–'}</td>"
        f"<td><small>{as_text(_short(test))}</small></td></tr>"
        for test, each in measured
    )
    titles = ("What", "Measured", "", "Allowed", "Left", "Test")
    head = "<tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>"
    return f"<h2>Measurements</h2><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _limits(measured: Sequence[tuple[str, Measurement]]) -> str:
    """The limits that were looked at, and where each was ever measured."""
    names = [each.name for _, each in measured if each.limits]
    rows = [row for row in LIMITS if any(name.startswith(row.what) for name in names)]
    titles = ("What", f"On the {EMULATOR}", f"On a {BOARD}", "Last measured")
    return _html_table(
        "Limits, and where they were measured",
        titles,
        (
            (row.what, f"{row.emulated:,g} {row.unit}", f"{row.board:,g} {row.unit}", row.measured)
            for row in rows
        ),
    )


def _gauge(each: Measurement) -> str:
    """Draw a figure as a bar; the line at two thirds is its limit."""
    limit = each.at_most if each.at_most is not None else each.at_least
    if not limit or limit < 0:
        return ""
    share = min(max(each.value / limit, 0.0), 1.5) / 1.5 * 160
    color = "#14602e" if each.good else "#a01010"
    return (
        '<svg class="gauge" viewBox="0 0 160 12" role="img" aria-label="against its limit">'
        '<rect width="160" height="12" fill="#eee"/>'
        f'<rect width="{share:.1f}" height="12" fill="{color}"/>'
        '<path d="M106.7 0V12" stroke="#111" stroke-width="2"/></svg>'
    )


def _failure(result: Result) -> str:
    parts = [f"<h2>Failed: {as_text(_short(result.test))}</h2>"]
    parts.append(f'<p class="failed">{as_text(result.reason)}</p>')
    parts.append(f"<p>To repeat the test: <code>{as_text(result.repeat)}</code></p>")
    if result.passes:
        parts.append("<p>The passes before it, the last one at the bottom:</p>")
        parts.append(_waveforms(result.passes))
    if result.link:
        parts.append(f"<p>The messages on the link before it:</p>{_link_lines(result.link)}")
    test = _link_lines(result.detail.splitlines())
    parts.append(f"<details><summary>The test</summary>{test}</details>")
    return "\n".join(parts)


def _link_lines(lines: Iterable[str]) -> str:
    return "<pre>" + "\n".join(map(as_text, lines)) + "</pre>"


def _waveforms(passes: Iterable[tuple[int, str]]) -> str:
    from sabot.service import picture  # with NumPy, a fifth of the time that a run takes to start

    recordings = []
    for t_us, text in passes:
        samples = base64.b64decode(text)
        samples += bytes(-len(samples) % _WORD_BYTES)
        recordings.append((f"{t_us / 1e6:.6f} s: {_pass_read_as(samples)}", samples))
    shown = base64.b64encode(picture.png(recordings)).decode()
    return f'<img alt="sensor levels over time" src="data:image/png;base64,{shown}">'


def _pass_read_as(samples: bytes) -> str:
    """Return how the firmware's reader reads the samples, as card set 0."""
    from sabot.sim.replay import replay

    with tempfile.NamedTemporaryFile(suffix=".samples") as recording:
        recording.write(samples)
        recording.flush()
        read = list(replay(Path(recording.name), 0)) if samples else []
    return ", ".join(str(each.card or each.fault) for each in read) or "no pass"


def _result_row(result: Result) -> tuple[str, str, str]:
    return _short(result.test), result.outcome, f"{result.seconds:.1f} s"


def _short(test: str) -> str:
    """Return a test's name as a sentence."""
    return test.rpartition("::")[2].removeprefix("test_").replace("_", " ")


def _html_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], kind: str = ""
) -> str:
    lines = []
    for first, *others in rows:
        begin = f"<th>{as_text(first)}</th>" if kind else f"<td>{as_text(first)}</td>"
        cells = "".join(f'<td class="{as_text(o)}">{as_text(o)}</td>' for o in others)
        lines.append(f"<tr>{begin}{cells}</tr>")
    if not lines:
        return ""
    head = "".join(f"<th>{as_text(column)}</th>" for column in columns)
    return (
        (f"<h2>{as_text(title)}</h2>" if title else "")
        + f'<table class="{kind}">'
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + f"<tbody>{''.join(lines)}</tbody></table>"
    )
