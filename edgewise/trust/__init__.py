"""How wrong a solution is: its misfit on the boundary, and what that says of the field."""
