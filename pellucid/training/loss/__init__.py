"""The training loss: label-smoothed cross-entropy, with or without R-Drop."""
