"""The shapes on the wire, one file per subject."""
