#include "sim/clients/exchanges.hpp"

#include <utility>

namespace belay::sim {

connection_id exchanges::send(std::size_t server, std::string bytes, received then, std::string uuid) {
  const auto number = ++last_;
  pending_.emplace(number, exchange{server, {}, std::move(then)});
  nodes_.gateway(server).send(number, std::move(bytes), std::move(uuid));
  return number;
}

bool exchanges::hang_up(connection_id number) {
  const auto gone = pending_.extract(number);
  if (gone && listens(gone.mapped().server))
    nodes_.gateway(gone.mapped().server).hang_up(number);
  return !gone.empty();
}

bool exchanges::on_bytes(connection_id number, std::string_view bytes, bool last) {
  const auto found = pending_.find(number);
  if (found == pending_.end())
    return false;
  auto& e = found->second;
  e.bytes += bytes;
  auto whole = whole_answer(e.bytes, last);
  if (!whole && !last)
    return true;
  if (whole)
    finish(found, {std::move(whole), {}});
  else
    finish(found, {std::nullopt, "the connection was closed in the middle of an answer"});
  return false;
}

void exchanges::on_node_gone(std::size_t server) {
  for (auto i = pending_.begin(); i != pending_.end();) {
    const auto next = std::next(i);
    if (i->second.server == server)
      finish(i, {std::nullopt, "the connection broke"});
    i = next;
  }
}

void exchanges::finish(pending::iterator e, exchange_end end) {
  const auto status = end.answer ? end.answer->status : 0;
  story_.add(e->first << 16 ^ static_cast<std::uint64_t>(status));
  time_.after(virtual_time::zero(), [then = std::move(e->second.then), end = std::move(end)] { then(end); });
  pending_.erase(e);
}

} // namespace belay::sim
