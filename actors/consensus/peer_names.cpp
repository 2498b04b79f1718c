#include "actors/consensus/peer_names.hpp"

#include <netinet/in.h>

#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

namespace belay::actors {

namespace {

using steady = std::chrono::steady_clock;

// It is asked only when somebody dials. A peer that moved is found so late; its name server is asked so often.
constexpr std::chrono::seconds fresh_for{2};
// Each may have a thread that waits. A configuration names a few servers; should others ever get names in here, they are few, too.
constexpr std::size_t names_max = 64;

} // namespace

struct peer_names::answers {
  struct answer {
    std::optional<socket_endpoint> last;
    steady::time_point answered{};
    bool asked = false; ///< a thread is waiting for it
  };
  std::mutex mutex;
  std::map<std::string, answer> by_name;
};

peer_names::peer_names(lookup look_up) : look_up_(std::move(look_up)), answers_(std::make_shared<answers>()) {}

peer_names::lookup peer_names::system_lookup() {
  return [](const std::string& host) { return resolved(host.c_str(), nullptr, 0); };
}

std::optional<socket_endpoint> peer_names::find(const std::string& host, std::uint16_t port) {
  if (host.empty())
    return std::nullopt;
  if (auto e = numeric_endpoint(host, port))
    return e;
  std::lock_guard lock(answers_->mutex);
  if (answers_->by_name.size() >= names_max && !answers_->by_name.contains(host))
    return std::nullopt;
  auto& known = answers_->by_name[host];
  if (!known.asked && (!known.last || steady::now() - known.answered > fresh_for)) {
    known.asked = true;
    try {
      std::thread([to = answers_, ask = look_up_, host] {
        auto found = ask(host);
        std::lock_guard lock(to->mutex);
        auto& a = to->by_name[host];
        if (found) // a name server that is away for a while makes nobody unreachable
          a.last = found;
        a.answered = steady::now();
        a.asked = false;
      }).detach();
    } catch (const std::system_error&) {
      known.asked = false; // no thread: the next dial asks again
    }
  }
  auto e = known.last;
  if (e && e->bytes.ss_family == AF_INET)
    reinterpret_cast<sockaddr_in&>(e->bytes).sin_port = htons(port);
  else if (e && e->bytes.ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6&>(e->bytes).sin6_port = htons(port);
  return e;
}

} // namespace belay::actors
