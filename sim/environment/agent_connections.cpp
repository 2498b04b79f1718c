#include "sim/environment/agent_connections.hpp"

#include "protocol/base/bytes.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>

namespace belay::sim {

namespace {

namespace errors = boost::asio::error;

// The value that set_peer_options() sets for both ends.
constexpr std::chrono::seconds silence{3};
} // namespace

agent_connections::connection* agent_connections::find(id c) {
  const auto it = connections_.find(c);
  return it == connections_.end() ? nullptr : &it->second;
}

bool agent_connections::blocked(const connection& c, bool to_server) const {
  return to_server ? cut_.contains({c.agent, c.server}) : cut_.contains({c.server, c.agent});
}

// ---- dialing

agent_connections::id agent_connections::dial(std::size_t agent, const std::string& address,
                                              std::weak_ptr<agent_end> end) {
  const auto number = ++numbers_;
  auto& c = connections_[number];
  c.agent = agent;
  c.end = std::move(end);
  c.dialled = time_.now();
  trace_.add(0xd1a1 ^ number << 8 ^ agent);
  trace_.count();
  const auto server = server_at(address);
  if (!server) { // no response at all
    c.server = no_node;
    return number;
  }
  c.server = *server;
  time_.after(2 * latency, [this, number] { accept(number); });
  return number;
}

void agent_connections::accept(id number) {
  auto* c = find(number);
  if (c == nullptr || c->open)
    return;
  if (is_cut(c->agent, c->server)) // tries again, as TCP does, until the agent gives up
    return time_.after(std::chrono::milliseconds(250), [this, number] { accept(number); });
  const auto end = c->end.lock();
  if (!listens(c->server)) {
    connections_.erase(number);
    if (end != nullptr)
      end->connected(errors::connection_refused);
    return;
  }
  c->open = true;
  c->accepted = time_.now();
  c->door.emplace(demands ? demands(c->server) : none_);
  if (end != nullptr)
    end->connected({});
}

// ---- bytes

void agent_connections::send(id number, std::string bytes) {
  if (const auto* c = find(number); c != nullptr && c->open && !c->server_gone)
    travel(number, true, std::move(bytes));
}

void agent_connections::end_output(id number) {
  auto* c = find(number);
  if (c == nullptr || !c->open || c->server_gone || c->agent_gone || c->to_server.ends)
    return;
  c->to_server.ends = true;
  travel(number, true, {});
}

bool agent_connections::answer(id number, std::string_view bytes, bool last) {
  auto* c = find(number);
  if (c == nullptr || c->agent_gone)
    return false;
  std::string ciphertext;
  if (c->channel && !bytes.empty()) {
    if (!c->channel->write(bytes))
      return false;
    c->channel->take_output(ciphertext);
    bytes = ciphertext;
  }
  if (!bytes.empty())
    travel(number, false, std::string(bytes));
  if (last)
    travel(number, false, {});
  return true;
}

/// Empty `bytes` end the connection, or only the input of that direction.
void agent_connections::travel(id number, bool to_server, std::string bytes) {
  auto& c = connections_.at(number);
  // The seed does not decide the bytes and the lengths that TLS sends.
  trace_.add((demands ? 0 : crc32c(bytes)) ^ number << 16 ^ static_cast<std::uint64_t>(to_server));
  trace_.count();
  auto& d = to_server ? c.to_server : c.to_agent;
  if (blocked(c, to_server)) {
    d.held.push_back(std::move(bytes));
    return;
  }
  d.last_arrival = std::max(d.last_arrival, time_.now() + latency);
  time_.at(d.last_arrival, [this, number, to_server, bytes = std::move(bytes)] {
    auto* there = find(number);
    if (there == nullptr)
      return;
    if (blocked(*there, to_server))
      (to_server ? there->to_server : there->to_agent).held.push_back(bytes);
    else
      arrive(number, to_server, bytes);
  });
}

void agent_connections::arrive(id number, bool to_server, const std::string& bytes) {
  auto& c = connections_.at(number);
  if (to_server) {
    if (c.server_gone)
      return;
    if (paused(c.server))
      return c.to_server.held.push_back(bytes);
    if (!bytes.empty())
      return read(number, c, bytes);
    const auto server = c.server;
    const bool known = c.identified;
    if (std::exchange(c.to_server.ends, false))
      return known ? output_ended(server, number) : void();
    connections_.erase(number);
    if (known)
      hung_up(server, number);
    return;
  }
  if (const auto end = c.end.lock(); end != nullptr) {
    if (!bytes.empty())
      return end->arrived(bytes);
    connections_.erase(number);
    end->ended(errors::eof);
  }
}

/// HTTP follows the handshake.
void agent_connections::read(id number, connection& c, const std::string& bytes) {
  if (!c.identified)
    return identify(number, c, bytes);
  if (!c.channel)
    return received(c.server, number, bytes);
  std::string plaintext, output;
  const auto fed = c.channel->feed(bytes, plaintext);
  c.channel->take_output(output);
  if (!output.empty())
    travel(number, false, std::move(output));
  if (!fed) {
    hung_up(c.server, number);
    return refuse(number, c);
  }
  if (!plaintext.empty())
    received(c.server, number, std::move(plaintext));
}

void agent_connections::identify(id number, connection& c, const std::string& bytes) {
  auto bytes_read = c.door->feed(bytes);
  if (auto output = c.door->take_answer(); !output.empty())
    travel(number, false, std::move(output));
  if (bytes_read && !*bytes_read)
    return;
  if (admitted)
    admitted({c.agent, c.server, c.dialled, c.accepted, bytes_read.ok(),
              bytes_read.ok() && (*bytes_read)->channel.has_value(),
              bytes_read.ok() ? std::string() : bytes_read.error()});
  if (!bytes_read)
    return refuse(number, c);
  auto& known = **bytes_read;
  INVARIANT(known.hello.client_agent);
  c.identified = true;
  c.channel = std::move(known.channel);
  identified(c.server, number, known.hello);
  if (!known.after_hello.empty())
    received(c.server, number, std::move(known.after_hello));
  c.door.reset();
}

/// The server closes it.
void agent_connections::refuse(id number, connection& c) {
  travel(number, false, {});
  c.server_gone = true;
}

// ---- ends

void agent_connections::close(id number) {
  auto* c = find(number);
  if (c == nullptr || c->agent_gone)
    return;
  c->end.reset();
  c->agent_gone = true;
  if (!c->open || c->server_gone)
    connections_.erase(number);
  else
    travel(number, true, {});
}

void agent_connections::break_up(id number, boost::system::error_code why) {
  const auto node = connections_.extract(number);
  if (node.empty())
    return;
  const auto& c = node.mapped();
  if (c.identified && !c.server_gone)
    hung_up(c.server, number);
  if (const auto end = c.end.lock())
    c.open ? end->ended(why) : end->connected(why);
}

void agent_connections::gone(std::size_t node, bool power) {
  std::vector<id> these;
  for (auto& [number, c] : connections_)
    if (c.agent == node || c.server == node) {
      these.push_back(number);
      if (c.server == node)
        c.server_gone = true;
      else
        c.end.reset();
      if (c.agent == node)
        c.agent_gone = true;
    }
  for (const auto number : these)
    time_.after(power ? virtual_time(silence) : latency,
                [this, number] { break_up(number, errors::connection_reset); });
}

void agent_connections::resumed(std::size_t server) {
  std::vector<id> these;
  for (const auto& [number, c] : connections_)
    if (c.server == server && !blocked(c, true))
      these.push_back(number);
  for (const auto number : these)
    if (auto* c = find(number))
      for (const auto& bytes : std::exchange(c->to_server.held, {}))
        if (find(number) != nullptr)
          arrive(number, true, bytes);
}

bool agent_connections::is_connected(std::size_t agent, std::size_t server) const {
  return std::any_of(connections_.begin(), connections_.end(), [&](const auto& each) {
    const auto& c = each.second;
    return c.open && c.agent == agent && c.server == server;
  });
}

void agent_connections::cut(std::size_t from, std::size_t to) {
  if (!cut_.try_emplace({from, to}, time_.now()).second)
    return;
  time_.after(silence, [this, from, to, since = time_.now()] {
    const auto it = cut_.find({from, to});
    if (it == cut_.end() || it->second != since)
      return;
    std::vector<id> these;
    for (const auto& [number, c] : connections_)
      if (c.open && ((c.agent == from && c.server == to) || (c.agent == to && c.server == from)))
        these.push_back(number);
    for (const auto number : these)
      break_up(number, errors::timed_out);
  });
}

void agent_connections::mend(std::size_t from, std::size_t to) {
  if (cut_.erase({from, to}) == 0)
    return;
  std::vector<std::pair<id, bool>> these;
  for (const auto& [number, c] : connections_)
    if (c.agent == from && c.server == to)
      these.emplace_back(number, true);
    else if (c.agent == to && c.server == from)
      these.emplace_back(number, false);
  for (const auto& [number, to_server] : these) {
    auto& c = connections_.at(number);
    for (auto& bytes : std::exchange((to_server ? c.to_server : c.to_agent).held, {}))
      travel(number, to_server, std::move(bytes));
  }
}

void agent_connections::mend_all() {
  while (!cut_.empty())
    mend(cut_.begin()->first.first, cut_.begin()->first.second);
}

} // namespace belay::sim
