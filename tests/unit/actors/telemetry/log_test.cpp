// The log's lines: people and tools read them, so an event is always exactly one line.

#include "actors/telemetry/log.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

// 2026-11-21T10:00:00.123Z
constexpr std::int64_t some_time = 1795255200123;

/// Resets the logger to its defaults, and removes its file.
struct log_file {
  ~log_file() { belay::log::configure({}); }

  belay::harness::scratch_folder folder;
  std::string path = folder / "log";
};

} // namespace

TEST_CASE("a line of text") {
  CHECK(belay::log::format_line(false, some_time, belay::log::level::info, "raft", "became leader",
                                {{"term", 3}, {"index", std::uint64_t{17}}}) ==
        "2026-11-21T10:00:00.123Z [INFO]  raft: became leader term=3 index=17");
  CHECK(belay::log::format_line(false, some_time, belay::log::level::error, "fsm", "x",
                                {{"why", "two words"}, {"ok", false}, {"s", 1.5}, {"n", -1}, {"e", ""}}) ==
        R"(2026-11-21T10:00:00.123Z [ERROR] fsm: x why="two words" ok=false s=1.5 n=-1 e="")");
}

// A key or an address chosen by a client must not be able to forge a second line.
TEST_CASE("line breaks inside values stay inside the line") {
  CHECK(belay::log::format_line(false, some_time, belay::log::level::warn, "m", "t", {{"k", "a\nb\"\x01"}}) ==
        R"(2026-11-21T10:00:00.123Z [WARN]  m: t k="a\nb\"\u0001")");
  CHECK(belay::log::format_line(false, some_time, belay::log::level::warn, "m", "t\n2026", {}).find('\n') ==
        std::string::npos);
}

TEST_CASE("a line of JSON") {
  CHECK(
      belay::log::format_line(true, some_time, belay::log::level::debug, "raft", "say \"hi\"",
                              {{"term", 3}, {"who", "n1"}}) ==
      R"({"@level":"debug","@message":"say \"hi\"","@module":"raft","@timestamp":"2026-11-21T10:00:00.123Z","term":3,"who":"n1"})");
}

TEST_CASE("names of levels") {
  CHECK(belay::log::level_named("err") == belay::log::level::error);
  CHECK(belay::log::level_named("ERROR") == belay::log::level::error);
  CHECK(belay::log::level_named("Trace") == belay::log::level::trace);
  CHECK_FALSE(belay::log::level_named("loud").has_value());
  CHECK_FALSE(belay::log::level_named("").has_value());
}

TEST_CASE("lines below the level are not written, and the level changes while running") {
  log_file f;
  REQUIRE(belay::log::configure({belay::log::level::warn, false, false, f.path}).empty());
  belay::log::info("m", "quiet");
  belay::log::warn("m", "loud");
  belay::log::set_level(belay::log::level::debug);
  belay::log::debug("m", "chatty");
  auto text = belay::harness::file_text(f.path);
  CHECK(text.find("quiet") == std::string::npos);
  CHECK(text.find("loud") != std::string::npos);
  CHECK(text.find("chatty") != std::string::npos);
}

// An operator streams the log at DEBUG: the log file and other streams must not change.
TEST_CASE("each follower of the log has its own level and format") {
  log_file f;
  REQUIRE(belay::log::configure({belay::log::level::warn, false, false, f.path}).empty());
  {
    belay::log::tap all(belay::log::level::debug, false, 10000), json(belay::log::level::error, true, 10000);
    CHECK(belay::log::enabled(belay::log::level::debug));
    CHECK_FALSE(belay::log::enabled(belay::log::level::trace));
    belay::log::debug("m", "chatty");
    belay::log::error("m", "broken");
    const auto seen = all.take();
    CHECK(seen.find("[DEBUG] m: chatty\n") != std::string::npos);
    CHECK(seen.find("[ERROR] m: broken\n") != std::string::npos);
    const auto errors = json.take();
    CHECK(errors.find("chatty") == std::string::npos);
    CHECK(errors.find(R"("@message":"broken")") != std::string::npos);
    CHECK(all.take().empty());
  }
  CHECK_FALSE(belay::log::enabled(belay::log::level::debug));
  CHECK(belay::harness::file_text(f.path).find("chatty") == std::string::npos);
  CHECK(belay::harness::file_text(f.path).find("broken") != std::string::npos);
}

// Its client reads nothing for minutes while the server logs much.
TEST_CASE("lines that a slow reader misses are counted, not kept") {
  log_file f;
  REQUIRE(belay::log::configure({belay::log::level::error, false, false, f.path}).empty());
  belay::log::tap slow(belay::log::level::info, false, 1000);
  for (int i = 0; i < 500; ++i)
    belay::log::info("m", "message", {{"n", i}});
  auto seen = slow.take();
  CHECK(seen.size() < 1200);
  CHECK(seen.find("n=0\n") != std::string::npos);
  const auto lines = static_cast<int>(std::count(seen.begin(), seen.end(), '\n')) - 1;
  CHECK(seen.find("lines dropped: their reader is too slow lines=" + std::to_string(500 - lines)) != std::string::npos);
  belay::log::info("m", "goes on");
  seen = slow.take();
  CHECK(seen.find("goes on") != std::string::npos);
  CHECK(seen.find("lost") == std::string::npos);
}

// How a log is rotated: rename the file, then SIGHUP, which configures the log again.
TEST_CASE("a renamed file is left alone once the log is configured again") {
  log_file f;
  const belay::log::settings s{belay::log::level::info, false, false, f.path};
  REQUIRE(belay::log::configure(s).empty());
  belay::log::info("m", "first");
  std::filesystem::rename(f.path, f.path + ".1");
  REQUIRE(belay::log::configure(s).empty());
  belay::log::info("m", "second");
  CHECK(belay::harness::file_text(f.path + ".1").find("second") == std::string::npos);
  CHECK(belay::harness::file_text(f.path).find("second") != std::string::npos);
}

TEST_CASE("a file that cannot be opened changes nothing") {
  log_file f;
  REQUIRE(belay::log::configure({belay::log::level::info, false, false, f.path}).empty());
  CHECK(belay::log::configure({belay::log::level::info, false, false, "/nonexistent/x/y"}).find("No such file") !=
        std::string::npos);
  belay::log::info("m", "still here");
  CHECK(belay::harness::file_text(f.path).find("still here") != std::string::npos);
}

TEST_CASE("lines of several threads do not mix") {
  log_file f;
  REQUIRE(belay::log::configure({belay::log::level::info, false, false, f.path}).empty());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i)
        belay::log::info("m", "message", {{"text", "a longer value that could be torn"}});
    });
  for (auto& t : threads)
    t.join();
  std::istringstream in(belay::harness::file_text(f.path));
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines)
    CHECK(line.ends_with("m: message text=\"a longer value that could be torn\""));
  CHECK(lines == 800);
}
