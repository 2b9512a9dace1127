"""`python -m pellucid` is the command too."""

from pellucid.cli import main

main()
