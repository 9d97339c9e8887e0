"""The commands of `python -m kafka_mirror`.

`parser` has the table of the commands, `arguments` and `cutover` what each takes, `options` how a command line is read. The other files do
the work for a flow and make the lines that it prints; a command imports its own when it runs, and what it needs with it.

`__main__` and `client` may import it.
"""
