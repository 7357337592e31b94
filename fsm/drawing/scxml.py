"""A machine as SCXML, the W3C's format for state machines, for other tools.

Guards come as predicates of the event's data: who runs the document gives with each event what the guards' names say, under
the name with blanks as underscores, as ``fsm`` does when it makes a context of an event. So another interpreter decides which
row is taken, and where it leads.
"""

from fsm.drawing.picture import Drawn, guard_text
from fsm.table import Row

_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- {title}. Generated from the table of runner-fsm; do not edit.
     Of the transitions for one state and event the first whose condition holds is taken; "row" then holds the id of its row.
     A condition names a guard, a boolean in the data of the event: "{example}" for the guard that reads
     "{text}". Who sends an event gives what the guards say.
     An end is no <final>, since an interpreter stops there: here what comes after the end is decided as well.
     Not in this file: the facts that guards look at, and the effects of a row. They are no part of SCXML. -->
<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0" name="{name}" initial="{initial}" datamodel="ecmascript">
  <datamodel><data id="row" expr="''"/></datamodel>
"""


def guard_name(guard: str) -> str:
    """A guard's name as an identifier."""
    return "".join(character if character.isalnum() else "_" for character in guard).replace("__", "_")


def scxml(drawn: Drawn) -> str:
    """The document."""
    table = drawn.table
    guard = next(iter(table.guards.values()))
    lines = [
        _HEAD.format(
            title=drawn.title,
            name=drawn.name,
            initial=table.states[0],
            example=f"_event.data.{guard_name(guard.name)}",
            text=guard.text,
        ).rstrip("\n")
    ]
    for state in table.states:
        lines.append(f'  <state id="{state}">')
        lines += [
            _transition(drawn, state, trigger, row)
            for trigger in table.triggers
            for row in table.deciding(state, trigger)
        ]
        lines.append("  </state>")
    return "\n".join([*lines, "</scxml>"]) + "\n"


def _transition(drawn: Drawn, state: str, trigger: str, row: Row) -> str:
    condition = f' cond="_event.data.{guard_name(row.guard)}"' if row.guard else ""
    target = f' target="{row.dest}"' if row.dest and row.dest != state else ""
    text = guard_text(drawn.table, row)
    comment = f" <!-- {text} -->" if text else ""
    taken = f"""<assign location="row" expr="'{row.id}'"/>"""
    return f'    <transition event="{trigger}"{condition}{target}>{taken}</transition>{comment}'
