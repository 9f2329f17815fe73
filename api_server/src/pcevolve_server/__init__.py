"""The API server: image generation behind a getimg-style HTTP API."""
