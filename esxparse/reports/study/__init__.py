"""The study report: the study's question, the answer of its runs in words with numbers, and the evidence."""
