"""Forces and torques between bodies, or on one body: one class each, with all that is particular to it.

===========  ====================================================================
`vectors`    Force_Vector_TwoBody, Force_Vector_OneBody, Force_Scalar_TwoBody
`springs`    Force_SpringDamper
`bushings`   Force_Bushing, Force_Field
`penalties`  Force_Penalty, whose force acts on coordinates, not at markers
===========  ====================================================================
"""

from plant.elements.forces import bushings, penalties, springs, vectors

FAMILIES = (vectors, springs, bushings, penalties)
