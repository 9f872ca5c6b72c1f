"""A study diagnosed: its runs compared as experiments, and what each rules out.

`contrasts`: which runs are slow, against which; `facts`: what is known of them, and what experiments gave; `tables`:
what is asked (`steps.toml`), and what the answers say of each cause (`causes.toml`); `verdicts`: findings.
"""
