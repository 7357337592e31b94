"""What is public is listed, exists, and says what it means."""

import inspect
from enum import EnumMeta
from types import ModuleType
from typing import Any

import pytest

import fsm
import runner


def public(module: ModuleType) -> list[tuple[str, Any]]:
    return [(f"{module.__name__}.{name}", getattr(module, name)) for name in module.__all__ if not name.startswith("_")]


@pytest.mark.parametrize(("name", "thing"), [*public(fsm), *public(runner)])
def test_every_public_name_says_what_it_means(name: str, thing: Any) -> None:
    if not inspect.isclass(thing) and not callable(thing):
        return
    assert inspect.getdoc(thing)
    if isinstance(thing, EnumMeta) or not inspect.isclass(thing):
        return
    for attribute, value in vars(thing).items():
        if not attribute.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            assert inspect.getdoc(value), f"{name}.{attribute} has no docstring"


def test_the_list_of_public_names_is_sorted_and_whole() -> None:
    for module in (fsm, runner):
        assert module.__all__ == sorted(module.__all__, key=lambda name: (name.startswith("__"), name))
