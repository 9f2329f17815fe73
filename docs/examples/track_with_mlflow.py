"""A run whose public facts go to MLflow; nothing about private data. ``pcevolve-server serve`` runs elsewhere.

Accuracies on your own test data are private: log them only to a server that may know of your patients.
"""

import mlflow

import pcevolve

given = {"private": "scans", "domain": "chest X-ray", "epsilon": 8, "shots": 3, "candidates": 8}
result = pcevolve.evolve(provider="http://127.0.0.1:8000", out="runs/tracked", **given)
assert result.verify(), "pcevolve audit runs/tracked says why"
with mlflow.start_run(run_name=result.folder.name):
    plan = result.plan
    mlflow.log_params({"method": plan.method.name, "model": plan.provider.model, "classes": len(plan.labels)})
    mlflow.log_metrics({"epsilon": result.epsilon, "delta": result.delta, "images": len(result.images)})
    # Warnings that nobody can switch off, such as of noise that came from a seed.
    mlflow.set_tags({"marks": "; ".join(result.marks), "domain": plan.data.domain})
    mlflow.log_artifact(str(result.dataset / "README.md"))
    mlflow.log_artifact(str(result.report))
