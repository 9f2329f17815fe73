"""The wire contract between client and API server: messages, paths and limits, and images decoded within them.

Imports neither side, and no framework of either; both sides import its modules.
"""
