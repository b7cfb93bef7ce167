"""Pipelines: many steps over many units in run directories that survive being killed."""
