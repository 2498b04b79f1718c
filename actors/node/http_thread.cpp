#include "actors/node/http_thread.hpp"

#include "actors/node/http_loop.hpp"

#include <caf/actor_cast.hpp>

#include <pthread.h>

namespace belay::actors {

http_gateway_actor http_thread::spawn(caf::actor_system& system, const node_actors_ptr& node_actors,
                                      gateway_settings settings, metrics& m) {
  http_gateway_actor gateway = system.spawn<http_gateway>(&host_, node_actors, std::move(settings), m);
  gateway_ = static_cast<http_gateway*>(caf::actor_cast<caf::abstract_actor*>(gateway));
  kept_ = caf::actor_cast<caf::strong_actor_ptr>(gateway);
  return gateway;
}

void http_thread::start() {
  // The loop looks at the gateway until it ends, which is after the actor has ended.
  thread_ = std::thread(
      [this, kept = std::move(kept_)] { http_loop(loop_, [this] { return gateway_->last_answer(); }).run(); });
  pthread_setname_np(thread_.native_handle(), "http"); // name in tools that list threads
}

void http_thread::run_to_the_end() {
  if (!thread_.joinable())
    thread_ = std::thread([this, kept = std::move(kept_)] { loop_.run(); });
}

void http_thread::stop() {
  stays_.reset();
  loop_.stop();
  thread_.join();
}

} // namespace belay::actors
