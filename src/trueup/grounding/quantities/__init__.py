"""Numbers, amounts and measures in any notation and in many languages."""
