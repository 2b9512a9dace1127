"""The networks that the labs train beside the product's own. A lab imports them when it runs: some need torch."""
