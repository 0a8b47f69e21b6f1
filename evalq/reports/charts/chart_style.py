"""The style sheet of all charts: blue and orange with symbols, for light, dark and print."""

_LIGHT = """\
--ch-ink:#1b1f24;--ch-quiet:#57606a;--ch-grid:#d8dee4;--ch-paper:#ffffff;
--ch-good:#0b5cad;--ch-bad:#b34700;"""
_DARK = """\
--ch-ink:#e6e9ed;--ch-quiet:#a3adb8;--ch-grid:#3a424c;--ch-paper:#14171c;
--ch-good:#6cb2ff;--ch-bad:#ffa657;"""

CHART_CSS = f"""\
.chart{{{_LIGHT}max-width:100%;height:auto;font:13px system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}}
@media (prefers-color-scheme:dark){{.chart{{{_DARK}}}}}
:root[data-theme=light] .chart{{{_LIGHT}}}
:root[data-theme=dark] .chart{{{_DARK}}}
@media print{{.chart{{{_LIGHT}}}}}
.chart text{{fill:var(--ch-ink)}}
.chart .ch-quiet{{fill:var(--ch-quiet)}}
.chart .ch-small{{fill:var(--ch-quiet);font-size:11px}}
.chart .ch-label{{stroke:var(--ch-paper);stroke-width:3px;paint-order:stroke}}
.chart .ch-problem{{fill:var(--ch-bad)}}
.chart .ch-grid{{stroke:var(--ch-grid);stroke-width:1}}
.chart .ch-axis{{stroke:var(--ch-quiet);stroke-width:1}}
.chart .ch-range{{fill:var(--ch-good);fill-opacity:.35}}
.chart .ch-point{{fill:var(--ch-good)}}
.chart .ch-good{{fill:var(--ch-good)}}
.chart .ch-bad{{fill:var(--ch-bad)}}
.chart .ch-good-line{{stroke:var(--ch-good);stroke-width:2;fill:none}}
.chart .ch-bad-line{{stroke:var(--ch-bad);stroke-width:2;fill:none}}
.chart .ch-open{{fill:var(--ch-paper);stroke:var(--ch-bad);stroke-width:2}}
.chart .ch-frontier{{stroke:var(--ch-good);stroke-width:1.5;stroke-dasharray:6 4;fill:none}}
.chart .ch-baseline{{stroke:var(--ch-quiet);stroke-width:1.5;stroke-dasharray:2 4;fill:none}}
.chart .ch-leader{{stroke:var(--ch-quiet);stroke-width:.8}}
.chart .ch-band{{fill:var(--ch-good);fill-opacity:.18}}
.chart .ch-cell{{fill:none;stroke:var(--ch-grid)}}
.chart .ch-hatch{{stroke:var(--ch-quiet);stroke-width:1.6;stroke-opacity:.45}}
"""


def standalone(svg: str) -> str:
    """The chart with its own style sheet, for a file of its own or a picture in a page without ours."""
    head, mark, rest = svg.partition("</desc>")
    return f"{head}{mark}<style>{CHART_CSS}</style>{rest}"
