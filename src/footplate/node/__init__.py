"""The node agent, one per node of a run: it prepares the working folder, starts the ranks, ships what they write, ends them.

Crash-only: every step can be repeated, and an agent that is started again after SIGKILL adopts the ranks that still
live.

    agent     the story of one node, start to end        ranks     start, watch and adopt the user's processes
    nursery   forks agents: a start in milliseconds      snapshot  the source folder, laid out
    workdir   the agent's folder and what lies in it     tree      find and end every process of the run
    link      the part of the HTTP API that agents use   causes    why a rank ended, in words
    courier   the thread that talks to the server        sync      what has grown, by offset
    outputs   ./outputs, into the store                  sampler   CPU, memory, disk, network and GPU as series
"""
