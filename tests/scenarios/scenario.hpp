#pragma once
// Text scenarios send several Raft nodes an exact sequence of events, and show what the nodes do.
//
// A file is a list of blocks: comments (#) and commands, a line `----`, and the output expected, up to an empty line.
// Commands without output print "ok". After every step of a node the invariants are checked, after
// every block all logs are compared, and at the end of the file everything is healed and the
// cluster must converge. With BELAY_REWRITE=1 the expected output is rewritten: read the diff.
//
//   cluster nodes=3 [batch=1]      nodes 1..3, bootstrapped with each other; at most so many entries per message
//   node 4                         a process with an empty disk
//   elect 1                        time passes, nobody but 1 may ask for votes, until 1 leads and all is committed
//   elect 1 silent                 the same, but nothing that 1 says as a leader arrives
//   tick 1 n=3 | tick all n=3      ticks, nothing is delivered (default n=1)
//   run n=10                       tick all, deliver all, ten times
//   deliver [from=1] [to=2] [type=append_ok] [n=1]     oldest first; without n until none (new ones included) matches
//   duplicate ...                  the same filters: delivers each match that is in flight now, and keeps it in flight
//   drop ...                       the same filters: loses what is in flight now
//   net                            what is in flight
//   show [1]                       one line per node
//   log 1                          index@term of the entries kept
//   propose 1 text                 prints the index, or "refused"
//   read 1 7                       asks for a read under id 7
//   reads 1                        confirmed and failed reads since last asked
//   unknown 1                      first index whose proposals were reported unknown
//   lease 1                        whether 1 may serve reads without asking
//   config 1 voters=1,2 [learners=3]
//   transfer 1 2                   leadership, from 1 to 2
//   unreachable 1 2                1 learns that its link to 2 is gone
//   cut 1 2 | join 1 2 | heal | partition 1,2 3
//   crash 1 [survives=1] | restart 1      power loss; of what was not synced that many batches are there all the same
//   stall 1 | unstall 1 | sync 1 n=1      the disk
//   hold_install 1 | release_install 1    a complete checkpoint waits to be put in force
//   checkpoint 1 [keep=2]
//   count                          messages sent since last asked

#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <functional>
#include <string>
#include <vector>

namespace belay::raft::testing {

class scenario {
public:
  /// Runs the whole text. @returns it with the output that really came; problems (broken invariants, no convergence)
  /// are in the output.
  std::string run(const std::string& text);

private:
  struct command {
    std::string name;
    std::vector<std::string> words;
    std::map<std::string, std::string> options;
    std::uint64_t number(std::size_t i) const;
    std::uint64_t option(const std::string& key, std::uint64_t otherwise) const;
    std::vector<std::uint64_t> list(const std::string& key) const;
  };
  static command parse(const std::string& line);
  static std::vector<std::uint64_t> numbers(const std::string& text);
  std::string execute(const command& c);
  std::string elect(const command& c);
  std::string deliver(const command& c);
  std::string pick(const command& c, const std::function<void(std::size_t)>& act, bool removes);
  static bool matches(const command& c, const message& m);
  std::string reads(std::uint64_t id);
  std::string show(const command& c);

  raft_cluster cluster_;
};

} // namespace belay::raft::testing
