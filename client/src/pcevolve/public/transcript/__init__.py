"""The record of a run: everything that crossed the wire, and the names of all that lies in a run's folder.

``chain`` links the lines, ``records`` says what they hold, ``log`` puts both together, ``bodies`` is what they carried,
``traffic`` what they say when they are put together. A run is written by ``log.Transcript`` and read by
``reader.RunReader``, and by nothing else.
"""
