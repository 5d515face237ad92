"""Decisions about runs, carried out: only the orchestrator performs effects.

orchestrator       takes events, saves the lifecycle's decision, and performs effects by one table
record_order       recognizes records that arrive late
effects            effects of jobs: resolve the environment, launch and stop agents
node_kind_memory   the kind of node that a run gets, for which its environment is resolved
agent_jobs         the description of a run's agents for an engine
agent_archives     archives that agents on other machines fetch
agent_tools        which installed distributions are tools for a node
scheduler          the thread that admits waiting runs
queues             the queues with the capacity of their targets
queue_book         active runs by target, in memory
watcher            the thread that asks engines about agents
engine_ends        causes of runs whose agents the engine ended
client_watcher     the thread that ends interactive runs whose process is gone
alarms             the thread that wakes runs at recorded times
server_clock       the clock of deadlines: no jumps, and no downtime
groups             consults controllers and carries out their decisions about children
group_memory       children and notes of active groups
controller_table   table of controllers
"""
