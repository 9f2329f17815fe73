"""Images: decoding received bytes and private files, appearance in six numbers, position of the subject.

Nothing here knows a set of images: every function takes one image, or bytes of one, and no statistics of others.
"""
