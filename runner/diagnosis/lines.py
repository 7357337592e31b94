"""Lines of a log, made fit for comparison with the table: split, stripped, each with its level and its claim.

Here lives what is true of logs in general: levels and their many spellings, source lines inside tracebacks, text of a
person's that a log repeats, hedges. What must not live here: any text that names a cause (``rules``).
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from fsm.failure import Kind, Phase
from runner.diagnosis.rules import NOISE, RULES, Level, Noise, Rule, text

LINE_HEAD = 1200  # characters; the beginning of a line that is read
LINE_TAIL = 400  # characters; the end of a longer line that is read too
LEVEL_WITHIN = 160  # characters; a level is named near the beginning of a line
LINES_HEAD = 4000  # lines; a cascade begins with its cause
LINES_TAIL = 8000  # lines; and a log ends with its failure

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")

_LEVEL_WORD = re.compile(
    r"(?<![\w.=])(?P<word>(?-i:TRACE|DEBUG|VERBOSE|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|FATAL|SEVERE))"
    r"(?![\w.(=])"
    r"|\b(?:level|lvl|severity)[\"']?\s?[:=]\s?[\"']?(?P<field>\w+)"
    r"|^\W{0,3}(?P<start>trace|debug|verbose|info|notice|hint|note|tip|warn|warning|error|err|critical|fatal)"
    r"\s?[:\]|>)]"
    r"|(?P<python>\b\w*Warning: )|(?P<middle>\bwarning: )",
    re.IGNORECASE,
)
# glog and its kin: a letter at the beginning, or after a date, or after the rank that torch puts before it.
_LEVEL_LETTER = re.compile(
    r"^(?:\[rank\d+\]:)?\[?(?P<glog>[DIWEF])\d{3,4} \d"
    r"|^(?:[\d.:-]+ ){0,2}(?:\[?\w*: )?(?P<plain>[IWEF]) (?:tensorflow|external|\w+/)"
)
_QUIET_WORDS = frozenset({"trace", "debug", "verbose", "info", "notice", "hint", "note", "tip", "d", "i"})
_WARNING_WORDS = frozenset({"warn", "warning", "w"})
_CARRIES_ERROR = re.compile(r"\b(?:error|err)=[\"']?[^\s\"']")
_RAISED = re.compile(r"^\s*(?:[a-zA-Z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception)\b")
# What libraries add to their errors, and print without one too.
_ADVICE = re.compile(
    r"^\s*(?:If (?:you|this|the|it|your)|Please (?:check|make|see|try|set|ensure|pass|consider)|Make sure|Try "
    r"|Consider |You (?:can|may|might|should) |See (?:also )?(?:https?:|the))"
)

# What loggers put before every line, so that the indentation behind it can be seen.
_PREFIX = re.compile(
    r"^(?:\s{0,40}[|+]\s?){0,8}(?:\([A-Z]\w*[^()\n]{0,60}\)\s)?"
    r"(?:(?:TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL)\s[\d-]+\s[\d:.,]+\s\[?[\w./-]+:\d+\]\s?)?"
)
_FRAME = re.compile(r"^\s*File \"[^\"]*\", line \d+|^\s*File .{1,300}, line \d+")
# Source code is what somebody feared, not what happened. "what():" is C++'s own way to report.
_SOURCE = re.compile(
    r"^\s{2,}(?:\d+\s+)?(?:(?:raise|return|assert|if|elif|else|except|try|with|for|while|await|async|yield|from)\b"
    r"|import\b|self\.|[\w.\[\], ]{1,80} = |(?!what\()[\w.]{1,80}\()"
    r"|^\s*[\^~]+\s*$|^-+> ?\d+ "
)

BACKED_OFF = text(
    r"\b(?:retrying|will retry|trying (?:again|another|next|port)|re-?attempting|recovered|continuing|skipping)\b",
    r"\b(?:falling back|falls? back|fallback|using (?:the )?(?:cpu|default|another|next|cached?))\b",
    r"\bwill be (?:ignored|skipped)\b",
)
"""The program met the failure and went on. Such a line proves nothing, nor does the one before it."""

ECHO = text(
    r"\b(?:prompts?|user|question|messages|content|completion|input|answer|request body)[\"']?\s*[:=]\s*[\"'\[{]",
    r"\b(?:prompt|user|question|assistant|completion|answer|user (?:said|asked|wrote))\s*:\s",
    r"\b(?:Received|Added) request\b",
    r">>> ",
    r"<\|(?:im_start|user|begin_of_text|start_header_id)\|>",
)
"""From here on a line repeats what a person or the model wrote."""

_DOUBTS = (
    r"may|might|could|would|can|perhaps|possibly|probably|maybe|likely|potential(?:ly)?|expected?",
    r"if|unless|whether|what|how|why|explain|in case|in the event",
    r"avoid(?:s|ing)?|prevent(?:s|ing)?|protect(?:s|ed|ion)?|against|risk(?:s|ing)?|guard\w*|surviv\w+",
    r"handl(?:e|es|ed|ing)|recover(?:s|ed|ing)?|check(?:s|ed|ing)?|test(?:s|ing)?|simulat\w+|disabled?|enabled?",
    r"never|without|zero|no|0",
)
HEDGE_BEFORE = text(
    rf"\b(?:{'|'.join(_DOUBTS)})(?:\W+\w+){{0,2}}\W*$",
    r"\b(?:not|n't|didn't|doesn't|isn't|wasn't)(?:\W+\w+)?\W*$",
)
"""Said before the decisive words, this takes them back: a possibility, a precaution, a denial."""

_SETTINGS = (
    r"\?|budgets?\b|checks?\b|checking\b|protection|guards?\b|handl\w+|avoidance|prevention|recovery|polic(?:y|ies)\b",
    r"scores?\b|killer (?:disabled|enabled|score)|risks?\b|safe\w*|monitor\w*|threshold|callbacks?\b|tests?\b|margin",
    r"simulat\w+|is (?:disabled|enabled|unlikely)|disabled|enabled|was avoided|bounds?\b|range|retry|retries",
    r"(?:errors?|events?|kills?|count(?:er)?s?)?\s*[:=]\s*(?:0|false|no|none)\b",
)
HEDGE_AFTER = text(rf"^[\"'`)\]]{{0,2}}\s*(?:{'|'.join(_SETTINGS)})")
"""Said after the decisive words, this takes them back as well."""


class Line(msgspec.Struct, frozen=True):
    """One line as it is compared."""

    text: str
    level: Level


class Hit(msgspec.Struct, frozen=True):
    """A line that fits a row of the table."""

    rule: Rule
    index: int
    """Place of the line among the lines that were read."""
    text: str
    start: int
    """Where in the line the decisive words begin."""


def read(raw: Iterable[str]) -> list[Line]:
    """The lines to compare. Progress bars are split where they return; source code in tracebacks is left out.

    Of a log that is too long the beginning and the end are kept, of a line likewise.
    """
    kept = list(_split(raw))
    if len(kept) > LINES_HEAD + LINES_TAIL:
        kept = kept[:LINES_HEAD] + kept[-LINES_TAIL:]
    lines: list[Line] = []
    after_frame = False
    for said in kept:
        bare = _PREFIX.sub("", said, count=1)
        if _FRAME.match(bare):
            after_frame = True
            continue
        if (after_frame and bare[:2].isspace()) or _SOURCE.match(bare):
            after_frame = False
            continue
        after_frame = False
        lines.append(Line(said, _level(said, bare)))
    return lines


def _split(raw: Iterable[str]) -> Iterator[str]:
    for line in raw:
        for part in re.split(r"[\r\n]+", line):
            said = _ESCAPES.sub("", part).rstrip() if "\x1b" in part else part.rstrip()
            if len(said) > LINE_HEAD + LINE_TAIL:
                said = said[:LINE_HEAD] + " ... " + said[-LINE_TAIL:]
            if said:
                yield said


def _level(said: str, bare: str) -> Level:
    if _ADVICE.match(bare):
        return Level.QUIET
    if _RAISED.match(bare) and bare == said:
        return Level.ERROR
    head = said[:LEVEL_WITHIN]
    letter = _LEVEL_LETTER.match(head)
    if letter is not None:
        return _of_word(letter["glog"] or letter["plain"])
    word = _LEVEL_WORD.search(head)
    if word is None:
        return Level.ERROR
    if word["python"] or word["middle"]:
        return Level.WARNING
    named = word["field"] or word["start"] or word["word"]
    if head[: word.end()].endswith("NCCL WARN"):
        # NCCL has no level above this one.
        return Level.ERROR
    level = _of_word(named)
    return Level.ERROR if level < Level.ERROR and _CARRIES_ERROR.search(said) else level


def _of_word(word: str) -> Level:
    word = word.lower()
    if word in _QUIET_WORDS:
        return Level.QUIET
    return Level.WARNING if word in _WARNING_WORDS else Level.ERROR


def hits(lines: list[Line], phase: Phase) -> list[Hit]:
    """The lines that fit the table in this phase, in order. A line that proves nothing is no hit."""
    found: list[Hit] = []
    for index, line in enumerate(lines):
        hit = _hit(index, line, phase)
        if hit is not None and not _backed_off(hit, lines, phase):
            found.append(hit)
    return found


def noise(said: str) -> Noise | None:
    """The row that says why this line proves nothing, though it looks as if it did."""
    return next((row for row in NOISE if row.pattern.search(said)), None)


def _backed_off(hit: Hit, lines: list[Line], phase: Phase) -> bool:
    if BACKED_OFF.search(hit.text, hit.start):
        return True
    after = hit.index + 1
    # A line with a cause of its own speaks of that one.
    return (
        after < len(lines)
        and BACKED_OFF.search(lines[after].text) is not None
        and _hit(after, lines[after], phase) is None
    )


def _hit(index: int, line: Line, phase: Phase) -> Hit | None:
    said = line.text
    for rule in RULES:
        if line.level < rule.level or phase not in rule.phases:
            continue
        match = rule.pattern.search(said)
        if match is None:
            continue
        start = match.start("key") if "key" in rule.pattern.groupindex and match["key"] is not None else match.start()
        echo = ECHO.search(said, 0, match.start())
        if echo is not None or noise(said) is not None:
            return None
        if rule.kind is Kind.OOM and _taken_back(said, start, match.end()):
            continue
        return Hit(rule, index, said, start)
    return None


def _taken_back(said: str, start: int, end: int) -> bool:
    clause = re.split(r"[.;:!,|\]]\s", said[max(0, start - 80) : start])[-1]
    return HEDGE_BEFORE.search(clause) is not None or HEDGE_AFTER.match(said[end : end + 60]) is not None
