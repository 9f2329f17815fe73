"""Self-contained pages for people: the report, and everything that left.

Each is one file, escaped, with a strict content security policy and small re-encoded pictures, made from
public records alone.
"""
