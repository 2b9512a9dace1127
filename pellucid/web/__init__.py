"""The front end: what the service serves as its page, and the report and the sheet inline into one file."""
