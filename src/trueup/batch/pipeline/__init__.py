"""Runs pipelines: many steps over many units, in run directories that survive crashes."""
