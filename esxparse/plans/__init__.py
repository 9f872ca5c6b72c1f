"""Planners: questions about hosts, links and arrays that are answered from inputs, never from guesses.

A planner is a TOML file with its inputs, results and sources (`forms`), and a module with the arithmetic. `values`
reads the inputs and finds missing ones, `planner` puts both together, `result` shows the answer.
"""
