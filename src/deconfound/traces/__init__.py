"""Calls of models and scores of their answers, read from the files of gateways and observability tools."""
