"""The experiments of the paper, with its recipe and with ours."""
