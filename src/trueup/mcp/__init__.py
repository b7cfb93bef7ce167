"""The MCP server: tools by which a model checks replies, reads findings and changes contracts."""
