"""What a run leaves behind: the result, its files and its pictures."""

from cosim.result.result import Event as Event
from cosim.result.result import Result as Result
from cosim.result.result import Setting as Setting
from cosim.result.result import Ticks as Ticks
