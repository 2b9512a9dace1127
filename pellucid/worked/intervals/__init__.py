"""Expressions over numbers that are known up to their rounding: every result comes with bounds.

Bounds hold for every choice of the numbers inside theirs. They may be a little too wide, never too narrow: who worked
consistently, with whatever digits, is inside.
"""
