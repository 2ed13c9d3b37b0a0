"""Reference solutions, by series, images and closed formulas, that the tests compare with."""
