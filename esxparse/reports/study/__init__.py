"""The study report: what a study asks, what its runs answer, in words with numbers, and on what that rests."""
