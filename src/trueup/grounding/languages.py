"""The languages in which numbers, dates and times are read.

Each has a file in `quantities/languages/` and one in `moments/languages/`. The order matters: if two languages give a
word different meanings, the meaning of the earlier language comes first.
"""

SPACED = ("en", "es", "de", "fr", "it", "pt", "nl")  # spaces between words
CHARACTERS = ("zh", "ja", "ko")
