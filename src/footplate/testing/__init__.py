"""Conformance suites, shipped so that engines, builders and stores outside this repository can use them.

engine_suite        the contract of engines, over small programs instead of agents
builder_suite       the contract of environment builders
store_suite         the contract of file stores
simulated_engine    an engine that starts nothing and reports what a test orders
waiting             wait for a condition

tests/conformance runs the suites for all implementations of this repository.
"""
