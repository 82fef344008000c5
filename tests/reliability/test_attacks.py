"""Every attack of docs/project/reliability.md has the outcome that the page promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.reliability.attacks import ATTACKS
from scripts.reliability.attacks.attack import Attack


@pytest.mark.integration
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_has_the_promised_outcome(attack: Attack, tmp_path: Path) -> None:
    if "model folder" in attack.name:
        pytest.importorskip("torch")
    assert attack.run(tmp_path) == ""
