"""Upstreams of Azure, Bedrock and Vertex: how their requests are addressed and signed, one file for each thing to know."""
