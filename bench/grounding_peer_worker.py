"""LangExtract's aligner, offline: lines of JSON with a source and values enter, lines with an alignment for each value leave.

Run by `grounding_peer` with a Python in which langextract is installed; imports nothing of ours.
"""

import json
import sys
import time

from langextract.core.data import Extraction
from langextract.core.tokenizer import RegexTokenizer, UnicodeTokenizer
from langextract.resolver import WordAligner

for line in sys.stdin:
    case = json.loads(line)
    tokenizer = UnicodeTokenizer() if case["unicode"] else RegexTokenizer()
    extractions = [Extraction(extraction_class="value", extraction_text=text) for text in case["values"]]
    begun = time.process_time()
    try:
        WordAligner().align_extractions([extractions], case["source"], tokenizer_impl=tokenizer)
        failed = ""
    except Exception as error:
        failed = type(error).__name__
    took = (time.process_time() - begun) * 1000
    statuses = [one.alignment_status.value if one.alignment_status else None for one in extractions]
    print(json.dumps({"statuses": statuses, "ms": took, "failed": failed}), flush=True)
