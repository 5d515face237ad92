"""Datastores and datasets of the SDK, as Azure ML v1 has them.

    datastore, datastore_kinds      `Datastore` and the classes of its kinds
    azure_registrations, registration       registration of datastores
    store_access                    credentials of stores; `worker_client` runs operations of `footplate.data` with them
    references                      `DataReference`, `DataPath`: a path in a datastore as an input of a run
    dataset                         `Dataset`: creating, finding and listing datasets
    base                            what file and tabular datasets share: registration, versions, listings
    file_dataset                    datasets of files
    tabular_dataset, table_steps, tabular_factory   tables
    column_types, dataframe         their conversion from and to pandas
    expressions, paths              conditions and paths as users write them
    consumption, output_dataset     datasets as inputs and outputs of runs
    changes                         the result of `dataset.verify()`
    profile_config, profile_run     `dataset.submit_profile_run`: its configuration, and its job
    uploaded_versions               versions of `footplate data add`

Standard library only, because it runs inside jobs.
"""
