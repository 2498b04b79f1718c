// A worker that is started on every machine and works on the leader: a CAF actor.
//
//   leader_worker SERVER NAME ME SECONDS   such as: leader_worker URL indexer "$(hostname)" 60
#include <belay/caf/coordinator.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <iostream>
#include <string>
#include <thread>

using namespace std::chrono_literals;

struct begin {}; // to itself: campaign for leadership
struct step {};  // to itself: the next piece of work
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(begin)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(step)

namespace {

caf::behavior worker(caf::event_based_actor* self, const belay::caf::coordinator_actor& coordinator,
                     const std::string& name, const std::string& me) {
  auto lease_id = std::make_shared<std::uint64_t>(0); // 0: it does not lead
  auto leads = [=](belay::caf::grant& g) {
    std::cout << me << " leads, fence " << g.fence << std::endl;
    *lease_id = g.id;
    self->send(self, step());
  };
  auto not_yet = [=](caf::error& e) {
    std::cerr << belay::caf::error_of(e).text() << std::endl;
    self->delayed_send(self, 500ms, begin());
  };
  // Pass g.fence with every change: the leadership may end between the check and the change.
  auto still_leads = [=](belay::caf::grant& g) {
    if (g.safe())
      std::cout << me << " works" << std::endl;
    self->delayed_send(self, 200ms, step());
  };
  auto leads_no_more = [=](caf::error&) {}; // `lost` comes, too
  self->send(self, begin());
  return {
      [=](begin) {
        belay::caf::campaign wanted{name, me, 60s}; // answered within that time
        self->request(coordinator, caf::infinite, wanted).then(leads, not_yet);
      },
      [=](step) {
        belay::caf::check question{*lease_id};
        self->request(coordinator, caf::infinite, question).then(still_leads, leads_no_more);
      },
      [=](belay::caf::lost& m) {
        std::cout << me << " leads no more: " << m.reason << std::endl;
        self->send(self, begin());
      },
  };
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: leader_worker SERVER NAME ME SECONDS\n";
    return 64;
  }
  caf::actor_system_config config;
  caf::actor_system system(belay::caf::add_to(config));
  belay::client_options options;
  options.servers = {argv[1]};
  auto coordinator = belay::caf::coordinator(system, options);
  auto works = system.spawn(worker, coordinator, std::string(argv[2]), std::string(argv[3]));
  std::this_thread::sleep_for(std::chrono::seconds(std::stoi(argv[4])));
  caf::anon_send_exit(works, caf::exit_reason::user_shutdown);       // the next one leads now
  caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown); // ends the session
}
