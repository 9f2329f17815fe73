"""The wire contract between client and API server; imports neither side."""
