"""Names that the shell completes after an option: models, settings. Imports come later."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def setting_names(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The settings of models whose keys begin with ``incomplete``, with their meaning."""
    from exam_pp.phases.grading.settings_files import SETTINGS

    return [
        CompletionItem(f"{key}=", help=meaning)
        for key, meaning in SETTINGS.items()
        if key.startswith(incomplete)
    ]


def model_names(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The models of the catalogue whose names begin with ``incomplete``, with their purpose."""
    from exam_pp.judges import CATALOGUE

    return [
        CompletionItem(model.name, help=model.use) for model in CATALOGUE if model.name.startswith(incomplete)
    ]
