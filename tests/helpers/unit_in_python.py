"""Functions of a test in the place of an FMU's binary."""

from __future__ import annotations

from types import SimpleNamespace

from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.caller import Caller
from cosim.fmi.interface.dialect import FMI2, FMI3

OK = 0


class Unit:
    """Functions by their names without prefix, `does`; the others answer OK. What was called is `told`."""

    file = "u.fmu"

    def __init__(self, version, **does):
        self.does, self.known, self.told = does, {}, []
        callback = ffi().callback("void(void)", lambda: None)
        self.log = SimpleNamespace(
            name="one", problem=None, shown=lambda: "It logged nothing.", callback=callback
        )
        self.dialect = (FMI2 if version == 2 else FMI3)()
        self.call = Caller(self, self.dialect.prefix, self.log)
        self.call.component = "component"

    def function(self, name):
        assert name.startswith(self.dialect.prefix)
        bare = name[4:]

        def called(*given):
            self.told.append((bare, *given))
            return self.does.get(bare, lambda *given: OK)(*given)

        return called
