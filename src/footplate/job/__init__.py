"""What runs inside a rank, in the user's interpreter: the standard library, Python 3.8 syntax, nothing else of ours."""
