"""What the model libraries raise."""

from safetensors import SafetensorError

LOAD_ERRORS = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    ImportError,
    RuntimeError,
    SafetensorError,
)
"""For a missing, partial or malformed model, as far as they document it."""
