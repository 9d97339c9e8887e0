"""The commands of `python -m kafka_mirror`, one file each: the arguments, the work for a flow, the lines that it prints.

`parser` has the options that all commands share.

`__main__` and `client` may import it.
"""
