"""Which rules a family takes: one with so many nodes, and those that `solve` tries in turn."""

from typing import Any

from edgewise.quadrature.curves.graded import Graded
from edgewise.quadrature.curves.periodic import Kress
from edgewise.quadrature.rule import AbstractQuadrature, next_shared, sides
from edgewise.quadrature.surfaces.rule import Duffy

# Nodes on each curve.
CURVES = (128, 192, 256, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048)
# A corner takes a good part of them.
CORNER_NODES = 256
# Nodes along a side of each patch; the most along a side of one panel; and the most on all patches together, whose
# matrix takes a gigabyte.
PATCHES, PANEL, MOST = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 48, 64), 16, 8192


def rule_for(family: Any, nodes: int) -> AbstractQuadrature:
    """The usual rule: at least so many nodes on a curve, graded where there are corners; or along a side of a patch."""
    if family.in_space:
        return Duffy(nodes)
    count = sides(family)
    return Graded(next_shared(nodes, count)) if count else Kress(nodes)


def rungs(family: Any) -> list[AbstractQuadrature]:
    """The rules for this geometry, from few nodes to many."""
    if family.in_space:
        few = [side for side in PATCHES if family.patches * side**2 <= MOST] or [PATCHES[0]]
        return [patch_rule(side) for side in few]
    corners = sides(family)
    rules = [rule_for(family, max(nodes, CORNER_NODES) if corners else nodes) for nodes in CURVES]
    return list(dict.fromkeys(rules))


def patch_rule(side: int) -> Duffy:
    """So many nodes along a side of every patch, or a few more: on as few panels as can have them."""
    panels = -(-side // PANEL)
    return Duffy(-(-side // panels), panels)
