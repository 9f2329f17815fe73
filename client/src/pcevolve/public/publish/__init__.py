"""Files that a run hands out, all from its record.

``release`` is what stands in them: dataset, manifest, card, classifier. ``dataset`` writes them, and the figures.
``promises`` has the words for what is promised that card, manifest, report and console say alike.
"""
