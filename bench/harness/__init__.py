"""What the programs in the folders beside this one share, from the bottom up.

    server.py     a PostgreSQL with the extension, and its throw-away cluster
    machine.py    what the figures depend on: machine, storage, settings, versions
    results.py    figures, kept so that a run can go on after an interruption
    programs.py   workloads that take more than a file of SQL
    mixes.py      sysbench's tests, and what an object-relational mapper sends
    workloads.py  the list of all workloads
    measure.py    turns of both access methods, in pairs
    report.py     the sections of the report, and its files
    plots.py      the pictures, and the report of one HTML file
    sql/          workloads that are a file of SQL, and their tables
    test          tries `run` and `report`
"""
