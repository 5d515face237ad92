"""Decisions about runs, carried out: only the orchestrator performs effects.

orchestrator       takes events, saves the lifecycle's decision, and performs effects by one table
effects            effects of jobs: resolve the environment, launch and stop agents
node_kind_memory   the kind of node that a run gets, for which its environment is resolved
agent_jobs         the description of a run's agents for an engine
agent_archives     archives that agents on other machines fetch: Footplate, and tools for a node
scheduler          the thread that admits waiting runs
queues             active runs by target, and the queues with the capacity of their targets
watcher            the thread that asks engines about agents; causes of runs that an engine ended
client_watcher     the thread that ends interactive runs whose process is gone
alarms             the thread that wakes runs at recorded times, and the clock of deadlines
groups             consults controllers and carries out their decisions about children
group_memory       children and notes of active groups
controller_table   table of controllers
"""
