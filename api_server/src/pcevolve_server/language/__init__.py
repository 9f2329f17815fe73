"""Language models of the transformers library as a Writer.

May be imported by ``models`` alone, once the port is open.
"""
