"""What a run leaves behind: the result, its files and its pictures."""

from cosim.result.record import Event as Event
from cosim.result.record import Setting as Setting
from cosim.result.record import Ticks as Ticks
from cosim.result.result import Result as Result
