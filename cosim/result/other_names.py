"""What other tools call something of a result or a simulation, and what to write instead: for messages."""

INSTEAD = {
    **dict.fromkeys(("t", "times", "tout"), "the instants are result.time."),
    **dict.fromkeys(
        ("y", "x", "yout", "xout", "outputs", "values", "data"), "a signal is result['block.port']."
    ),
    **dict.fromkeys(("df", "to_df", "to_dataframe", "dataframe"), "write result.to_pandas()."),
    **dict.fromkeys(("to_netcdf", "to_nc", "to_xarray_dataset"), "write result.save('run.nc')."),
    **dict.fromkeys(("to_csv", "write", "export"), "write result.save('run.csv')."),
    "to_parquet": "write result.to_pandas().to_parquet('run.parquet').",
    "to_numpy": "a signal is the array result['block.port'].",
}

OF_A_SIMULATION = {
    **dict.fromkeys(
        ("run", "simulate", "run_until", "sim", "start", "do_step"), "write advance(until), or step()."
    ),
    **dict.fromkeys(
        ("reset", "restart", "init", "initialize"),
        "make a new Simulation, or restore(snapshot) of one taken before.",
    ),
    **dict.fromkeys(
        ("set_state", "set_initial", "set_initial_value", "set_x"),
        "states are set where a run begins: Simulation(d, initial={'block.x': 1.0}).",
    ),
    **dict.fromkeys(("set", "set_value", "set_param", "set_parameters"), "write set_parameter(name, value)."),
    **dict.fromkeys(("get", "get_value", "read", "signal"), "write value('block.port')."),
    **dict.fromkeys(("t", "now", "clock"), "the present time is simulation.time."),
    **dict.fromkeys(
        ("plot", "to_pandas", "to_xarray", "signals", "events"), "what was logged is simulation.result()."
    ),
}
