#pragma once
// The environment of client-library processes in a run of belay-sim. Their requests are not
// operations of the history: the models read the resulting writes in the log, and the
// processes check the promises to themselves. The session checker is notified of their
// renewals.

#include "sim/chance/tape.hpp"
#include "sim/checkers/reply_checker.hpp"
#include "sim/checkers/session_checker.hpp"
#include "sim/clients/exchanges.hpp"
#include "sim/kit/library_clients.hpp"

#include <memory>
#include <optional>
#include <string>

namespace belay::sim {

/// The reply in the form for client code.
belay_ground::reply reply_of(exchange_end end);

class library_ground final : public belay_ground::ground {
public:
  /// @param faults_end when the faults of the run are over
  library_ground(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s,
                 reply_checker& replies, session_checker& sessions, virtual_time faults_end);

  void start();
  /// Each process ends its work and its session.
  void stop();
  /// Names of processes that have not ended; empty: none.
  std::string unfinished() const { return clients_ ? clients_->unfinished() : std::string(); }
  /// The first broken rule.
  const broken& complaint();
  bool on_bytes(connection_id c, std::string_view bytes, bool last) { return exchanges_.on_bytes(c, bytes, last); }
  void on_node_gone(std::size_t node) { exchanges_.on_node_gone(node); }

  // ---- ground
  belay_ground::moment now() const override { return time_.now(); }
  void at(belay_ground::moment when, std::function<void()> what) override { time_.at(when, std::move(what)); }
  std::uint64_t choose(std::uint16_t number, std::uint64_t n) override;
  std::uint64_t choose_rarely(std::uint16_t number, std::uint64_t n, std::uint32_t per_million) override;
  std::size_t servers() const override { return nodes_.size(); }
  bool listens(std::size_t server) const override { return exchanges_.listens(server); }
  std::uint64_t send(std::size_t server, std::string bytes, std::function<void(belay_ground::reply)> reached) override;
  void hang_up(std::uint64_t number) override { exchanges_.hang_up(number); }
  void note(std::uint64_t what) override { trace_.add(what); }
  bool traces() const override { return trace_.wanted(); }
  void add_line(std::string_view who, const std::string& text) override;

private:
  /// Null: not a renewal.
  std::shared_ptr<operation> begun_renewal(std::size_t server, const std::string& bytes);
  void renewed(operation& o, const exchange_end& end);
  void complain(const broken& b);
  void note_what_was_done() const;

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  swarm swarm_;
  reply_checker& replies_;
  session_checker& sessions_;
  virtual_time faults_end_;
  exchanges exchanges_;
  std::uint64_t renewals_ = 0;
  std::unique_ptr<belay_ground::library_clients> clients_; ///< null: there are none
  broken complaint_;
};

} // namespace belay::sim
