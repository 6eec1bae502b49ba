"""The blocks a diagram is built from, one family per file; each family lists its blocks in ``__all__``."""

from blocks.library import (
    algebraic,
    assertions,
    charts,
    continuous,
    controllers,
    converters,
    delays,
    derivatives,
    detect,
    discrete,
    elementary,
    equations,
    estimators,
    extremes,
    filters,
    flip_flops,
    friction,
    governor,
    hold,
    linear_algebra,
    logic,
    lookup,
    math,
    noise,
    nonlinear,
    optimal,
    play,
    predictive,
    python_function,
    recorded,
    routing,
    sampled_delays,
    sampled_filters,
    scheduling,
    selection,
    sources,
    state_feedback,
    switching,
    tables,
    tracking,
    unit_conversion,
    waveforms,
)

# Star imports take exactly the families' __all__, the one place where a block is listed.
from blocks.library.algebraic import *  # noqa: F403
from blocks.library.assertions import *  # noqa: F403
from blocks.library.charts import *  # noqa: F403
from blocks.library.continuous import *  # noqa: F403
from blocks.library.controllers import *  # noqa: F403
from blocks.library.converters import *  # noqa: F403
from blocks.library.delays import *  # noqa: F403
from blocks.library.derivatives import *  # noqa: F403
from blocks.library.detect import *  # noqa: F403
from blocks.library.discrete import *  # noqa: F403
from blocks.library.elementary import *  # noqa: F403
from blocks.library.equations import *  # noqa: F403
from blocks.library.estimators import *  # noqa: F403
from blocks.library.extremes import *  # noqa: F403
from blocks.library.filters import *  # noqa: F403
from blocks.library.flip_flops import *  # noqa: F403
from blocks.library.friction import *  # noqa: F403
from blocks.library.governor import *  # noqa: F403
from blocks.library.hold import *  # noqa: F403
from blocks.library.linear_algebra import *  # noqa: F403
from blocks.library.logic import *  # noqa: F403
from blocks.library.lookup import *  # noqa: F403
from blocks.library.math import *  # noqa: F403
from blocks.library.noise import *  # noqa: F403
from blocks.library.nonlinear import *  # noqa: F403
from blocks.library.optimal import *  # noqa: F403
from blocks.library.play import *  # noqa: F403
from blocks.library.predictive import *  # noqa: F403
from blocks.library.python_function import *  # noqa: F403
from blocks.library.recorded import *  # noqa: F403
from blocks.library.routing import *  # noqa: F403
from blocks.library.sampled_delays import *  # noqa: F403
from blocks.library.sampled_filters import *  # noqa: F403
from blocks.library.scheduling import *  # noqa: F403
from blocks.library.selection import *  # noqa: F403
from blocks.library.sources import *  # noqa: F403
from blocks.library.state_feedback import *  # noqa: F403
from blocks.library.switching import *  # noqa: F403
from blocks.library.tables import *  # noqa: F403
from blocks.library.tracking import *  # noqa: F403
from blocks.library.unit_conversion import *  # noqa: F403
from blocks.library.waveforms import *  # noqa: F403

__all__: list[str] = []
__all__ += algebraic.__all__
__all__ += assertions.__all__
__all__ += charts.__all__
__all__ += continuous.__all__
__all__ += controllers.__all__
__all__ += converters.__all__
__all__ += delays.__all__
__all__ += derivatives.__all__
__all__ += detect.__all__
__all__ += discrete.__all__
__all__ += elementary.__all__
__all__ += equations.__all__
__all__ += estimators.__all__
__all__ += extremes.__all__
__all__ += filters.__all__
__all__ += flip_flops.__all__
__all__ += friction.__all__
__all__ += governor.__all__
__all__ += hold.__all__
__all__ += linear_algebra.__all__
__all__ += logic.__all__
__all__ += lookup.__all__
__all__ += math.__all__
__all__ += noise.__all__
__all__ += nonlinear.__all__
__all__ += optimal.__all__
__all__ += play.__all__
__all__ += predictive.__all__
__all__ += python_function.__all__
__all__ += recorded.__all__
__all__ += routing.__all__
__all__ += sampled_delays.__all__
__all__ += sampled_filters.__all__
__all__ += scheduling.__all__
__all__ += selection.__all__
__all__ += sources.__all__
__all__ += state_feedback.__all__
__all__ += switching.__all__
__all__ += tables.__all__
__all__ += tracking.__all__
__all__ += unit_conversion.__all__
__all__ += waveforms.__all__
