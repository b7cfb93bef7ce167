"""Upstreams in Azure, Bedrock and Vertex: how to address and sign their requests."""
