"""Other toolkits, each in its own environment, measured through workers that answer one request at a time."""
