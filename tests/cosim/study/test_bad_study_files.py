"""Study files with a mistake: one clear error each, with file, table and key; nothing is written."""

# ruff: noqa: E501 (a table: a mistake and what is said of it on a line)

import pytest
from typer.testing import CliRunner

from blocks.errors import ScenarioError
from cosim import Study
from cosim.cli.cli import app
from cosim.scenario.loader import OF_STUDIES
from cosim.study.study_schema import STUDY_TABLES

SAMPLED = '[sampling]\nmethod = "sobol"\nruns = 4\n'
BAD = {
    "a range and a list together": ('[sweep]\n"k.k" = { from = 1, to = 2, values = [1] }', ['[sweep] "k.k".from', "does not go with 'values'"]),
    "zip of a range and a list": ('[[sweep.zip]]\n"k.k" = { from = 1, to = 2, count = 3 }\n"lag.x" = [1, 2]', ["[sweep.zip[0]]", "different lengths"]),
    "text of a case": ('[sampling]\nmethod = "list"\ncases = [{"k.k" = "a"}]', ['[sampling] cases[0]."k.k"', "expected a number"]),
    "whole numbers cut to nothing": (SAMPLED + '[sampling.parameters]\n"k.k" = { distribution = "poisson", mu = 3, low = 1.2, high = 1.8 }', ["k.k", "no values between low = 1.2 and high = 1.8"]),
    "whole numbers with a scale": (SAMPLED + '[sampling.parameters]\n"k.k" = { distribution = "poisson", mu = 3, scale = 2 }', ["k.k", "has no 'scale'"]),
    "numbers that make no distribution": (SAMPLED + '[sampling.parameters]\n"k.k" = { distribution = "beta", a = -1, b = 1 }', ["k.k", "no distribution 'beta' with a = -1 and b = 1"]),
    "variant of an unknown field": ('[[variants]]\nname = "a"\nblocks.step.tme = 0.7', ["variant 'a'", "[variants[0]] blocks.step.tme", "did you mean 'time'"]),
    "variant with a text for a number": ('[[variants]]\nname = "a"\n[[variants]]\nname = "b"\n[variants.blocks.k]\nk = "x"', ["variant 'b'", "[variants[1].blocks.k] k", "expected a number"]),
    "variant of an unknown table": ('[[variants]]\nname = "a"\nblock.step.time = 0.7', ["variant 'a'", "[variants[0]] block:", "did you mean 'blocks'"]),
    "variant that leaves an input open": ('[[variants]]\nname = "a"\n[[variants]]\nname = "b"\nwiring.connect = []', ["variant 'b' on line", "is not connected"]),
    "condition that is a number": ('[[actions]]\nwhen = "lag.y"\nset = { "k.k" = 2 }', ["[actions[0]] when", "this is a number", "^"]),
    "setting a signal that its condition names": ('[[actions]]\nwhen = "lag.y > 1"\nset = { "lag.y" = 0.5 }', ["[actions[0]] set", "no parameter 'lag.y': that is a signal", "fault = 'stuck'"]),
    "action on a start value": ('[[actions]]\nat = 1\nset = { "lag.x" = 0.5 }', ["[actions[0]] set", "no parameter 'lag.x'"]),
    "fault of a component that is not there": ('[[actions]]\nat = 1\nfault = "bias"\nvalue = 1\nsignal = "lag.y[3]"', ["[actions[0]] signal", "no component 3"]),
    "metric of an input": ('[[actions]]\nat = 1\nlasts = 1\npulse = { "k.u" = 1 }\n[metrics]\na = "max(k.u)"', ["[metrics] a", "'k.u' is an input, expected a signal. Write 'sum.y'"]),
    "a reduction of a reduction": ('[metrics]\na = "max(integral(lag.y))"', ["[metrics] a", "over a whole run already", "^"]),
    "a count of a number": ('[metrics]\na = "count(lag.y)"', ["[metrics] a", "expected a condition", "^"]),
    "numbers of the whole run in always": ('[[requirements]]\nname = "a"\nalways = "max(lag.y) < 1"', ["[requirements[0]]", 'belong into check']),
    "a metric of a check that is not there": ('[[requirements]]\nname = "a"\ncheck = "peek < 1"\n[metrics]\npeak = "max(lag.y)"', ["[requirements[0]] check", "'peek' is no metric (a signal is block.port); did you mean 'peak'?"]),
    "a metric by name in always": ('[[requirements]]\nname = "a"\nalways = "peak < 1"\n[metrics]\npeak = "max(lag.y)"', ["[requirements[0]] always", "'peak' is no name"]),
    "a window that ends before it begins": ('[[requirements]]\nname = "a"\nformula = "always[2, 1](lag.y < 1)"', ["formula", "ends at 1 s, before it begins", "^"]),
    "an interval longer than the run": ('[store]\nevery = 50.0\n[metrics]\na = "max(lag.y)"', ["[store] every", "longer than the run"]),
    "a search for a metric that is not there": ('[search]\nmetrics = ["b"]\n[metrics]\na = "max(lag.y)"\n[sweep]\n"k.k" = [1, 2]', ["[search] metrics", "no metric 'b'"]),
    "a name and its component": ('[sweep]\n"lag.den" = [[1, 2]]\n"lag.den[0]" = [1, 2]', ["[sweep]", "are the same number"]),
    "deep formula": (
        f'[[requirements]]\nname = "a"\nalways = "{"(" * 500}lag.y{")" * 500} < 1"',
        ["[requirements[0]] always", "more than 30 parts inside one another"],
    ),
    "signs on signs": (f'[metrics]\na = "max({"-" * 5000}lag.y)"', ["[metrics] a", "inside one another"]),
    "powers on powers": (f'[metrics]\na = "max({"2^" * 5000}lag.y)"', ["[metrics] a", "inside one another"]),
    "a settling of no number": ('[metrics]\na = { settling = "1/0", band = 0.1 }', ["[metrics] a.settling", "no finite real number", "^"]),
    "a division by zero behind a metric": ('[metrics]\na = "final(lag.y) + 1/(2 - 2)"', ["[metrics] a", "no finite real number"]),
    "a number that is too large to be one": ('[[requirements]]\nname = "a"\nalways = "lag.y < 1e999"', ["[requirements[0]] always", "no finite real number"]),
    "a root of a negative number": ('[[requirements]]\nname = "a"\nalways = "lag.y < (-8)^0.5"', ["[requirements[0]] always", "no finite real number"]),
    "a pulse without end": ('[[actions]]\nat = 0.5\npulse = { "k.u" = inf }\nlasts = 0.1', ["[actions[0]] pulse", "'k.u' is inf, expected finite numbers"]),
    "a power without end": ('[[actions]]\nwhen = "t > 9^9^9"\nset = { "k.k" = 2 }', ["[actions[0]] when", "no finite real number"]),
    "long formula": (f'[metrics]\na = "max(lag.y{"+1" * 5000})"', ["[metrics] a", "more than 200 operations"]),
    "a pair of correlations twice": (
        SAMPLED + 'correlations = [["k.k", "lag.x", 0.5], ["lag.x", "k.k", 0.1]]\n'
        '[sampling.parameters]\n"k.k" = { low = 0, high = 1 }\n"lag.x" = { low = 0, high = 1 }',
        ["[sampling] correlations[1]", "'lag.x' and 'k.k' are there already"],
    ),
    "a folder of cases": ('[sampling]\nmethod = "file"\nfile = "."', ["[sampling] file", "is a folder, expected a file"]),
    "date among numbers": ('[sweep]\n"k.k" = [2020-01-01]', ["[sweep]", "k.k", "expected a number"]),
    "not a number": ('[sweep]\n"k.k" = [1.0, nan]', ["[sweep]", "k.k", "value 1 is nan"]),
    "truth among numbers": ('[sweep]\n"k.k" = [true]', ["[sweep]", "k.k", "value 0 is True"]),
    "range to infinity": ('[sweep]\n"k.k" = { from = 0, to = inf, count = 3 }', ["to", "got inf, expected a number"]),
    "half a count": ('[sweep]\n"k.k" = { from = 0, to = 1, count = 2.5 }', ["count", "whole number"]),
    "sweep of a signal": ('[sweep]\n"lag.y" = [1]', ["[sweep]", "lag.y", "did you mean 'lag.x'"]),
    "component that is not there": ('[sweep]\n"lag.den[5]" = [1]', ["lag.den[5]", "it has 2, counted from 0"]),
    "unknown distribution of whole numbers": (SAMPLED + '[sampling.parameters]\n"k.k" = { distribution = "poison", mu = 3 }', ["no distribution 'poison'; did you mean 'poisson'"]),
    "bounds that are one": (SAMPLED + '[sampling.parameters]\n"k.k" = { low = 1, high = 1 }', ["k.k", "expected low below high"]),
    "list for a distribution": (SAMPLED + '[sampling.parameters]\n"k.k" = [0, 1]', ["k.k", "expected a table"]),
    "seed below nothing": ('[sampling]\nmethod = "lhs"\nruns = 4\nseed = -1\n[sampling.parameters]\n"k.k" = { low = 0, high = 1 }', ["seed", "at least 0"]),
    "number of corners": ('[sampling]\nmethod = "corners"\nruns = 3\n[sampling.parameters]\n"k.k" = { low = 0, high = 1 }', ["runs", "gives the number of runs"]),
    "cases of different names": ('[sampling]\nmethod = "list"\ncases = [{"k.k" = 1}, {"lag.x" = 2}]', ["cases", "in one of them only"]),
    "file of cases elsewhere": ('[sampling]\nmethod = "file"\nfile = "/etc/passwd"', ["[sampling] file", "--trust"]),
    "groups that do not fit": ('[sampling]\nmethod = "saltelli"\nruns = 5\n[sampling.parameters]\n"k.k" = { low = 0, high = 1 }', ["runs", "write 3 or 6"]),
    "correlation with itself": (SAMPLED + 'correlations = [["k.k", "k.k", 0.5]]\n[sampling.parameters]\n"k.k" = { low = 0, high = 1 }', ["correlations[0]", "name two"]),
    "action at an instant and on a condition": ('[[actions]]\nat = 0.5\nwhen = "lag.y > 1"\nset = { "k.k" = 2 }', ["[actions[0]]", "either 'at'"]),
    "action before the start": ('[[actions]]\nat = -1\nset = { "k.k" = 2 }', ["[actions[0]] at", "0 or more"]),
    "ramp without a duration": ('[[actions]]\nat = 1\nramp = { "k.k" = 2 }', ["[actions[0]]", "ramp needs 'over'"]),
    "duration of a set": ('[[actions]]\nat = 1\nover = 1\nset = { "k.k" = 2 }', ["[actions[0]] over", "does not go with set"]),
    "pulse at an output": ('[[actions]]\nat = 1\nlasts = 0.1\npulse = { "k.y" = 2 }', ["k.y", "did you mean 'k.u'"]),
    "switch to a text": ('[[actions]]\nat = 1\nswitch = { "k.u" = "off" }', ["[actions[0]] switch", "expected a number"]),
    "fault of nothing": ('[[actions]]\nat = 1\nfault = "bias"\nvalue = 1', ["[actions[0]]", "needs 'signal'"]),
    "fault of an unknown signal": ('[[actions]]\nat = 1\nfault = "bias"\nvalue = 1\nsignal = "lag.z"', ["signal", "did you mean 'lag.y'"]),
    "noise below nothing": ('[[actions]]\nat = 1\nfault = "noise"\nstd = -1\nsample = 0.1\nsignal = "lag.y"', ["std", "above 0"]),
    "dropout beyond certainty": ('[[actions]]\nat = 1\nfault = "dropout"\nprobability = 2\nsample = 0.1\nsignal = "lag.y"', ["[actions[0]]", "number up to 1"]),
    "action called as a block": ('[[actions]]\nname = "k"\nat = 1\nset = { "k.k" = 2 }', ["name", "is a block already"]),
    "two actions of one name": ('[[actions]]\nname = "x"\nat = 1\nset = { "k.k" = 2 }\n[[actions]]\nname = "x"\nat = 1\nset = { "k.k" = 3 }', ["name", "is there 2 times"]),
    "metric of a column's name": ('[metrics]\nwall_time = "max(lag.y)"', ["wall_time", "rename it"]),
    "two requirements of one name": ('[[requirements]]\nname = "a"\nalways = "lag.y < 2"\n[[requirements]]\nname = "a"\nalways = "lag.y < 3"', ["name", "is there 2 times"]),
    "always and eventually": ('[[requirements]]\nname = "a"\nalways = "lag.y < 2"\neventually = "lag.y > 0"', ["[requirements[0]]", "got always and eventually"]),
    "unit of a window": ('[[requirements]]\nname = "a"\nformula = "always[0, 1 kg](lag.y < 2)"', ["formula", "before 'kg'", "^"]),
    "window of a check": ('[[requirements]]\nname = "a"\ncheck = "max(lag.y) > 0"\nafter = 1', ["after", "write it into the formula"]),
    "a table where a list is": ('[store]\nsignals = "lag.y"', ["[store] signals", "expected a list"]),
    "variant of a study's table": ('[[variants]]\nname = "a"\nsweep."k.k" = [1, 2]', ["[variants[0]] sweep", "not the study"]),
    "key twice": ('[sweep]\n"k.k" = [1]\n"k.k" = [2]', ["not valid TOML", "keep one of them"]),
    "unknown parameter": ('[sweep]\n"k.gain" = [1, 2]', ["[sweep]", "k.gain", "there is 'k.k'"]),
    "unknown parameter sampled": (
        SAMPLED + '[sampling.parameters]\n"lag.q" = { low = 0, high = 1 }',
        ["[sampling.parameters]", "lag.q", "no parameter or initial value"],
    ),
    "too many builds": ('[sweep]\n"step.time" = { from = 0, to = 1, count = 201 }', ["[sweep]", "step.time", "built 201 times, 200 at most"]),
    "time of an action": ('[sweep]\n"push.at" = [1, 2]\n[[actions]]\nname = "push"\nat = 1\nset = { "k.k" = 2 }', ["[sweep]", "push.at", "no parameter or initial value"]),
    "structural field": ('[sweep]\n"sum.signs" = [1, 2]', ["[sweep]", "sum.signs", "cannot be built with sum.signs = 1"]),
    "wrong size": ('[sweep]\n"k.k" = [[1, 2], [3, 4]]', ["[sweep]", "k.k", "2 numbers"]),
    "values of different sizes": ('[sweep]\n"k.k" = [[1, 2], [3]]', ["k.k", "different sizes"]),
    "no values": ('[sweep]\n"k.k" = []', ["[sweep]", "k.k", "list of values"]),
    "a number": ('[sweep]\n"k.k" = 3', ["[sweep]", "k.k", "list of values"]),
    "text among numbers": ('[sweep]\n"k.k" = [1, "2"]', ["[sweep]", "k.k", "expected a number"]),
    "half a range": ('[sweep]\n"k.k" = { from = 1, to = 2 }', ["k.k", "'count' is missing"]),
    "count of nothing": ('[sweep]\n"k.k" = { from = 1, to = 2, count = 0 }', ["count", "at least 1"]),
    "count of one": ('[sweep]\n"k.k" = { from = 1, to = 2, count = 1 }', ["count", "2 or more"]),
    "count beyond all numbers": ('[sweep]\n"k.k" = { from = 1, to = 2, count = 1000000000000 }', ["count", "at most 10"]),
    "more cases than fit in memory": (
        '[sweep]\n"k.k" = { from = 1, to = 2, count = 1000000 }\n"lag.x" = { from = 1, to = 2, count = 1000000 }',
        ["1000000000000 cases", "memory", "Split it"],
    ),
    "logarithm of zero": (
        '[sweep]\n"k.k" = { from = 0, to = 2, count = 3, spacing = "log" }', ["spacing", "above 0"]
    ),
    "unknown spacing": (
        '[sweep]\n"k.k" = { from = 1, to = 2, count = 3, spacing = "logg" }', ["spacing", "Did you mean 'log'"]
    ),
    "unknown key of a range": ('[sweep]\n"k.k" = { from = 1, too = 2, count = 3 }', ["too", "did you mean 'to'"]),
    "zip of unequal lists": ('[[sweep.zip]]\n"k.k" = [1, 2]\n"lag.x" = [1]', ["zip", "different lengths"]),
    "swept twice": ('[sweep]\n"k.k" = [1]\n[[sweep.zip]]\n"k.k" = [1]', ["[sweep]", "swept twice"]),
    "swept and sampled": (
        '[sweep]\n"k.k" = [1]\n' + SAMPLED + '[sampling.parameters]\n"k.k" = { low = 0, high = 1 }',
        ["k.k", "swept and sampled"],
    ),
    "unknown method": ('[sampling]\nmethod = "soboll"\nruns = 4', ["method", "sobol"]),
    "no runs": ('[sampling]\nmethod = "lhs"\n[sampling.parameters]\n"k.k" = { low = 0, high = 1 }', ["'runs' is missing"]),
    "no parameters": (SAMPLED, ["[sampling]", "needs 'parameters'"]),
    "negative runs": ('[sampling]\nruns = -4\n[sampling.parameters]\n"k.k" = { low = 0, high = 1 }', ["runs", "at least 1"]),
    "unknown distribution": (
        SAMPLED + '[sampling.parameters]\n"k.k" = { distribution = "normall", mean = 0, std = 1 }',
        ["k.k", "no distribution 'normall'; did you mean 'normal'"],
    ),
    "missing number of a distribution": (
        SAMPLED + '[sampling.parameters]\n"k.k" = { distribution = "normal", mean = 0 }', ["k.k", "'std' is missing"]
    ),
    "number a distribution has not": (
        SAMPLED + '[sampling.parameters]\n"k.k" = { distribution = "normal", mean = 0, std = 1, sd = 2 }',
        ["k.k", "no 'sd'", "'std'"],
    ),
    "no deviation": (
        SAMPLED + '[sampling.parameters]\n"k.k" = { distribution = "normal", mean = 0, std = 0 }', ["k.k",
        "std is 0"]
    ),
    "bounds exchanged": (SAMPLED + '[sampling.parameters]\n"k.k" = { low = 2, high = 1 }', ["k.k", "low below high"]),
    "cut to nothing": (
        SAMPLED + '[sampling.parameters]\n"k.k" = { distribution = "expon", scale = 1, high = -1 }',
        ["k.k", "no values within high = -1"],
    ),
    "correlation with a stranger": (
        SAMPLED + 'correlations = [["k.k", "lag.x", 0.5]]\n[sampling.parameters]\n"k.k" = { low = 0, high = 1 }', ["correlations", "no parameter 'lag.x'"],
    ),
    "correlation of more than one": (
        SAMPLED + 'correlations = [["k.k", "lag.x", 1.5]]\n[sampling.parameters]\n"k.k" = { low = 0, high = 1 }', ["correlations", "between -1 and 1"],
    ),
    "contradicting correlations": (
        SAMPLED + 'correlations = [["k.k", "lag.x", 0.9], ["lag.x", "step.after", 0.9], ["k.k", "step.after", -0.9]]\n' '[sampling.parameters]\n"k.k" = { low = 0, high = 1 }\n"lag.x" = { low = 0, high = 1 }\n' '"step.after" = { low = 0, high = 1 }',
        ["correlations", "contradict"],
    ),
    "no file of cases": ('[sampling]\nmethod = "file"\nfile = "casse.csv"', ["file", "casse.csv"]),
    "variant without a name": ("[[variants]]\nblocks.k.k = 2.0", ["variants", "a name"]),
    "two variants of one name": ('[[variants]]\nname = "a"\n[[variants]]\nname = "a"', ["variants", "2 times"]),
    "variant of a table that is not there": (
        '[[variants]]\nname = "a"\nblock.k.k = 2.0', ["variant 'a'", "block", "did you mean 'blocks'"]
    ),
    "action without a time": ('[[actions]]\nset = { "k.k" = 1.0 }', ["actions", "either 'at'"]),
    "action that does nothing": ("[[actions]]\nat = 1.0", ["actions", "expected one of set"]),
    "action on an unknown parameter": ('[[actions]]\nat = 1.0\nset = { "k.kk" = 1.0 }', ["[actions[0]]", "k.kk", "'k.k'"]),
    "unknown fault": ('[[actions]]\nat = 1.0\nfault = "stock"\nsignal = "lag.y"', ["fault", "Did you mean 'stuck'"]),
    "metric of an unknown signal": ('[metrics]\npeak = "max(lag.z)"', ["[metrics]", "lag.z", "did you mean 'lag.y'"]),
    "metric with a broken formula": ('[metrics]\npeak = "max(abs(lag.y)"', ["[metrics] peak", "expected ')'", "^"]),
    "metric that is a signal": ('[metrics]\npeak = "lag.y"', ["[metrics] peak", "final(lag.y)"]),
    "metric that is a condition": ('[metrics]\npeak = "lag.y < 1"', ["[metrics] peak", "condition"]),
    "settling without a band": ('[metrics]\ns = { settling = "lag.y" }', ["[metrics] s", "'band' is missing"]),
    "two metrics in one": ('[metrics]\ns = { settling = "lag.y", rise = "lag.y", band = 1 }', ["[metrics] s", "one of"]),
    "requirement on an unknown signal": (
        '[[requirements]]\nname = "a"\nalways = "lag.why < 1"', ["requirements", "lag.why", "no signal"]
    ),
    "requirement without a name": ('[[requirements]]\nalways = "lag.y < 1"', ["requirements", "'name' is missing"]),
    "requirement without a condition": ('[[requirements]]\nname = "a"', ["requirements", "expected always"]),
    "requirement that is a number": ('[[requirements]]\nname = "a"\nalways = "lag.y"', ["always", "a number"]),
    "whenever without a consequence": (
        '[[requirements]]\nname = "a"\nwhenever = "lag.y > 1"', ["requirements", "whenever with eventually"]
    ),
    "window that ends before it begins": (
        '[[requirements]]\nname = "a"\nalways = "lag.y < 1"\nafter = 2\nbefore = 1', ["before", "not later than after"]
    ),
    "window after the end of the run": (
        '[[requirements]]\nname = "a"\nalways = "lag.y < 1"\nafter = 20', ["after", "20 s", "2 s"]
    ),
    "signal of several components": ('[metrics]\npeak = "max(two.out)"', ["[metrics]", "two.out", "two.out[0]"]),
    "stored signal that is not there": ('[store]\nsignals = ["lagg.*"]', ["[store]", "lagg.*"]),
    "signals of a summary": ('[store]\nkeep = "summary"\nsignals = ["k.y"]', ["[store]", "signals", "no effect", 'keep = "all"']),
    "numbers of a summary": ('[store]\nkeep = "summary"\ndtype = "float32"', ["[store]", "dtype", "no effect"]),
    "unknown way to keep": ('[store]\nkeep = "al"', ["keep", '"all"']),
    "interval of nothing": ("[store]\nevery = 0", ["every", "more than 0"]),
    "unknown type of numbers": ('[store]\ndtype = "float16"', ["dtype", '"float32"']),
    "whole run in a formula": (
        '[[requirements]]\nname = "a"\nalways = "max(lag.y) < 1"', ["requirements", "belong into check"]
    ),
    "action after the end of the run": ('[[actions]]\nat = 5\nset = { "k.k" = 1.0 }', ["actions", "at", "2 s is over"]),
    "search for an unknown requirement": (
        '[[requirements]]\nname = "low"\nalways = "lag.y < 1"\n[search]\nrequirement = "lo"',
        ["[search]", "no requirement 'lo'", "low"],
    ),
    "search for an unknown metric": ('[metrics]\npeak = "max(lag.y)"\n[search]\nmetrics = ["peek"]', ["[search]", "no metric 'peek'", "peak"]),
    "stop at what is not certain": (
        '[[requirements]]\nname = "low"\neventually = "lag.y < 1"\nstop = true', ["stop", "not certain"]
    ),
    "stop at what looks ahead": (
        '[[requirements]]\nname = "low"\nalways = "eventually[0, 1](lag.y < 1)"\nstop = true', ["stop", "instant alone"]
    ),
    "search of no runs": ("[search]\nruns = 0", ["[search]", "runs", "at least 1"]),
    "unknown table": ("[sweeep]\na = 1", ["sweeep", "did you mean 'sweep'"]),
    "percentile above 100": ('[metrics]\na = "percentile(lag.y, 120)"', ["[metrics] a", "from 0 to 100"]),
    "rise that goes back": (
        '[metrics]\na = { rise = "lag.y", low = 0.9, high = 0.1 }', ["[metrics] a", "high", "more than low = 0.9"]
    ),
    "band of a rise": ('[metrics]\na = { rise = "lag.y", band = 0.1 }', ["[metrics] a", "band", "does not go with rise"]),
    "action on an integral": (
        '[[actions]]\nwhen = "integral(lag.y) > 1"\nset = { "k.k" = 1.0 }', ["[actions[0]] when", "condition of an instant"]
    ),
    "action on what is to come": (
        '[[actions]]\nwhen = "always(lag.y > 1)"\nset = { "k.k" = 1.0 }', ["[actions[0]] when", "condition of an instant"]
    ),
    "empty list of cases": ('[sampling]\nmethod = "list"\ncases = []', ["[sampling]", "needs 'cases'"]),
    "metric called as a margin": (
        '[metrics]\n"r.robustness" = "max(lag.y)"\n[[requirements]]\nname = "r"\nalways = "lag.y < 1"',
        ["r.robustness", "margin"],
    ),
    "metric called as a parameter": (
        '[sweep]\n"k.k" = [1, 2]\n[metrics]\n"k.k" = "max(lag.y)"', ["[metrics]", "k.k", "what varies"]
    ),
    "requirement called as a parameter": (
        '[sweep]\n"k.k" = [1, 2]\n[[requirements]]\nname = "k.k"\nalways = "lag.y < 1"', ["name", "what varies"]
    ),
    "whole and component": ('[sweep]\n"k.k" = [1]\n"k.k[0]" = [1, 2]', ["[sweep]", "k.k[0]", "the same number", "Keep one"]),
    "whole swept and component sampled": (
        '[sweep]\n"lag.x" = [1]\n' + SAMPLED + '[sampling.parameters]\n"lag.x[0]" = { low = 0, high = 1 }',
        ["[sampling.parameters]", "initial value 'lag.x[0]'", "the same number"],
    ),
    "window that ends after the run": (
        '[[requirements]]\nname = "a"\nalways = "lag.y < 2"\nbefore = 20', ["before", "20 s", "2 s is over", "leave it out"]
    ),
    "time that the run does not have": (
        '[[requirements]]\nname = "a"\neventually = "lag.y > 0"\nafter = 1.5\nwithin = 1',
        ["within", "1 s after 1.5 s", "2 s", "shorter"],
    ),
    "formula about what comes after the run": (
        '[[requirements]]\nname = "a"\nformula = "always[0, 1](eventually[3, 4](lag.y > 0))"',
        ["formula", "eventually[3, 4]", "nothing before 3 s", "2 s is over"],
    ),
    "interval longer than the run": ("[store]\nevery = 5.0", ["[store] every", "5.0 s", "2 s", "shorter"]),
    "requirement without a word for a name": ('[[requirements]]\nname = " "\nalways = "lag.y < 1"', ["[requirements[0]] name", "expected a name"]),
    "metric of no name": ('[metrics]\n"" = "max(lag.y)"', ["[metrics]", "expected a name"]),
    "sweep of no name": ('[sweep]\n"" = [1]', ["[sweep]", "name is empty"]),
    "sample of no name": (SAMPLED + '[sampling.parameters]\n"" = { low = 0, high = 1 }', ["[sampling.parameters]", "name is empty"]),
    "zip of nothing": ("[[sweep.zip]]", ["zip", "names nothing"]),
    "stored signal of no name": ('[store]\nsignals = [""]', ["[store] signals", "expected a name"]),
    "operator over time in a check": (
        '[[requirements]]\nname = "a"\ncheck = "always(lag.y < 1)"', ["check", "belong into formula"]
    ),
    "stop without a word": ("[stop]", ["[stop]", "'when' is missing"]),
    "stop of nothing": ('[stop]\nwhen = "broken"', ["[stop]", "no requirements"]),
    "stop at what is known at the end": (
        '[[requirements]]\nname = "a"\ncheck = "max(lag.y) < 2"\n[stop]\nwhen = "decided"', ["requirements", "end of a run only"]
    ),
    "no TOML": ("[sweep\na = 1", ["not valid TOML", "^"]),
}  # fmt: skip
TWO = """
[blocks.two]
type = "Mux"
n = 2
"""
WIRED = '\nconnect = ["step.y -> two.in1", "lag.y -> two.in2", '


