"""The page of `doit report` and `doit serve`: what a build made, for people who judge by eye."""
