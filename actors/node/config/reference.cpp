#include "actors/node/config/reference.hpp"

#include "actors/node/config/flags.hpp"
#include "actors/node/config/key_texts.hpp"
#include "actors/node/config/keys.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace belay::actors {

namespace {

constexpr std::string_view head = R"(# Configuration

This page is generated from `keys.cpp`, `key_texts.hpp` and `flags.cpp` in `actors/node/config`.
To change it, edit those, then run `BELAY_REWRITE=1 build/dev/test_node 'docs/reference/configuration.md*'`.
[operations.md](../operate/operations.md) explains how to run a cluster.

A configuration is JSON or [HCL](hcl.md) with the keys of Consul 1.8, in files (`-config-file`, `-config-dir`) and flags.
Later files override earlier ones, and flags override files; lists are appended; sections are merged key by key.
Durations are texts such as `10s`, `500ms` or `1h30m`.

## Errors in a configuration

A server does not start if its configuration has an error: an unknown key, a value of the wrong type or out of range, or keys that contradict each other.
It reports all errors at once, in Consul's words.
Each error ends with `(FILE:LINE:COLUMN)` or with the flag:

```
==> 2 errors occurred:
	* failed to parse belay.hcl: invalid config key bogus (belay.hcl:2:1)
	* session_ttl_min: invalid duration: "abc": time: invalid duration "abc" (belay.hcl:3:1)
```

If a source or a value cannot be read, the server does not report keys that others require: they may be in it.
It also opens and checks certificates and their keys.

`belay validate FILE...` reports the same errors without starting a server, and exits with 0 or 1.
It sees files, not flags.
Run it as the server's user, so that it can read what the server can.

## Reload

`SIGHUP` and `PUT /v1/agent/reload` read the same files again.
Keys marked *reloaded* below take effect at once, others at the next start: [operations.md](../operate/operations.md#reload).

## Keys with an effect

Names, types and defaults are those of Consul 1.8.
The last column says where Belay differs; *Belay only* marks keys that Consul does not have.

| key (flag) | type, default | meaning |
|---|---|---|
)";

constexpr std::string_view refused_head = R"(
## Keys that keep a server from starting

These keys request features that do not exist.
Without an error, you would notice only when you need the feature.

| key (flag) | reason |
|---|---|
)";

constexpr std::string_view idle_head = R"(
## Keys without effect

These keys are accepted, so that a configuration made for Consul can stay as it is.
At start, one line of the log lists those that are set to something Belay does not do (`settings without effect in this build`).

| reason | keys (flags) |
|---|---|
)";

constexpr std::string_view silent_head = R"(
## Keys that need no effect

These keys are accepted silently: Belay already behaves as they request, or closely enough.

| reason | keys (flags) |
|---|---|
)";

std::string_view name_of(config_kind kind) {
  constexpr std::array<std::string_view, 9> names = {
      "boolean", "number", "text", "duration", "list of texts", "texts by name", "section", "anything", "definitions"};
  static_assert(names.size() == static_cast<std::size_t>(config_kind::definitions) + 1);
  return names[static_cast<std::size_t>(kind)];
}

using texts_by_key = std::map<std::string, key_text, std::less<>>;

/// "?" for a key without a text.
key_text text_of(const texts_by_key& texts, std::string_view path) {
  const auto found = texts.find(path);
  return found == texts.end() ? key_text{"?", "?"} : found->second;
}

/// `KEY` (`-FLAG`)
std::string key_and_flag(std::string_view path) {
  auto out = "`" + std::string(path) + "`";
  if (const auto flag = flag_of_key(path); !flag.empty())
    out.append(" (`-").append(flag).append("`)");
  return out;
}

void append_rows(std::string& out, auto belongs) {
  const auto texts = texts_of_keys();
  for (const auto& key : config_keys()) {
    if (key.kind == config_kind::section || !belongs(key.effect))
      continue;
    out.append("| ").append(key_and_flag(key.path)).append(" |");
    const auto text = text_of(texts, key.path);
    if (key.effect == config_effect::effective)
      out.append(" ").append(name_of(key.kind)).append(", ").append(text.by_default).append(" |");
    out.append(" ").append(text.means);
    out.append(key.reloaded ? " *Reloaded*. |\n" : " |\n");
  }
}

/// A row for each reason, in the order of its first key: keys without effect share few reasons.
void append_reasons(std::string& out, auto belongs) {
  struct row {
    std::string reason;
    std::string keys;
  };
  std::vector<row> rows;
  const auto texts = texts_of_keys();
  for (const auto& key : config_keys()) {
    if (key.kind == config_kind::section || !belongs(key.effect))
      continue;
    const auto reason = text_of(texts, key.path).means;
    auto at = std::find_if(rows.begin(), rows.end(), [&](const row& r) { return r.reason == reason; });
    if (at == rows.end())
      at = rows.insert(at, row{reason, std::string()});
    at->keys.append(at->keys.empty() ? "" : ", ").append(key_and_flag(key.path));
  }
  for (const auto& [reason, keys] : rows)
    out.append("| ").append(reason).append(" | ").append(keys).append(" |\n");
}

/// Adds an entry of key_texts for each key in a heading, `KEY [KEY...] [= DEFAULT]`.
void add_entry(std::map<std::string, key_text, std::less<>>& out, std::string_view heading, const key_text& text) {
  auto end = heading.find(" = ");
  key_text own = text;
  if (end != heading.npos)
    own.by_default = heading.substr(end + 3);
  for (auto keys = heading.substr(0, end); !keys.empty();) {
    end = keys.find(' ');
    out[std::string(keys.substr(0, end))] = own;
    keys = end == keys.npos ? std::string_view() : keys.substr(end + 1);
  }
}

} // namespace

std::map<std::string, key_text, std::less<>> texts_of_keys() {
  std::map<std::string, key_text, std::less<>> out;
  std::vector<std::string_view> headings;
  key_text text;
  const auto finish = [&] {
    for (const auto heading : headings)
      add_entry(out, heading, text);
    headings.clear();
    text = {};
  };
  for (auto rest = key_texts; !rest.empty();) {
    const auto end = rest.find('\n');
    const auto line = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    if (line.starts_with("  ")) {
      text.means.append(text.means.empty() ? "" : " ").append(line.substr(2));
    } else if (!line.empty()) {
      if (!text.means.empty())
        finish();
      headings.push_back(line);
    }
  }
  finish();
  return out;
}

std::string configuration_reference() {
  using enum config_effect;
  std::string out(head);
  append_rows(out, [](config_effect e) { return e == effective; });
  out += refused_head;
  append_rows(out, [](config_effect e) { return e == refused; });
  out += idle_head;
  append_reasons(out, [](config_effect e) { return e == none || e == as_if_true; });
  out += silent_head;
  append_reasons(out, [](config_effect e) { return e == silent; });
  return out;
}

} // namespace belay::actors
