"""The diagnosis of a study: its runs compared as experiments, and the causes that each rules out.

`contrasts`: which runs are slow, against which; `facts`: measurements of these runs, and results of experiments;
`tables`: the questions (`steps.toml`), and how the answers weigh for each cause (`causes.toml`); `verdicts`: findings.
"""
