#include "sim/environment/simulated_gateway.hpp"

#include "actors/gateway/exchange_queue.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/uuid.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/scoped_execution_unit.hpp>
#include <caf/send.hpp>

#include <charconv>

namespace belay::sim {

namespace {

using close_atom = caf::atom_constant<caf::atom("hang_up")>;
using end_atom = caf::atom_constant<caf::atom("end_output")>;

// As often as http_gateway checks its connections.
constexpr std::chrono::seconds sweep_interval{1};
// No output is buffered: a simulated client reads everything at once.
constexpr std::size_t unsent = 0;
// Real clients do not send this header; real servers and agents ignore it.
constexpr std::string_view client_header_name = "X-Simulated-Client";
const std::string client_header = "\r\n" + std::string(client_header_name) + ": ";

} // namespace

/// The gateway as its connections see it, except that it collects responses and notes requests.
class simulated_gateway::host final : public actors::connection_host {
public:
  explicit host(actors::connection_host& real) : real_(real) {}

  actors::socket_poller& sockets() override { return real_.sockets(); }
  actors::http_reader_pool& readers() override { return real_.readers(); }
  actors::monotonic_time now() override { return real_.now(); }
  std::int64_t wall_ns() override { return real_.wall_ns(); }
  std::string_view date() override { return real_.date(); }
  const http::route_settings& routes() override { return real_.routes(); }
  void understand(const http::raw_request& r, actors::exchange& e) override { real_.understand(r, e); }
  void dispatch(actors::exchange& e) override;
  void body_arrived(actors::exchange& e) override { real_.body_arrived(e); }
  void next_piece(actors::exchange& e) override { real_.next_piece(e); }
  void forget(actors::exchange& e) override { real_.forget(e); }
  void end_wait(actors::exchange& e) override { real_.end_wait(e); }
  void count(const actors::exchange& e, int status) override { real_.count(e, status); }
  void closed(actors::http_connection&) override {}

private:
  actors::connection_host& real_;
};

/// A client's connection: http_connection without a socket.
class simulated_gateway::connection final : public actors::requester {
public:
  /// @param passes_on null: the connection is a client's own
  connection(simulated_gateway& all, connection_id id, const http::client_agent* passes_on)
      : all_(all), id_(id), passes_on_(passes_on), queue_(*this, *all.host_, limits_) {}

  void take(std::string_view bytes) {
    waiting_ += bytes;
    progress();
  }

  void progress() override {
    if (busy_)
      return;
    busy_ = true;
    std::size_t used = 0;
    bool more_needed = false;
    for (;;) {
      write_in_order();
      if (queue_.empty())
        asking_ = nullptr;
      if (more_needed || !queue_.may_begin(unsent) || used == waiting_.size())
        break;
      used += look_at_next(std::string_view(waiting_).substr(used), more_needed);
    }
    waiting_.erase(0, used);
    busy_ = false;
    flush(input_ended_ && queue_.empty());
  }

  void sweep(actors::monotonic_time now) {
    if (queue_.sweep(now))
      progress();
  }
  void drop() { queue_.drop(); }
  void note_end() { queue_.note_end(passes_on_ != nullptr, waiting_); }
  /// @param gone no one reads the responses
  void end_of_input(bool gone) {
    input_ended_ = true;
    gone_ = gone_ || gone;
    note_end();
    if (queue_.uploading())
      return end();
    busy_ = true;
    queue_.end_waits();
    busy_ = false;
    progress();
  }
  void asks(const actors::exchange& e) { asking_ = &e; }
  bool is_asking(request_id id) const { return asking_ != nullptr && !queue_.empty() && asking_->id == id; }
  /// The client of the current request. An agent's connection carries one at a time; 0: its own
  connection_id client() const { return passes_on_ == nullptr ? id_ : client_; }
  bool is_of_agent() const { return passes_on_ != nullptr; }
  void carries_of(connection_id client) { client_ = client; }

private:
  void write_in_order() {
    queue_.write(unsent);
    while (const auto body = queue_.take_body()) {
      for (const auto& piece : body->pieces)
        all_.host_->output += *piece;
      queue_.write(unsent);
    }
  }

  std::size_t look_at_next(std::string_view input, bool& more_needed) {
    using read_outcome = actors::http_reader::outcome;
    auto& readers = all_.host_->readers();
    if (reader_ == nullptr)
      reader_ = readers.take();
    std::size_t used = 0;
    const auto found = reader_->read(input, used);
    if (found == read_outcome::head) {
      queue_.begin(*reader_, address(), passes_on_, true);
    } else if (found == read_outcome::more) {
      more_needed = true;
      if (queue_.uploading())
        queue_.body_arrived(reader_->take_body(), false);
    } else if (found == read_outcome::complete) {
      if (queue_.uploading())
        queue_.body_arrived(reader_->take_body(), true);
      else
        queue_.begin(*reader_, address(), passes_on_, false);
      readers.give_back(std::move(reader_));
    } else {
      queue_.refuse(found, *reader_);
      readers.give_back(std::move(reader_));
      return input.size();
    }
    return used;
  }

  void flush(bool all_answered) {
    const auto bytes = std::exchange(all_.host_->output, {});
    const bool last = all_answered || queue_.closing();
    if (bytes.empty() && !last)
      return;
    const auto keep = shared_from_this();
    if (gone_ ? !all_answered : all_.received_(id_, bytes, last) && !all_answered)
      return;
    end();
  }

  void end() {
    const auto keep = shared_from_this();
    queue_.drop();
    all_.connections_.erase(id_);
  }