MANY = """
[sweep]
"k.kk" = [1.0, 2.0]
"lag.den" = [1.0, 2.0]
[sampling]
method = "sobol"
runs = 2
[sampling.parameters]
"q.k" = { low = 0, high = 1 }
[[actions]]
at = 0.1
set = { "nope.k" = 2.0 }
[[actions]]
name = "push"
at = 0.2
pulse = { "lag.uu" = 2.0 }
lasts = 0.1
[metrics]
top = "max(lag.yy)"
fine = "max(lag.y)"
[[requirements]]
name = "low"
always = "lagg.y < 3"
[store]
signals = ["lag.y", "k.z"]
"""
FOUND = [
    ('[sweep] "k.kk"', "no parameter or initial value 'k.kk'; did you mean 'k.k'"),
    ('[sweep] "lag.den"', "parameter 'lag.den' got 1 numbers, expected 2"),
    ('[sampling.parameters] "q.k"', "no parameter or initial value 'q.k'"),
    ('[actions[0]] set."nope.k"', "no parameter 'nope.k'"),
    ('[actions[1]] pulse."lag.uu"', "no input 'lag.uu'; did you mean 'lag.u'"),
    ("[metrics] top", "no signal 'lag.yy'; did you mean 'lag.y'"),
    ("[requirements[0]] always", "no signal 'lagg.y'; did you mean 'lag.y'"),
    ("[store] signals[1]", "no signal 'k.z'; did you mean 'k.y'"),
]


