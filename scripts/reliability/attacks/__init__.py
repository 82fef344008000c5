"""Attacks on the commands, with the outcome that docs/project/reliability.md promises."""

from __future__ import annotations

from scripts.reliability.attacks import endpoints, inputs, names_and_models, values
from scripts.reliability.attacks.attack import Attack

ATTACKS: tuple[Attack, ...] = (
    *inputs.ATTACKS,
    *values.ATTACKS,
    *endpoints.ATTACKS,
    *names_and_models.ATTACKS,
)
