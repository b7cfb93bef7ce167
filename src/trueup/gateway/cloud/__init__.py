"""Upstreams in Azure, Bedrock and Vertex: how their requests are addressed and signed."""
