"""The wire contract between client and API server: messages, paths and limits, and images decoded within them.

Imports nothing of either side and none of their frameworks; both sides import its modules.
"""
