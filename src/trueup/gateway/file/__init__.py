"""Parts of the gateway's file, one module each: an entry enters, a value of the configuration leaves, with a fault for each mistake."""
