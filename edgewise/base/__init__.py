"""What every package stands on: named parameters and their ranges, precision, words of messages, files.

Nothing is imported here, so that the command line can read its words without loading JAX.
"""
