"""What a person sees: figures, films, and cards in notebooks. `edgewise.plot` lists them."""