  /// Agents connect from the address of their node.
  std::string_view address() const { return passes_on_ != nullptr ? std::string_view(passes_on_->address) : address_; }

  static constexpr std::string_view address_ = "127.0.0.1";
  static constexpr actors::connection_limits limits_{};

  simulated_gateway& all_;
  connection_id id_, client_ = 0;
  const http::client_agent* passes_on_;
  std::unique_ptr<actors::http_reader> reader_;
  actors::exchange_queue queue_;
  const actors::exchange* asking_ = nullptr; ///< the newest in the queue, unless that is empty: one request at a time
  std::string waiting_;
  bool busy_ = false;
  bool input_ended_ = false, gone_ = false;
};

void simulated_gateway::host::dispatch(actors::exchange& e) {
  static_cast<connection*>(e.from)->asks(e);
  real_.dispatch(e);
}

simulated_gateway::simulated_gateway(caf::actor_system& system, const actors::node_actors_ptr& node_actors,
                                     actors::gateway_settings settings, actors::metrics& m, received to_clients)
    : received_(std::move(to_clients)) {
  settings.uuid = [this, high = settings.seed, number = std::uint64_t{0}]() mutable {
    return next_uuid_.empty() ? uuid_of(high, ++number) : std::exchange(next_uuid_, {});
  };
  settings.simulated_header = client_header_name;
  gateway_ = system.spawn<actors::http_gateway>(nullptr, node_actors, std::move(settings), m);
  real_ = dynamic_cast<actors::http_gateway*>(caf::actor_cast<caf::abstract_actor*>(gateway_));
  INVARIANT(real_ != nullptr);
  host_ = std::make_unique<host>(real_->as_host());
  sockets_ = system.spawn([this](caf::event_based_actor* self) -> caf::behavior {
    self->delayed_send(self, sweep_interval, actors::tick_atom::value);
    // The gateway sends in this actor's context, as it does in the callbacks of its sockets.
    return {
        [this, self](connection_id c, const std::string& bytes, const std::string& uuid) {
          real_->context(self->context());
          arrived(c, bytes, uuid);
        },
        [this, self](close_atom, connection_id c) {
          real_->context(self->context());
          identified_.erase(c);
          if (c % 2 == 0)
            end_of_input(c, true);
          else if (const auto gone = connections_.extract(c)) {
            gone.mapped()->note_end();
            gone.mapped()->drop();
          }
        },
        [this, self](end_atom, connection_id c) {
          real_->context(self->context());
          end_of_input(c, false);
        },
        [this, self](actors::tick_atom) {
          real_->context(self->context());
          sweep();
          self->delayed_send(self, sweep_interval, actors::tick_atom::value);
        },
    };
  });
}

simulated_gateway::~simulated_gateway() = default;

void simulated_gateway::send(connection_id c, std::string bytes, std::string uuid) {
  caf::anon_send(sockets_, c, std::move(bytes), std::move(uuid));
}

void simulated_gateway::hang_up(connection_id c) {
  caf::anon_send(sockets_, close_atom::value, c);
}

void simulated_gateway::end_output(connection_id c) {
  caf::anon_send(sockets_, end_atom::value, c);
}

void simulated_gateway::end_of_input(connection_id c, bool gone) {
  if (const auto found = connections_.find(c); found != connections_.end()) {
    const auto keep = found->second;
    keep->end_of_input(gone);
  }
}

void simulated_gateway::hang_up_all() {
  caf::scoped_execution_unit unit(&real_->system());
  real_->context(&unit);
  for (const auto& [c, connection] : std::exchange(connections_, {}))
    connection->drop();
  real_->context(nullptr);
}

std::optional<connection_id> simulated_gateway::asking(request_id id) const {
  for (const auto& [c, connection] : connections_)
    if (connection->is_asking(id))
      return connection->client() == 0 ? std::nullopt : std::optional(connection->client());
  return std::nullopt;
}

void simulated_gateway::arrived(connection_id c, std::string_view bytes, std::string uuid) {
  auto& there = connections_[c];
  if (there == nullptr) {
    const auto agent = identified_.find(c);
    there = std::make_shared<connection>(*this, c, agent == identified_.end() ? nullptr : &agent->second);
  }
  const auto keep = there;
  if (there->is_of_agent())
    uuid = look_for_client(*there, bytes);
  next_uuid_ = std::move(uuid);
  keep->take(bytes);
  next_uuid_.clear();
}

std::string simulated_gateway::with_client(std::string bytes, connection_id client, const std::string& uuid) {
  return bytes.insert(bytes.find("\r\n"), client_header + std::to_string(client) + " " + uuid);
}

/// @returns the requested id; empty: none
std::string simulated_gateway::look_for_client(connection& c, std::string_view bytes) {
  const auto head = bytes.substr(0, bytes.find("\r\n\r\n"));
  if (head.size() == bytes.size()) // a part of a body
    return {};
  const auto at = head.find(client_header);
  c.carries_of(0);
  if (at == std::string_view::npos)
    return {};
  auto line = head.substr(at + client_header.size());
  line = line.substr(0, line.find("\r\n"));
  connection_id client = 0;
  std::from_chars(line.data(), line.data() + line.size(), client);
  c.carries_of(client);
  const auto space = line.find(' ');
  return space == std::string_view::npos ? std::string() : std::string(line.substr(space + 1));
}

void simulated_gateway::sweep() {
  const auto all = connections_;
  for (const auto& [c, connection] : all)
    connection->sweep(real_->as_host().now());
}

} // namespace belay::sim
