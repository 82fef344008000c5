"""What the plug-in adds: Python functions for PyTerrier, MLflow and inspect_ai."""

from exam_pp.plugins import Plugin

PLUGIN = Plugin(
    public={
        "pyterrier_qrels": "plugins.harnesses.pyterrier_experiment",
        "pyterrier_cover": "plugins.harnesses.pyterrier_experiment",
        "mlflow_scorer": "plugins.harnesses.mlflow_scorer",
        "inspect_scorer": "plugins.harnesses.inspect_scorer",
    }
)
