"""Every picture: figures of solutions and operators, and films."""

from edgewise.show.animation import member_film as member_film
from edgewise.show.animation import save_film as save_film
from edgewise.show.animation import wave_film as wave_film
from edgewise.show.bodies import body_figure as body_figure
from edgewise.show.figures import field_figure as field_figure
from edgewise.show.lines import boundary_figure as boundary_figure
from edgewise.show.lines import density_figure as density_figure
from edgewise.show.lines import far_field_figure as far_field_figure
from edgewise.show.mosaic import mosaic_figure as mosaic_figure
from edgewise.show.samples import sample_field as sample_field
from edgewise.show.space import far_field_lines_figure as far_field_lines_figure
from edgewise.show.space import far_field_sphere_figure as far_field_sphere_figure
from edgewise.show.space import slice_figure as slice_figure
from edgewise.show.sweep import sweep_figure as sweep_figure
from edgewise.show.training import race_figure as race_figure
from edgewise.show.training import training_figure as training_figure
