"""Public datasets of the papers, as they are downloaded, made into folders that every command reads.

Each layout is one file and knows where labels, splits and patients stand; ``writing`` makes the folder. Images are
linked or copied as they are; only those that lie in arrays are encoded. Nothing is downloaded.

Imported by ``cli`` alone.
"""
