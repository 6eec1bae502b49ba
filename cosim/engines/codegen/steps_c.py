"""Steps of Runge-Kutta methods as C, printed from their tableaus."""

from __future__ import annotations

from cosim.engines.codegen.operations_c import number
from cosim.engines.methods.tableau import Tableau

FEW_STATES = 16  # up to here a step is written out state by state


def step(method: Tableau, nx: int, derivative: str = "derivative") -> str:
    """Steps of a Runge-Kutta method: the sums of its tableau from left to right, without the zeros.

    For few states everything is written out, so that the compiler can keep the numbers in registers.
    """
    few = nx <= FEW_STATES
    here = "y" if few else "x"  # where the step begins

    def every(line: str) -> str:
        """A line for all states."""
        if not few:
            return f"        for (int e = 0; e < NX; e++) {line}\n"
        written = (line.replace("NX + e]", f"NX + {e}]").replace("[e]", f"[{e}]") for e in range(nx))
        return "".join(f"        {text}\n" for text in written)

    loops: list[str] = []

    def moved(target: str, weights: tuple[float, ...]) -> str:
        terms = [f"(h * {number(w)}) * k[{j} * NX + e]" for j, w in enumerate(weights) if w != 0.0]
        line = f"{target}[e] = {here}[e] + ({' + '.join(terms)});"
        if few:
            return every(line)
        name = f"{method.name}_{target}_{len(loops)}"
        loops.append(_loop(name, target, line))
        return f"        {name}(h, x, k, {target});\n"

    stages = ""
    for i in range(1 if method.adaptive else 0, method.stages):
        if i > 0:
            stages += moved("trial", method.a[i])
        begins, place = method.c[i] == 0.0, "trial" if i > 0 else here
        stages += f"        s.t = {'t' if begins else f't + {number(method.c[i])} * h'};\n"
        stages += f"        s.x = {place};\n        {derivative}(&s, k + {i} * NX);\n"
    room = "    double *restrict trial = a->v + NV;\n"
    if few:
        room = f"    double y[NX + 1], trial[NX + 1];\n{every('y[e] = x[e];')}"
    ends = moved("x1", method.b)
    return (
        f"{''.join(loops)}"
        f"static int64_t step_{method.name}(const pl_args *a, const pl_equal_steps *w, double *restrict x,\n"
        "    double *restrict k, double *restrict x1)\n{\n"
        "    const double h = w->h;\n    double t = w->t;\n    int64_t done = 0;\n    pl_args s = *a;\n"
        f"{room}    for (;;) {{\n{stages}{ends}{_finite(nx)}"
        "        if (!finite || ++done == w->count) break;\n"
        f"        t = w->begin + (double)(w->first + done) * h;\n{every(f'{here}[e] = x1[e];')}    }}\n"
        f"{every('x[e] = y[e];') if few else ''}    return done;\n}}\n\n"
    )


def _loop(name: str, target: str, line: str) -> str:
    """A sum for all states, several at once."""
    return (
        f"PL_WIDE static void {name}(double h, const double *restrict x, const double *restrict k,\n"
        f"    double *restrict {target})\n{{\n    for (int e = 0; e < NX; e++) {line}\n}}\n\n"
    )


def _finite(nx: int) -> str:
    """Whether x1 is finite; zero times anything else is nan."""
    if nx <= FEW_STATES:
        terms = [f"x1[{e}] * 0.0" for e in range(nx)] or ["0.0"]
        while len(terms) > 1:  # pairs, so that no sum waits for another
            terms = [f"({' + '.join(terms[k : k + 2])})" for k in range(0, len(terms), 2)]
        return f"        const int finite = {terms[0]} == 0.0;\n"
    return (  # four sums, none of which waits for another
        "        double zero[4] = {0.0, 0.0, 0.0, 0.0};\n"
        "        for (int e = 0; e + 3 < NX; e += 4)\n"
        "            for (int j = 0; j < 4; j++) zero[j] += x1[e + j] * 0.0;\n"
        "        for (int e = NX - NX % 4; e < NX; e++) zero[0] += x1[e] * 0.0;\n"
        "        const int finite = zero[0] + zero[1] + (zero[2] + zero[3]) == 0.0;\n"
    )
