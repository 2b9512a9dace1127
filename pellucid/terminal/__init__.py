"""What a shell prints."""
