"""Decks run as they are written: the commands of a MotionSolve file's Command block, in order.

::

    from cosim.deck import run_deck

    run = run_deck("model.xml")
    run.result["plant.request_tip"]     # all simulations in one Result
    run.linear[0].model                 # a python-control StateSpace
    print(run.linear[0].modes.table())

The same from the command line: ``cosim run model.xml``.
"""

from cosim.deck.outcome import DeckRun, DeckStep, LinearModel
from cosim.deck.run import run_deck

__all__ = ["DeckRun", "DeckStep", "LinearModel", "run_deck"]
