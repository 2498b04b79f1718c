#include "actors/node/config/reference.hpp"

#include "actors/node/config/flags.hpp"
#include "actors/node/config/keys.hpp"

namespace belay::actors {

namespace {

constexpr std::string_view head = R"(# Configuration

Made from the tables in `actors/node/config/keys.cpp` and `flags.cpp`; change those, then
`BELAY_REWRITE=1 build/dev/test_node 'docs/configuration.md*'`. How to run a cluster: [operations.md](operations.md).

A configuration is JSON with the keys of Consul 1.8, in files (`-config-file`, `-config-dir`) and flags. Later files override
earlier ones and flags override files; lists are appended; sections are merged key by key. Unknown keys are refused.
`belay validate FILE` checks without starting. Durations are texts such as `10s`, `500ms` or `1h30m`. `SIGHUP` reads the files
again; of what changed, `log_level`, `log_json`, `log_file` and the tokens in `acl.tokens` but `master` take effect, the rest does at
the next start.

## Keys that do something

The last column begins with the default.

| key | flag | type | |
|---|---|---|---|
)";

constexpr std::string_view refused_head = R"(
## Keys that keep a server from starting

They ask for protection that is not there yet: the server does not run as if it were.

| key | flag | type | |
|---|---|---|---|
)";

constexpr std::string_view idle_head = R"(
## Keys without effect

Accepted, so that a configuration made for Consul can stay as it is. The log names those that ask for something at start, in one
line (`settings without effect in this build`).

| key | flag | type | |
|---|---|---|---|
)";

constexpr std::string_view silent_head = R"(
## Keys that need no effect

Accepted and not mentioned: without them things are as they ask, or close enough.

| key | flag | type | |
|---|---|---|---|
)";

std::string_view name_of(config_kind kind) {
  switch (kind) {
  case config_kind::boolean:
    return "boolean";
  case config_kind::integer:
    return "number";
  case config_kind::text:
    return "text";
  case config_kind::duration:
    return "duration";
  case config_kind::list:
    return "list of texts";
  case config_kind::text_map:
    return "texts by name";
  case config_kind::section:
    return "section";
  case config_kind::opaque:
    return "anything";
  case config_kind::definitions:
    return "definitions";
  }
  return "";
}

void append_rows(std::string& out, auto belongs) {
  for (const auto& key : config_keys()) {
    if (key.kind == config_kind::section || !belongs(key.effect))
      continue;
    out.append("| `").append(key.path).append("` |");
    if (const auto flag = flag_of_key(key.path); !flag.empty())
      out.append(" `-").append(flag).append("`");
    out.append(" | ").append(name_of(key.kind)).append(" |");
    if (!key.means.empty())
      out.append(" ").append(key.means);
    out.append(" |\n");
  }
}

} // namespace

std::string configuration_reference() {
  using enum config_effect;
  std::string out(head);
  append_rows(out, [](config_effect e) { return e == effective; });
  out += refused_head;
  append_rows(out, [](config_effect e) { return e == refused; });
  out += idle_head;
  append_rows(out, [](config_effect e) { return e == none || e == as_if_true; });
  out += silent_head;
  append_rows(out, [](config_effect e) { return e == silent; });
  return out;
}

} // namespace belay::actors
