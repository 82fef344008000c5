"""Manifests: what made an output of a command."""

from __future__ import annotations

from exam_pp.formats.base import Format, Schema, register
from exam_pp.formats.sample import fits
from exam_pp.manifest import FORMAT, Manifest
from exam_pp.store.manifests import read_manifest

register(
    Format(
        "manifest", "manifest", "manifest of an output",
        fits(lambda sample: sample.object.get("format") == FORMAT),
        lambda path: [read_manifest(path)], "manifest",
        schema=Schema("manifest", "a manifest of an output", Manifest),
    ),
)  # fmt: skip
