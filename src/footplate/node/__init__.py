"""The node agent, one per node of a run: prepares the node, runs the ranks, ships what they write.

Crash-only: every step can be repeated, and an agent that is started again after SIGKILL adopts the living ranks. An
agent on another machine than the server needs only the server's URL and the run's token.

    agent               the life of one node, start to end; read `Agent.work` first
    node_context        what the phases of that life share: orders, connection, ranks, helpers
    ending              sends what is left, and removes the node's directory
    options, __main__   the agent's command line, and the file that starts it
    supervisor          starts agents on other machines again if they are killed
    stopping            requests to stop the agent
    nursery             forks agents in milliseconds, for the local engine, and uses them again
    node_directory      the agent's directory, and the one from which jobs import Footplate
    preparation         working directory (`snapshot`) and interpreter of the ranks
    node_data           inputs and outputs of the run on this node
    distributions       metadata of the azureml packages
    rendezvous, ports   how nodes of a gang find each other
    process_tree        finds and ends every process of a run
    gpus                the GPUs of the machine, and leases on them
    sampler, host_info  use of the machine as series; facts about it
    stacks              Python stacks of the ranks, even if they hang
    log                 the agent's own log
    ranks/              the processes of the user: started, watched, explained and ended
    mpi/                mpirun over the agents
    delivery/           logs, metrics and outputs, sent to the server
"""