def test_names_that_are_not_in_the_model_are_reported_together(study_file, tmp_path):
    """The first of them ended a command, the next one the next command."""
    path = study_file(MANY)
    with pytest.raises(ScenarioError, match="8 problems in study.toml") as error:
        Study(path)
    lines = path.read_text().splitlines()
    assert len(error.value.value) == len(FOUND)
    for text, (place, problem) in zip(error.value.value, FOUND, strict=True):
        assert f": {place}: " in text and problem in text
        name = problem.split("'")[1]
        assert name in lines[int(text.split(":")[1]) - 1]
    for command in (["sweep", str(path), "--out", str(tmp_path / "out")], ["check", str(path)]):
        shown = CliRunner().invoke(app, command)
        assert shown.exit_code == 1 and "8 problems in study.toml" in shown.output + shown.stderr


def test_tables_of_studies_are_known_to_scenarios():
    assert set(OF_STUDIES) == set(STUDY_TABLES)


@pytest.mark.parametrize("name", BAD)
def test_one_clear_error(name, study_file, tmp_path, garbage_waits):
    from tests.cosim.study.conftest import FILE

    text, says = BAD[name]
    base = (TWO + FILE).replace("\nconnect = [", WIRED)
    path = study_file("\n" + text + "\n", base=base)
    shown = CliRunner().invoke(app, ["sweep", str(path), "--out", str(tmp_path / "out")])
    assert shown.exit_code == 1
    assert shown.exception is None or isinstance(shown.exception, SystemExit), shown.exception
    message = shown.stderr if shown.stderr_bytes is not None else shown.output
    assert "study.toml" in message, message
    for part in says:
        assert part in message, message
    assert len(message) < 1500
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("k.k\n1\nx\n", "column 'k.k', row 2: got 'x'"),
        ("k.k,k.k\n1,2\n", "has a column 'k.k' twice"),
        ("k.q\n1\n", "no parameter or initial value 'k.q'"),
        ("k.k,lag.x\n1,2\n,3\n", "column 'k.k', row 2: got nan, expected a finite number"),
        ("k.k,lag.x\n1,2\n1,2,3\n", "cannot read the cases in 'cases.csv'"),
        ("k.k\n1,5\n", "rows of 2 columns are below 1 name; write 1.5, not 1,5"),
        ("k.k,lag.x\n0,1,2\n3,4,5\n", "rows of 3 columns are below 2 names"),
        ("k.k\n1,\n", "rows of 2 columns are below 1 name"),
        ("k.k\n", "has no rows"),
        ("", "cannot read the cases in 'cases.csv'"),
    ],
)
def test_a_file_of_cases_that_is_wrong(content, says, study_file, tmp_path):
    path = study_file('[sampling]\nmethod = "file"\nfile = "cases.csv"\n')
    (tmp_path / "cases.csv").write_text(content)
    with pytest.raises(ScenarioError) as caught:
        Study(path)
    assert "study.toml:" in str(caught.value) and "[sampling] file: " in str(caught.value)
    assert says in str(caught.value)
