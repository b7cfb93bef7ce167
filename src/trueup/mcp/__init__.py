"""The MCP server: tools with which a model checks replies, reads findings and changes contracts."""
