"""User subroutine of sampled.xml: a controller with discrete states of its own, sampled inside.

What a script keeps is kept after accepted steps only; trial evaluations of the integrator leave no trace. The
force taken at an instant is returned from the next evaluation on: so it is constant within a step.
"""
# ruff: noqa: F821

kept = {"ticks": 0, "place": 0.0, "force": 0.0}


def VARSUB(id, time, par, npar, dflag, iflag):
    """-stiffness x - damping (x - x before)/period, of the last sample."""
    marker, period, stiffness, damping = par[:4]
    [x, _] = py_sysfnc("DX", [marker])
    if iflag:
        return 0.0
    force = kept["force"]
    if not dflag and time >= kept["ticks"] * period - 1e-9:
        before = kept["place"] if kept["ticks"] else x
        kept["force"] = -stiffness * x - damping * (x - before) / period
        kept["place"] = x
        kept["ticks"] += 1
    return force
