"""From pairs of text to a trained model."""
