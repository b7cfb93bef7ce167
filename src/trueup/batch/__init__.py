"""Batches: files of replies sifted, pipelines of steps run over units; nothing lost, nothing twice."""
