"""Results of runs, their files and their pictures."""

from cosim.result.record import Event as Event
from cosim.result.record import SettingValue as SettingValue
from cosim.result.record import TickSeries as TickSeries
from cosim.result.result import Result as Result
