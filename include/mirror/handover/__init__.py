"""Taking a flow over from MirrorMaker 2, and handing it back: each side goes on exactly where the other one stopped."""
