"""A run over time, as text or as a picture. Both are made of text alone: the same on every machine."""

from fsm.journal.timeline import Lane, Timeline

_FILL = {
    "Idle": "#d1d5db",
    "Loading": "#fcd34d",
    "Running": "#86efac",
    "Failed": "#f87171",
    "Shutdown": "#93c5fd",
    "Queued": "#e5e7eb",
    "Prefill": "#c4b5fd",
    "Decode": "#86efac",
}
_SIGNS = {
    "Idle": ".",
    "Loading": "l",
    "Running": "R",
    "Failed": "F",
    "Shutdown": "s",
    "Queued": ".",
    "Prefill": "p",
    "Decode": "d",
}
_LEFT, _RIGHT, _ROW, _TOP = 130, 130, 24, 34  # pixels


def timeline_text(run: Timeline, width: int = 100) -> str:
    """Bars of letters, no wider than ``width`` characters; a legend below."""
    lanes = [*run.incarnations, *run.requests]
    name = max((len(lane.name) for lane in lanes), default=0)
    outcome = max((len(_outcome(lane)) for lane in lanes), default=0)
    cells = max(width - name - outcome - 4, 10)
    lines = [f"{'':{name}}  0 s{f'{run.seconds:.3f} s':>{cells - 3}}"]
    for lane in lanes:
        bar = "".join(_SIGNS.get(_state_at(lane, run.seconds * (cell + 0.5) / cells), " ") for cell in range(cells))
        lines.append(f"{lane.name:{name}}  {_with_short_spans(bar, lane, run.seconds)}  {_outcome(lane)}".rstrip())
    if run.left_out:
        lines.append(f"{run.left_out} requests in the middle are left out.")
    shown = dict.fromkeys(span.state for lane in lanes for span in lane.spans if span.state in _SIGNS)
    lines.append("")
    lines.append("  ".join(f"{_SIGNS[state]} {state}" for state in _SIGNS if state in shown))
    return "\n".join(lines) + "\n"


def _outcome(lane: Lane) -> str:
    return f"{lane.outcome} at {lane.at:.3f} s" if lane.outcome else f"still {lane.spans[-1].state}"


def _state_at(lane: Lane, seconds: float) -> str:
    for span in lane.spans:
        if span.start <= seconds < span.end:
            return span.state
    return ""


def _with_short_spans(bar: str, lane: Lane, seconds: float) -> str:
    """A span that is shorter than a cell is seen all the same, so that no state is missing."""
    cells = list(bar)
    for span in lane.spans:
        sign = _SIGNS.get(span.state)
        cell = min(int(span.start / seconds * len(cells)), len(cells) - 1) if seconds else 0
        if sign is not None and sign not in cells[max(cell - 1, 0) : cell + 2]:
            cells[cell] = sign
    return "".join(cells)


def timeline_svg(run: Timeline, width: int = 900) -> str:
    """A picture: a lane an incarnation, a lane a request, seconds along the bottom, failures in red."""
    lanes = [*run.incarnations, *run.requests]
    scale = (width - _LEFT - _RIGHT) / (run.seconds or 1.0)
    bottom = _TOP + _ROW * len(lanes) + 8
    height = bottom + 56 + (18 if run.left_out else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="Arial, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{width // 2}" y="20" text-anchor="middle" font-size="15">A run over time</text>',
    ]
    for step in range(6):
        at = run.seconds * step / 5
        x = _LEFT + at * scale
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP - 4}" x2="{x:.1f}" y2="{bottom}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{at:.3g} s</text>')
    for number, lane in enumerate(lanes):
        parts += _lane(lane, _TOP + _ROW * number, scale)
    parts += _legend(lanes, bottom + 40)
    if run.left_out:
        parts.append(f'<text x="{_LEFT}" y="{bottom + 62}">{run.left_out} requests in the middle are left out.</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _lane(lane: Lane, y: int, scale: float) -> list[str]:
    color = "#b42318" if lane.bad else "#1f2937"
    parts = [f'<text x="{_LEFT - 8}" y="{y + 15}" text-anchor="end">{lane.name}</text>']
    for span in lane.spans:
        if span.state not in _FILL:
            continue
        # Short spans are seen all the same.
        wide = max((span.end - span.start) * scale, 2.0)
        parts.append(
            f'<rect x="{_LEFT + span.start * scale:.1f}" y="{y + 3}" width="{wide:.1f}" height="{_ROW - 8}"'
            f' fill="{_FILL[span.state]}"><title>{span.state}, {span.end - span.start:.3f} s</title></rect>'
        )
    end = _LEFT + lane.at * scale
    if lane.outcome:
        parts.append(f'<circle cx="{end:.1f}" cy="{y + 11}" r="4" fill="{color}"/>')
    parts.append(f'<text x="{end + 8:.1f}" y="{y + 15}" fill="{color}">{lane.outcome}</text>')
    return parts


def _legend(lanes: list[Lane], y: int) -> list[str]:
    shown = dict.fromkeys(span.state for lane in lanes for span in lane.spans)
    parts: list[str] = []
    x = _LEFT
    for state, fill in _FILL.items():
        if state in shown:
            parts.append(f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{fill}"/>')
            parts.append(f'<text x="{x + 17}" y="{y}">{state}</text>')
            x += 90
    return parts
