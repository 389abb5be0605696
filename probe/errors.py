"""The one exception a user meets: a refusal in one sentence, with the way out."""


class ProbeError(ValueError):
    """Something the user gave cannot be used.

    The message is one sentence that names the thing and the way out; the command line prints it and ends
    with exit code 2.
    """
