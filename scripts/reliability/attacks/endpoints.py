"""Attacks by endpoints: bodies, headers, secrets, signals."""

from __future__ import annotations

from scripts.reliability.attacks.attack import Attack

ATTACKS: tuple[Attack, ...] = ()
