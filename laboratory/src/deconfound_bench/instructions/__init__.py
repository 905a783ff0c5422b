"""A benchmark of our own on chat models: does the picture hold for instructions and answers?"""
