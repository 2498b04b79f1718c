#include "actors/node/http_loop.hpp"

#include <sched.h>

namespace belay::actors {

bool http_loop::worth_waiting_awake(clock::time_point now) const {
  return quick_client_ && now - last_answer_() < awake_max;
}

void http_loop::run() {
  auto answered = last_answer_();
  while (!loop_.stopped()) {
    if (loop_.poll() == 0) {
      if (worth_waiting_awake(clock::now())) {
        sched_yield();
        continue;
      }
      answered = last_answer_();
      if (loop_.run_one() == 0)
        return;
      quick_client_ = clock::now() - answered < 2 * awake_max;
      continue;
    }
    // An event arrived while polling. If none had, the next answer finds the loop asleep and
    // measures again.
    quick_client_ = quick_client_ || clock::now() - answered < 2 * awake_max;
    answered = last_answer_();
  }
}

} // namespace belay::actors
