"""The languages in which numbers, dates and times are read.

Each has a file in `quantities/languages/` and one in `moments/languages/`. The order matters: where two languages give one word
different meanings, the reading of the first comes first.
"""

SPACED = ("en", "es", "de", "fr", "it", "pt", "nl")  # spaces between words
CHARACTERS = ("zh", "ja", "ko")
