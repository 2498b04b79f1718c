// The in-memory cluster is shared with the unit tests; each test folder is a program of its own.
#include "tests/unit/protocol/raft/raft_cluster.cpp"
