"""The protocols of clients, one file each: how to read and write a request, repair a reply, report an error."""
