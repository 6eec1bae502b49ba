"""User subroutines of kinetic_energy.xml: the kinetic energy of any rigid body.

`py_sysfnc` and `py_sysary` are put into this name space by the plant; parameters are
USER(marker at the centre of mass, mass, Ixx, Iyy, Izz). Each returns a value and an error flag.
"""
# ruff: noqa: F821


def VARSUB(id, time, par, npar, dflag, iflag):
    """As in the reference page: angular velocity along global axes."""
    [vm, _] = py_sysfnc("VM", [par[0]])
    [w, _] = py_sysary("RVEL", [par[0]])
    return 0.0 if iflag else energy(par, vm, w)


def own_axes(id, time, par, npar, dflag, iflag):
    """Angular velocity along the axes of the marker itself, those of the moments of inertia."""
    icm = int(par[0])
    [vm, _] = py_sysfnc("VM", [icm])
    [w, _] = py_sysary("RVEL", [icm, 0, icm])
    return 0.0 if iflag else energy(par, vm, w)


def energy(par, vm, w):
    """1/2 (m v^2 + Ixx wx^2 + Iyy wy^2 + Izz wz^2)."""
    _, mass, ixx, iyy, izz = par[:5]
    return 0.5 * (mass * vm**2 + ixx * w[0] ** 2 + iyy * w[1] ** 2 + izz * w[2] ** 2)
