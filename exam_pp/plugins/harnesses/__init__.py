"""Labels, measures and scorers for PyTerrier, MLflow and inspect_ai."""
