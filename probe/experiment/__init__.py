"""The one experiment.

In: settings. Out: a result, and a folder of files.
Knows nothing of the command line; what is finished is found again, and several processes may share the work.
"""
