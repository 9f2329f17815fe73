"""The papers' tables as commands: what is run, on which data, how it is measured, and how it is shown.

A table is a declaration; its cells are ordinary runs over HTTP, each with an evaluation after it, kept in a database so
that what is done is never done again. For public images alone: many runs on the same images have no guarantee in
common.

Imported by ``cli`` alone; to list the tables nothing heavy is loaded.
"""
