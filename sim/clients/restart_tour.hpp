#pragma once
// The profile `restart-after-each`. It performs each kind of operation (operation_kinds.hpp), then
// restarts one server or all, with the result only in the checkpoint or only in the log. So every
// kind of row, entry and response that is written can also be read.

#include "sim/chance/tape.hpp"
#include "sim/checkers/kv_model.hpp"
#include "sim/clients/exchanges.hpp"
#include "sim/clients/operation_kinds.hpp"
#include "sim/environment/cluster.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace belay::sim {

class restart_tour {
public:
  /// Functions that the run provides.
  struct steps {
    /// Runs until it holds. @returns false: it does not hold in time, or the run has failed
    std::function<bool(const std::function<bool()>& goal)> until;
    std::function<bool(virtual_time)> pass;
    /// All servers follow one leader, and have applied the same entries.
    std::function<bool()> settled;
  };

  restart_tour(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s);

  /// @returns the broken rule; nullopt: none, or the run itself has failed
  broken run(const steps& by);
  void committed(const raft::entry& e);
  bool on_bytes(connection_id c, std::string_view bytes, bool last) { return exchanges_.on_bytes(c, bytes, last); }
  void on_node_gone(std::size_t node) { exchanges_.on_node_gone(node); }

private:
  broken prepare(const steps& by);
  broken run_kind(const operation_kind& kind, const steps& by);
  /// @param requests the number sent before in this kind
  broken send(const operation_kind& kind, const example_step& step, std::size_t requests, const steps& by);
  /// @returns the response, or why there is none
  result<http_answer> send_once(const example_step& step, std::size_t requests, const steps& by);
  broken restart(const std::string& after, const steps& by);
  std::string filled_in(std::string text, std::size_t requests) const;
  std::string id_of(std::size_t request) const;
  void learn(const http_answer& a);
  bool in_checkpoints(log_index up_to) const;
  std::uint64_t draw(std::uint64_t n) { return tape_.choose({stream_kind::client, stream_number}, n); }

  static constexpr std::uint16_t stream_number = 990;

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  swarm swarm_;
  exchanges exchanges_;
  std::size_t kinds_run_ = 0;
  std::size_t home_ = 0; ///< the node whose agent gets the requests of the current kind
  std::string fence_ = "0", archive_;
  std::set<std::size_t> committed_; ///< numbers of commands in the list of alternatives
};

} // namespace belay::sim
