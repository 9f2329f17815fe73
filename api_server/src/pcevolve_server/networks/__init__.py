"""What all neural networks of the server share: devices, memory, the errors of the libraries.

May be imported by ``diffusion`` and ``language``, and by ``models`` once one of them was.
"""
