"""The paper's synthetic tables and figures: a file a group of targets, found through `targets`."""
