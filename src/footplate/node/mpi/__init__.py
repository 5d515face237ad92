"""MPI without ssh: a real mpirun on node 0, whose daemons the agents of the other nodes start.

mpirun         finds an mpirun, renders its command line and the script around each rank; settings without a fabric
daemons        mpirun and its daemons as processes of the agent, in containers too
launcher_rpc   requests for daemons from agent to agent
remote_shell   the program that mpirun runs in place of ssh
"""
