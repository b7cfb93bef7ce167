"""Judges files of replies and runs pipelines of prompts. Nothing is lost, and nothing is done twice."""
