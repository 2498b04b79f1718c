#include "sim/program/process_setup.hpp"

#include "protocol/archive/sha256.hpp"

#include <csignal>

namespace belay::sim {

namespace {

volatile std::sig_atomic_t requested_to_stop = 0;

} // namespace

void set_up_process() {
  archive::sha256{}; // finding the algorithm takes as long as a tenth of a run
  struct sigaction once {};
  once.sa_handler = [](int) { requested_to_stop = 1; };
  once.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &once, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() {
  return requested_to_stop != 0;
}

} // namespace belay::sim
