// Configuration files, cut off and damaged: read, or rejected with a reason and a valid position.

#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/subjects.hpp"

using namespace belay;
using namespace belay::fuzz;

namespace {

corpus config_samples() {
  return {
      {"json", R"(j{
  "server": true, "bootstrap_expect": 3, "node_meta": {"rack": "7ü"},
  "ports": [{"http": -1}], "retry_join": ["a", "b\u0041"],
  "services": [{"name": "web", "checks": [{"ttl": "5s"}]}, {}], "x": null, "limits": {"rate": 1.5e3}
}
)"},
      {"hcl", R"(h# a comment
server = true // here
ports { http = 0x10 }
retry_join = ["a", "b",]
services { id = "a" }
services { id = "b" checks = [{ ttl = "5s" }] }
service "web" { port = 1 }
watches = [{ type = "key" }]
motd = <<EOF
Two lines ü,
EOF
)"},
      {"json_for_hcl", "h {\"ports\": {\"http\": 1}, \"a\": [1, [2], {}]} trailing"},
  };
}

} // namespace

TEST_CASE("stored configurations are unchanged", "[corpus]") {
  check_stored("config", config_samples());
}

TEST_CASE("configurations that are cut off anywhere") {
  for (const auto& [name, text] : read_corpus("config")) {
    std::size_t read = 0;
    for (std::size_t n = 0; n <= text.size(); ++n)
      read += run_input(fuzz_config, text.substr(0, n)) == config_finding::read ? 1 : 0;
    INFO(name);
    CHECK(read >= 1);
  }
}

TEST_CASE("damaged configurations") {
  const auto stored = read_corpus("config");
  seeded_random random(4711);
  std::size_t read = 0, refused = 0;
  for (int round = 0; round < 4000; ++round)
    for (const auto& [name, text] : stored) {
      auto input = text;
      const auto& other = std::next(stored.begin(), static_cast<std::ptrdiff_t>(random.below(stored.size())))->second;
      for (auto changes = 1 + random.below(3); changes > 0; --changes)
        mutate_bytes(input, other, random);
      const auto found = run_input(fuzz_config, input);
      read += found == config_finding::read ? 1 : 0;
      refused += found == config_finding::refused ? 1 : 0;
    }
  CHECK(read > 100);
  CHECK(refused > 100);
}
