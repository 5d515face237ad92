"""The node agent, one per node of a run: lays out the source, starts the ranks, ships what they write, ends them.

Crash-only: every step can be repeated, and an agent that is started again after SIGKILL adopts the ranks that still
live.

    agent     the story of one node, start to end        crew      its ranks as one: begun, watched, ended
    options   what the engine says to it                 ranks     one process: started, seen to end, found again
    nursery   forks agents: a start in milliseconds      setting   what ranks are started with
    workdir   the agent's folder and what lies in it     prepare   source folder (`snapshot`) and environment
    link      the part of the HTTP API that agents use   tree      find and end every process of the run
    courier   the thread that talks to the server        causes    why a rank ended, in words
    sync      what has grown, by offset                  sampler   CPU, memory, disk, network and GPU as series
    outputs   ./outputs, into the store                  salvage   what a lost attempt had not handed over
    gpus      found and looked at                        leases    GPUs that this node has for itself
    gang      what nodes do to find each other           daemons   mpirun, and the daemons that it asks for
    machine   what it says about its machine             stacks    where the processes are, also when they hang
"""
