"""What the layers hold: every table and figure of the paper."""
