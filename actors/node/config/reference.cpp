#include "actors/node/config/reference.hpp"

#include "actors/node/config/flags.hpp"
#include "actors/node/config/keys.hpp"

namespace belay::actors {

namespace {

constexpr std::string_view head = R"(# Configuration

Made from the tables in `actors/node/config/keys.cpp` and `flags.cpp`; change those, then
`BELAY_REWRITE=1 build/dev/test_node 'docs/configuration.md*'`. How to run a cluster: [operations.md](operations.md).

A configuration is JSON or [HCL](hcl.md) with the keys of Consul 1.8, in files (`-config-file`, `-config-dir`) and flags. Later files
override earlier ones and flags override files; lists are appended; sections are merged key by key. Durations are texts such as `10s`,
`500ms` or `1h30m`.

## What is wrong is told at once

A server with a mistake in its configuration does not start: unknown keys, values of wrong types or out of range, keys that contradict each
other. All mistakes are told, in Consul's words, each with `(FILE:LINE:COLUMN)` behind it, or the flag that says it; of keys that contradict
each other the place is that of one of them:

```
==> 2 errors occurred:
	* failed to parse belay.hcl: invalid config key bogus (belay.hcl:2:1)
	* session_ttl_min: invalid duration: "abc": time: invalid duration "abc" (belay.hcl:3:1)
```

One mistake alone, and several unknown keys of one file, are told as Consul tells them: `failed to parse F: 1 error occurred:` and a line
for each. If a source or a value cannot be read, what other keys lack is not told: it may be there. Certificates and their keys are
opened and looked at, too. `belay validate FILE...` says the same without a start (of what is not in files, such as flags, it knows
nothing; it should run as the server's user, so that it can read what the server can), and ends with 0 or 1.

## Reload

`SIGHUP` and `PUT /v1/agent/reload` read the same files again. Keys marked *reloaded* below take effect at once, all of them or, if anything
is wrong, none: then the log has an ERROR, and the request is answered with status 500 and the mistakes. Other keys that changed are
named in the log, and take effect at the next start. [operations.md](operations.md#reload) says more.

## Keys that do something

The last column begins with the default.

| key | flag | type | |
|---|---|---|---|
)";

constexpr std::string_view refused_head = R"(
## Keys that keep a server from starting

They ask for what is not there, and whose lack would not be noticed before it matters: the server does not run as if it were there.

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
    if (key.reloaded)
      out.append(key.means.ends_with('.') ? " *Reloaded*" : ". *Reloaded*");
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
