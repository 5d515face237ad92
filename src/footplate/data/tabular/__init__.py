"""Tables on Arrow: a tabular definition (`domain.tabular`) evaluated as a stream of record batches.

    operations      operations for the SDK and `data.worker`: plain data in, plain data out
    sources         a definition's files, found in their stores and fetched when their rows are read
    engine          `Table`: schema and rows of a definition, over readers and steps
    readers         one reader per format, with requested or inferred types
    delimited, json_lines, parquet, sql       the formats
    files           a source file: opening, decompression, encodings
    convert         text to types; types from text
    expressions     filter expressions on the arrays of a batch
    steps           keep, drop, filter, skip, take, sample, split
    report          values that did not fit, columns that were left out
    frame, profile, writers      results: pandas-ready buffers, statistics, CSV and Parquet files
    arrow           pyarrow's modules, untyped

Rows pass through in batches; nothing here holds a whole table unless the caller wants one. The package needs pyarrow
(`pip install 'footplate[data]'`), which its importers check.
"""
