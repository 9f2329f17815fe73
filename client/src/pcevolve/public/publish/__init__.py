"""Files that a run publishes, all made from its record.

``release`` defines their content: dataset, manifest, card, classifier. ``dataset`` writes them and the
figures. ``promises`` puts the promises into words, for card, manifest, report and console.
"""
