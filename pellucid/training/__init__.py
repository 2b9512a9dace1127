"""From pairs of text to a trained model. `loop` is the walk; `data`, `loss`, `run` and `runtime` are its parts."""
