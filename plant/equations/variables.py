"""Which role a Reference_Variable plays: the table of its definition.

====================  ===================================  ==============================================
defined by            equation                             VARVAL
====================  ===================================  ==============================================
expression            v = g(y, t)                          g
its own value         v = g(v, y, t)                       the root, by Newton's method, with a warning
is_implicit, own v    0 = g(v, y, t)                       the root, by Newton's method from ``ic``
is_implicit, no v     0 = g(q, t), a hard constraint       its multiplier
PENALTY               none; F = -penalty g - penalty1 g'   g
dot_form              z' = g, z(0) = ic                    z
a plant input         none                                 what comes from outside
====================  ===================================  ==============================================

Source: MotionSolve reference guide, Reference_Variable, comments 1-4.
"""

from __future__ import annotations

import networkx as nx

from plant.elements import Control_PlantInput, Model, Reference_Variable
from plant.expressions.formulas import Formulas
from plant.routines.subroutines import variables_asked_for


def hard_constraints(model: Model, formulas: Formulas) -> list[Reference_Variable]:
    """Variables that are constraints with multipliers: implicit, and g does not depend on their own value.

    A dependence through other explicit variables counts. A subroutine depends on what it asks for in its
    initialisation call, which is made here.
    """
    driven = {id for port in model.all(Control_PlantInput) for id in port.variable_id_list}
    graph = nx.DiGraph()
    variables = [v for v in model.all(Reference_Variable) if v.id not in driven and not v.dot_form]
    for variable in variables:
        expression = formulas.get((variable.tag, variable.id, "expr"))
        graph.add_node(variable.id)
        for kind, ids in expression.references() if expression else ():
            if kind == "variable":
                graph.add_edge(variable.id, int(ids[0]))
        if expression is None and variable.has_subroutine and variable.is_implicit:
            graph.add_edges_from((variable.id, other) for other in variables_asked_for(model, variable))
    return [
        v
        for v in variables
        if v.is_implicit
        and v.autobalance != "PENALTY"
        and ((v.tag, v.id, "expr") in formulas or v.has_subroutine)
        and not any(v.id in {n, *nx.descendants(graph, n)} for n in graph.successors(v.id))
    ]
