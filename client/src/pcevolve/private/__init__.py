"""What the provider must never see: private images, their embeddings, their votes.

Nothing here opens a socket to a provider or writes a log. A private type's ``repr`` is its class
name, and no error carries a statistic of the data; errors name only the owner's own files.
"""
