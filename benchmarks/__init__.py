"""Side by side with peers: ratios of interleaved runs."""
