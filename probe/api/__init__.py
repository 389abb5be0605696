"""What `import probe` offers: the commands as functions.

In: names or objects, a model, texts. Out: results that are looked at.
Knows nothing of the command line; it makes settings of what it is given, and hands over to the rooms that do the work.
"""
