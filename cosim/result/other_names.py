"""What other tools call something of a result, and what to write instead: for messages."""

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
