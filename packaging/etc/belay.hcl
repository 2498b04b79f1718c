# Configuration of this server. Every key: /usr/share/doc/belay/reference/configuration.md; how to run a cluster: operate/operations.md beside it.
# Check it with `belay validate /etc/belay.d`. All *.hcl and *.json files of this folder are read, in the order of their names.

server   = true
data_dir = "/var/lib/belay"

# As it stands: one server for itself, which nobody reaches from outside this machine. What is made now belongs to a cluster of one:
# for three servers, write the other lines before the first start.
bootstrap   = true
bind_addr   = "127.0.0.1"
client_addr = "127.0.0.1"

# Three servers: instead of `bootstrap` and the two addresses above. The same on all of them but for node_name and bind_addr.
# bootstrap_expect = 3
# node_name        = "belay-1"
# bind_addr        = "10.0.0.1"
# client_addr      = "127.0.0.1 10.0.0.1"
# retry_join       = ["10.0.0.1:8300", "10.0.0.2:8300", "10.0.0.3:8300"]
# encrypt          = "..."      # the same key on all: belay keygen

performance {
  raft_multiplier = 1
}

# The log goes to the journal: journalctl -u belay. To a file as well (/etc/logrotate.d/belay rotates it):
# log_file = "/var/log/belay/belay.log"
