"""Why a stated number may be wrong: slips that people make, and laws that numbers must keep."""
