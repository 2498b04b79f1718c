// `belay lock` and `belay watch` against a small server: texts and exit codes are those of Consul
// 1.8.7, and the command ends when the lock does.

#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/small_node.hpp"
#include "tests/unit/cli/variables.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace belay::cli;

namespace {

constexpr std::uint64_t lock_flags = 3304740253564472344u;

std::string text_of_file(const std::string& name) {
  std::ifstream in(name);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs `act` in another thread once `file` exists.
class when_there {
public:
  when_there(std::string file, std::function<void()> act)
      : thread_([file = std::move(file), act = std::move(act)] {
          for (int i = 0; i < 3000 && text_of_file(file).empty(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          act();
        }) {}
  ~when_there() { thread_.join(); }

private:
  std::thread thread_;
};

arguments lock_words(const small_node& node, arguments more) {
  more.insert(more.begin(), {"lock", "-http-addr=" + node.address()});
  return more;
}

} // namespace

TEST_CASE("lock: a command runs, and the lock is removed afterwards", "[lock]") {
  const working_directory here;
  small_node node;
  const auto s = run_cli(lock_words(node, {"-verbose", "jobs/a", "env >env; exit 3"}));
  CHECK(s.code == 0);
  CHECK(s.out == "Setting up lock at path: jobs/a/.lock\nAttempting lock acquisition\nStarting handler\n"
                 "Child terminated, releasing lock\nCleanup succeeded\n");
  CHECK(s.err == "Error running handler: exit status 3\n");
  const auto env = text_of_file("env");
  CHECK(env.find("CONSUL_LOCK_HELD=true\n") != std::string::npos);
  CHECK(env.find("BELAY_LOCK_KEY=jobs/a/.lock\n") != std::string::npos);
  CHECK(env.find("BELAY_LOCK_SESSION=session-1\n") != std::string::npos);
  CHECK(env.find("BELAY_LOCK_FENCE=1011\n") != std::string::npos);
  CHECK_FALSE(node.has("jobs/a/.lock"));
  CHECK(node.sessions() == 0);
}

TEST_CASE("lock: exit codes", "[lock]") {
  const working_directory here;
  small_node node;
  CHECK(run_cli(lock_words(node, {"a", "exit 3"})).code == 0);
  CHECK(run_cli(lock_words(node, {"-child-exit-code", "a", "exit 3"})).code == 2);
  CHECK(run_cli(lock_words(node, {"-child-exit-code", "a", "exit 0"})).code == 0);
  const auto none = run_cli(lock_words(node, {"-shell=false", "-child-exit-code", "a", "no-such-program"}));
  CHECK(none.code == 2);
  CHECK(none.err == "Error starting handler: exec: \"no-such-program\": executable file not found in $PATH\n");
  CHECK_FALSE(node.has("a/.lock"));
  CHECK(node.sessions() == 0);
  CHECK(run_cli({"lock", "-http-addr=127.0.0.1:1", "a", "true"})
            .err.starts_with("Error querying Consul agent: GET http://127.0.0.1:1/"));
}

TEST_CASE("lock: a waiter gives up in time, or gets it when it is free", "[lock]") {
  const working_directory here;
  small_node node;
  node.put("a/.lock", {"", "another", lock_flags});
  const auto late = run_cli(lock_words(node, {"-timeout=100ms", "a", "touch ran"}));
  CHECK(late.code == 1);
  CHECK(late.err == "Shutdown triggered or timeout during lock acquisition\n");
  CHECK(node.at("a/.lock").session == "another");
  CHECK(node.sessions() == 0);
  std::ofstream("go") << "now";
  const when_there free("go", [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    node.put("a/.lock", {"", "", lock_flags});
  });
  CHECK(run_cli(lock_words(node, {"a", "touch ran"})).code == 0);
  CHECK(std::filesystem::exists("ran"));
}

// The first request had no limit: `-timeout=6s` with a hanging server took 25 s, or forever.
TEST_CASE("lock: the timeout covers everything, even if the server does not answer", "[lock]") {
  const working_directory here;
  constexpr std::chrono::milliseconds timeout(1500);
  const auto gives_up = [&](std::size_t answered, arguments words) {
    small_node node;
    node.hang_after(answered);
    words.insert(words.begin() + 1, {"-http-addr=" + node.address(), "-timeout=1500ms"});
    const auto begun = std::chrono::steady_clock::now();
    const auto s = run_cli(words);
    // Then a second each for the release and the session. The read of the key alone had 10 s.
    CHECK(std::chrono::steady_clock::now() - begun < 5 * timeout);
    CHECK(std::chrono::steady_clock::now() - begun >= timeout);
    CHECK(s.code == 1);
    return s.err;
  };
  CHECK(gives_up(0, {"lock", "a", "touch ran"}).starts_with("Error querying Consul agent: GET http://"));
  CHECK(gives_up(1, {"lock", "a", "touch ran"}).starts_with("Lock acquisition failed: failed to create session: "));
  CHECK(gives_up(3, {"lock", "a", "touch ran"}).starts_with("Lock acquisition failed: failed to read lock: "));
  CHECK(gives_up(3, {"lock", "-n=2", "a", "touch ran"})
            .starts_with("Lock acquisition failed: failed to make contender entry: "));
  CHECK(gives_up(0, {"semaphore", "-limit=2", "a", "touch ran"}).starts_with("Error querying agent: GET http://"));
  CHECK(gives_up(1, {"semaphore", "-limit=2", "a", "touch ran"})
            .starts_with("Lock acquisition failed: failed to create session: "));
  CHECK(gives_up(1, {"elect", "a", "touch ran"}).starts_with("Lock acquisition failed: failed to create session: "));
  CHECK_FALSE(std::filesystem::exists("ran"));
  small_node node; // a free lock is acquired, however little time there is
  CHECK(run_cli(lock_words(node, {"-timeout=1ms", "a", "touch ran"})).code == 0);
  CHECK(std::filesystem::exists("ran"));
}

// Added to the time of the machine, this timeout overflowed: it had passed before the first try.
TEST_CASE("lock: the longest timeout waits", "[lock]") {
  const working_directory here;
  small_node node;
  node.put("a/.lock", {"", "another", lock_flags});
  std::thread frees([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    node.put("a/.lock", {"", "", lock_flags});
  });
  const auto s = run_cli(lock_words(node, {"-timeout=2562047h", "a", "true"}));
  frees.join();
  CHECK(s.err == "");
  CHECK(s.code == 0);
}

TEST_CASE("lock: a key that is something else is left alone", "[lock]") {
  const working_directory here;
  small_node node;
  node.put("a/.lock", {"mine", "", 0});
  const auto s = run_cli(lock_words(node, {"a", "touch ran"}));
  CHECK(s.code == 1);
  CHECK(s.err == "Lock acquisition failed: Existing key does not match lock use\n");
  CHECK(node.at("a/.lock").value == "mine");
  CHECK_FALSE(std::filesystem::exists("ran"));
}

// The key is deleted, or the session ends: another client may get the lock at once.
TEST_CASE("lock: the command is killed when the lock is lost", "[lock]") {
  const working_directory here;
  small_node node;
  const when_there lost("up", [&] { node.put("a/.lock", {"", "another", lock_flags}); });
  const auto s = run_cli(lock_words(node, {"-verbose", "-child-exit-code", "a", "echo up >up; exec sleep 100"}));
  CHECK(s.code == 2);
  CHECK(s.out.find("Lock lost, killing child\nTerminating child pid ") != std::string::npos);
  CHECK(s.out.find("\nChild terminated\n") != std::string::npos);
  CHECK(s.err == "Error running handler: signal: terminated\n");
  CHECK(node.at("a/.lock").session == "another");
}

TEST_CASE("lock: the command is killed when no server confirms that the lock is held", "[lock]") {
  const working_directory here;
  small_node node;
  const when_there lost("up", [&] { node.fail(); });
  const auto s = run_cli(lock_words(node, {"-verbose", "-monitor-retry=1", "a", "echo up >up; exec sleep 100"}));
  CHECK(s.out.find("Lock lost, killing child\n") != std::string::npos);
  CHECK(s.code == 1);
  CHECK(s.err.find("Lock release failed: ") != std::string::npos);
}

TEST_CASE("lock: signals end the command, and the lock is released", "[lock]") {
  const working_directory here;
  small_node node;
  const when_there signal("up", [&] { ::kill(::getpid(), SIGTERM); });
  const auto s = run_cli(lock_words(node, {"-verbose", "-child-exit-code", "a", "echo up >up; exec sleep 100"}));
  CHECK(s.code == 0);
  CHECK(s.out.find("Shutdown triggered, killing child\n") != std::string::npos);
  CHECK(s.out.find("Cleanup succeeded\n") != std::string::npos);
  CHECK(node.sessions() == 0);
}

// Options are checked before any request: there is no server here.
TEST_CASE("lock: options for readers and writers exclude those for semaphores", "[lock]") {
  struct row {
    arguments more;
    const char* complaint;
  };
  const row rows[] = {
      {{"-shared", "-exclusive"}, "-shared and -exclusive cannot be combined\n"},
      {{"-shared", "-n=2"}, "-shared and -n cannot be combined\n"},
      {{"-exclusive", "-n=2", "-permits=1"}, "-exclusive and -n cannot be combined\n"},
      {{"-shared", "-permits=1"}, "-shared and -permits cannot be combined\n"},
      {{"-shared", "-monitor-retry=1"},
       "-monitor-retry cannot be combined with -shared, which retries after errors while the session is safe\n"},
      {{"-n=2", "-permits=1", "-monitor-retry=1"},
       "-monitor-retry cannot be combined with -permits, which retries after errors while the session is safe\n"},
      {{"-n=2", "-permits=3"}, "-permits must be between 1 and -n\n"},
      {{"-shared", "-timeout=-1s"}, "Timeout must be positive\n"},
  };
  for (const auto& r : rows) {
    arguments words = {"lock", "-http-addr=127.0.0.1:1"};
    words.insert(words.end(), r.more.begin(), r.more.end());
    words.insert(words.end(), {"a", "true"});
    const auto s = run_cli(words);
    CHECK(s.code == 1);
    CHECK(s.err == r.complaint);
  }
}

TEST_CASE("lock: readers and writers need claims", "[lock]") {
  const working_directory here;
  small_node node;
  const auto s = run_cli(lock_words(node, {"-shared", "-verbose", "a", "touch ran"}));
  CHECK(s.code == 1);
  CHECK(s.out == "Setting up shared lock: a\nAttempting lock acquisition\n");
  CHECK(s.err == "Lock acquisition failed: this requires claims, which the server does not support\n");
  CHECK_FALSE(std::filesystem::exists("ran"));
  CHECK(node.sessions() == 0);
}

TEST_CASE("lock: semaphores", "[lock]") {
  const working_directory here;
  small_node node;
  CHECK(run_cli(lock_words(node, {"-verbose", "-n=2", "s", "env >env"})).out ==
        "Setting up semaphore (limit 2) at prefix: s\nAttempting lock acquisition\nStarting handler\n"
        "Child terminated, releasing lock\nCleanup succeeded\n");
  CHECK(text_of_file("env").find("BELAY_LOCK_FENCE") == std::string::npos);
  CHECK_FALSE(node.has("s/.lock"));

  constexpr std::uint64_t semaphore_flags = 16210313421097356768u;
  node.put("s/x", {"", "x", semaphore_flags});
  node.put("s/.lock", {R"({"Limit":2,"Holders":{"x":true,"dead":true}})", "", semaphore_flags});
  CHECK(run_cli(lock_words(node, {"-n=2", "s", "touch ran"})).code == 0); // a dead holder has no slot
  CHECK(std::filesystem::exists("ran"));
  CHECK(node.at("s/.lock").value == R"({"Limit":2,"Holders":{"x":true}})");
  const auto other = run_cli(lock_words(node, {"-n=3", "s", "true"}));
  CHECK(other.code == 1);
  CHECK(other.err == "Lock acquisition failed: semaphore limit conflict (lock: 2, local: 3)\n");
  node.put("s/y", {"", "y", semaphore_flags});
  node.put("s/.lock", {R"({"Limit":2,"Holders":{"x":true,"y":true}})", "", semaphore_flags});
  CHECK(run_cli(lock_words(node, {"-n=2", "-timeout=100ms", "s", "true"})).err ==
        "Shutdown triggered or timeout during lock acquisition\n");
  for (const auto* wrong : {"", "{", "[]", R"({"Limit":2,"Holders":[]})"}) {
    node.put("s/.lock", {wrong, "", semaphore_flags});
    CHECK(run_cli(lock_words(node, {"-n=2", "-timeout=100ms", "s", "true"}))
              .err.starts_with("Lock acquisition failed: lock decoding failed: "));
  }
  const auto mixed = run_cli(lock_words(node, {"s", "true"}));
  CHECK(mixed.err == "Lock acquisition failed: Existing key does not match lock use\n");
}

TEST_CASE("watch: a command for each change", "[watch]") {
  const working_directory here;
  small_node node;
  node.put("k", {"one", "", 0});
  std::ofstream("each") << "cat >>seen; echo $CONSUL_INDEX >>indexes; test $(wc -l <seen) -lt 2\n";
  const when_there change("indexes", [&] { node.put("k", {"two", "", 0}); });
  const auto s = run_cli({"watch", "-http-addr=" + node.address(), "-type=key", "-key=k", "sh each"});
  CHECK(s.code == 1);
  CHECK(s.err == "Error executing handler: exit status 1\n");
  const auto seen = text_of_file("seen");
  CHECK(std::count(seen.begin(), seen.end(), '\n') == 2);
  CHECK(seen.find("\"Value\":\"b25l\"") < seen.find("\"Value\":\"dHdv\""));
  CHECK(text_of_file("indexes") == "11\n12\n");
}
