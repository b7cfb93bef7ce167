"""Numbers, amounts and measures in any text, in any notation, in many languages."""
