"""What the core asks plug-ins for."""

from __future__ import annotations

import pytest

from exam_pp.errors import SelectionError
from exam_pp.plugins import needed, offered


def test_a_place_without_a_plug_in() -> None:
    assert offered("no such place") == []
    with pytest.raises(SelectionError, match="needs the plug-in mine, which is not installed"):
        needed("no such place", "mine")
