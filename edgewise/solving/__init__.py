"""Equations of members: assembled, solved, refined; and how many nodes they take."""
