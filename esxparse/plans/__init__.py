"""Planners: questions about hosts, links and arrays that are answered from inputs, never from guesses.

A planner is a TOML file with its inputs, results and sources (`forms`), and a module with the arithmetic. `values`
reads what people give and finds what is missing, `planner` puts both together, `result` shows what came of it.
"""
