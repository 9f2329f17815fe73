"""The bundled language model: counts of short sequences of words and of the words of topics, in NumPy.

May be imported by ``models`` alone.
"""
