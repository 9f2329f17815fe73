"""What a run does with texts alone, one module for each of the ``concerns``; nobody else asks which kind it has."""
