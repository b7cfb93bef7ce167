"""The protocols that clients speak, one file each: how a request is read and written, a reply mended, an error told."""
