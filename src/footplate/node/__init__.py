"""The node agent, one per node of a run: lays out the source, starts the ranks, ships what they write, ends them.

Crash-only: every step can be repeated, and an agent that is started again after SIGKILL adopts the ranks that still
live.

    agent     the story of one node, start to end        ranks     start, watch and adopt the user's processes
    options   what the engine says to it                 machine   what it says about its machine
    nursery   forks agents: a start in milliseconds      prepare   source folder (`snapshot`) and environment
    workdir   the agent's folder and what lies in it     tree      find and end every process of the run
    link      the part of the HTTP API that agents use   causes    why a rank ended, in words
    courier   the thread that talks to the server        sync      what has grown, by offset
    outputs   ./outputs, into the store                  sampler   CPU, memory, disk, network and GPU as series
    gpus      found and looked at                        leases    GPUs that this node has for itself
    salvage   what a lost attempt had not handed over    stacks    where the processes are, also when they hang
"""
