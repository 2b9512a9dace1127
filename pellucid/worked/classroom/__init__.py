"""For a class: checking without giving the answers away, and grading the sheets of all."""
