"""From labels to changes of a contract: what its rules are worth, and how to improve them."""
