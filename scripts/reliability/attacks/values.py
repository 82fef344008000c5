"""Attacks on values: duplicate keys, odd numbers, damaged journals, reports."""

from __future__ import annotations

from scripts.reliability.attacks.attack import Attack

ATTACKS: tuple[Attack, ...] = ()
