#include "tests/harness/child_process.hpp"

#include <csignal>
#include <fcntl.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace belay::harness {

child_process::child_process(const std::vector<std::string>& argv, const std::string& log_file) {
  // Everything is prepared before the fork: afterwards only async-signal-safe calls are allowed.
  std::vector<char*> words;
  for (const auto& word : argv)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  auto parent = getpid();
  pid_ = fork();
  if (pid_ < 0)
    throw std::runtime_error("fork failed");
  if (pid_ > 0)
    return;
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(127);
  int null = open("/dev/null", O_RDONLY);
  int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(null, 0);
  dup2(log, 1);
  dup2(log, 2);
  execvp(words[0], words.data());
  _exit(127);
}

child_process::~child_process() {
  if (running()) {
    kill(-pid_, SIGKILL); // and its children
    wait(milliseconds{10000});
  }
}

bool child_process::running() {
  return !wait(milliseconds{0});
}

void child_process::signal(int number) {
  if (running())
    kill(pid_, number);
}

std::optional<process_end> child_process::wait(milliseconds limit) {
  auto end = std::chrono::steady_clock::now() + limit;
  while (!end_) {
    int status = 0;
    auto got = waitpid(pid_, &status, WNOHANG);
    if (got == pid_) {
      process_end how;
      if (WIFSIGNALED(status))
        how.signal = WTERMSIG(status);
      else
        how.code = WEXITSTATUS(status);
      end_ = how;
    } else if (std::chrono::steady_clock::now() >= end) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(milliseconds{2});
    }
  }
  return end_;
}

} // namespace belay::harness
