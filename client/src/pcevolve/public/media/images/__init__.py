"""Images: decoding received bytes and private files, appearance in six numbers, position of the subject.

Every function takes one image, or bytes of one; none uses statistics of other images.
"""
