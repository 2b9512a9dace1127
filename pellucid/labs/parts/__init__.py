"""What the labs are made of: the shape of a lab, confidence intervals, figures, and results on disk."""
