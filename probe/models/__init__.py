"""Models: what can be named, how it is loaded, and what each family can do."""
