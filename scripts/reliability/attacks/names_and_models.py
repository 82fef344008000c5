"""Attacks by file names and damaged model folders."""

from __future__ import annotations

from scripts.reliability.attacks.attack import Attack

ATTACKS: tuple[Attack, ...] = ()
