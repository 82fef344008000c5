"""Attacks on input files, outputs and folders."""

from __future__ import annotations

from scripts.reliability.attacks.attack import Attack

ATTACKS: tuple[Attack, ...] = ()
