"""Options that are the owner's alone, written out."""

from __future__ import annotations

OWNERS = {
    "data.private",
    "data.test",
    "data.subsample_seed",
    "data.unit_map",
    "data.unit_column",
    "data.unit_namespace",
    "data.words",
    "data.unlabelled",
    "data.text_column",
    "data.label_column",
    "data.secrets",
    "data.secret_columns",
    "privacy.ledger",
    "privacy.lifetime_epsilon",
    "privacy.insecure_noise_seed",
    "provider.prompts",
    "encoder.weights",
}
"""All that tells something of private data, or leads to them."""
