"""The `footplate` command: one module per noun. A command parses, calls the SDK once, and prints.

    main            the root command, loading of subcommands, errors
    init, run, runs/, sweep, pipelines, experiments, models, endpoints, data, datastore, env, compute/, server, doctor,
    completion, azureml/, access/
                    the commands
    run_config      the options of `run` that describe a run
    context         options that commands share; finding the workspace and the run
    examples        examples for the help of every command
    follow          waiting for a run while its log grows
    console         printing: colours, times, sizes, JSON
    tables, stacks  tables and stack traces
    sweep_view      the live table of a sweep's trials

Data goes to stdout, messages to stderr; `--json` prints the same data for programs. Modules are imported when their
command is called, so that `--help` is fast.
"""
