"""Tables of texts: methods on real texts with one language model or several, by judges that did not vote.

- ``studies``: which private classes, methods and secrets;
- ``bench``: makes the rows that are missing, each an ordinary run behind a server of its own;
- ``page``: writes them as a page;
- ``attack``: how often the best attack on a declared secret is right.

Imported by ``cli`` alone.
"""
