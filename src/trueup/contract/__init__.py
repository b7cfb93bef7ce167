"""What a valid reply is, and the one place where the line from text to verdict is put together."""
