// The same with actors: a lock by one message.
#include <belay/caf/coordinator.hpp>

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <iostream>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  caf::actor_system_config config;
  caf::actor_system system(belay::caf::add_to(config));
  belay::client_options options;
  options.servers = {argc > 1 ? argv[1] : "http://127.0.0.1:1"};
  auto coordinator = belay::caf::coordinator(system, options);
  caf::scoped_actor self(system);
  bool held = false;
  self->request(coordinator, caf::infinite, belay::caf::lock{"outside", 10s})
      .receive([&](belay::caf::grant& g) { held = g.safe(); },
               [&](caf::error& e) { std::cout << system.render(e) << "\n"; });
  caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
  return held ? 0 : 1;
}
