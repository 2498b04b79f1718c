// What policies allow: the rules of docs/contract/10, sections 2, 3 and 4, a row for each.

#include "protocol/acl/authorizer.hpp"
#include "tests/unit/protocol/acl/documents.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <memory>
#include <type_traits>

using namespace belay;
using namespace belay::acl;

namespace {

constexpr auto must_not = permission::deny, may_read = permission::read, may_list = permission::list,
               may_write = permission::write;

/// The permissions on a key: one letter each for read, list, write, and recursive deletion.
std::string rights(const authorizer& a, std::string_view name) {
  std::string out;
  out += a.key_read(name) ? "r" : "-";
  out += a.key_list(name) ? "l" : "-";
  out += a.key_write(name) ? "w" : "-";
  out += a.key_write_prefix(name) ? "d" : "-";
  return out;
}

struct row {
  const char* what;
  std::vector<rules> policies;
  default_policy otherwise;
  const char* name;
  const char* rights;
};

void check(const std::vector<row>& rows) {
  for (const auto& r : rows) {
    INFO(r.what << ": " << r.name);
    CHECK(rights(pooled(r.policies, r.otherwise), r.name) == r.rights);
  }
}

constexpr auto default_deny = default_policy::deny, default_allow = default_policy::allow;

} // namespace

static_assert(std::is_nothrow_move_constructible_v<authorizer>);

TEST_CASE("what each policy includes: write, list, read") {
  const auto of = [](permission a) { return std::vector<rules>{saying({key_prefix("", a)})}; };
  check({
      {"write", of(may_write), default_deny, "a", "rlwd"},
      {"list", of(may_list), default_deny, "a", "rl--"},
      {"read", of(may_read), default_deny, "a", "r---"},
      {"deny", of(must_not), default_deny, "a", "----"},
      {"write, default allow", of(may_write), default_allow, "a", "rlwd"},
      {"list, default allow", of(may_list), default_allow, "a", "rl--"},
      {"read, default allow", of(may_read), default_allow, "a", "r---"},
      {"deny, default allow", of(must_not), default_allow, "a", "----"},
  });
}

TEST_CASE("which rule counts for a name") {
  // The policy of docs/contract/10, section 2, as tested on Consul.
  const std::vector<rules> tried = {
      saying({key_prefix("app/", may_write), key_prefix("app/sec/", must_not), key("app/sec/x", may_read)})};
  const std::vector<rules> nested = {
      saying({key_prefix("", must_not), key_prefix("a", may_read), key_prefix("ab", may_write),
              key_prefix("abc", must_not), key("abc", may_write), key("a", may_list)})};
  check({
      {"below a prefix", tried, default_deny, "app/a", "rlwd"},
      {"the prefix itself", tried, default_deny, "app/", "rlw-"},
      {"exact wins over prefix", tried, default_deny, "app/sec/x", "r---"},
      {"only the exact name is exact", tried, default_deny, "app/sec/xx", "----"},
      {"the longer prefix wins", tried, default_deny, "app/sec/y", "----"},
      {"a prefix is one of strings", tried, default_deny, "app2", "----"},
      {"shorter than every rule", tried, default_deny, "ap", "----"},
      {"no rule, default allow", tried, default_allow, "app2", "rlwd"},
      {"a rule counts, whatever the default", tried, default_allow, "app/sec/y", "----"},
      {"empty prefix, empty name", nested, default_deny, "", "----"},
      {"empty prefix, any name", nested, default_allow, "z", "----"},
      {"exact beside a prefix of the same name", nested, default_deny, "a", "rl--"},
      {"one byte longer than both", nested, default_deny, "ac", "r---"},
      {"second of nested prefixes", nested, default_deny, "abb", "rlwd"},
      {"exact beside a denied prefix", nested, default_deny, "abc", "rlw-"},
      {"third of nested prefixes", nested, default_deny, "abcd", "----"},
      {"an exact rule is no prefix", {saying({key("a", may_write)})}, default_deny, "ab", "----"},
      {"an exact rule for the empty name", {saying({key("", may_write)})}, default_deny, "", "rlw-"},
      {"which is no prefix either", {saying({key("", may_write)})}, default_deny, "a", "----"},
      {"letters count", {saying({key("A", may_write)})}, default_deny, "a", "----"},
      {"rules for nothing", {saying({})}, default_deny, "a", "----"},
      {"rules for nothing, default allow", {saying({})}, default_allow, "a", "rlwd"},
      {"no policies", {}, default_deny, "a", "----"},
      {"no policies, default allow", {}, default_allow, "a", "rlwd"},
  });
  const std::string nul("a\0b", 3), high("\xFF\x80");
  const auto bytes = pooled(
      {saying({key_prefix(std::string("a\0", 2), may_read), key("a", may_write), key_prefix("\xFF", may_list)})});
  CHECK(rights(bytes, nul) == "r---");
  CHECK(rights(bytes, "ab") == "----");
  CHECK(rights(bytes, high) == "rl--");
}

TEST_CASE("rules of several policies for the same thing") {
  // deny, then may_write, then list, then read; the order of policies does not matter.
  struct line {
    permission a, b;
    const char* rights;
  };
  for (const auto& l : {
           line{must_not, must_not, "----"},
           line{must_not, may_read, "----"},
           line{must_not, may_list, "----"},
           line{must_not, may_write, "----"},
           line{may_read, may_read, "r---"},
           line{may_read, may_list, "rl--"},
           line{may_read, may_write, "rlw"},
           line{may_list, may_list, "rl--"},
           line{may_list, may_write, "rlw"},
           line{may_write, may_write, "rlw"},
       })
    for (const auto& [a, b] : {std::pair{l.a, l.b}, std::pair{l.b, l.a}}) {
      INFO(static_cast<int>(a) << ' ' << static_cast<int>(b));
      const auto prefixes = rights(pooled({saying({key_prefix("x", a)}), saying({key_prefix("x", b)})}), "x");
      CHECK(prefixes.starts_with(l.rights));
      CHECK(rights(pooled({saying({key("x", a)}), saying({key("x", b)})}), "x").starts_with(l.rights));
      CHECK(rights(pooled({saying({key("x", a), key("x", b)})}), "x").starts_with(l.rights));
      CHECK(pooled({{{}, a, a, a}, {{}, b, b, b}}).acl_write() == (prefixes[2] == 'w'));
      CHECK(pooled({{{}, a, a, a}, {{}, b, b, b}}).operator_read() == (prefixes[0] == 'r'));
      CHECK(pooled({{{}, a, a, a}, {{}, b, b, b}}).keyring_write() == (prefixes[2] == 'w'));
    }
}

TEST_CASE("rules of several policies for different things are pooled") {
  // Another name, another kind or another resource is independent: denials do not affect it.
  check({
      {"kinds differ", {saying({key("x", may_write)}), saying({key_prefix("x", must_not)})}, default_deny, "x", "rlw-"},
      {"names differ",
       {saying({key_prefix("x", must_not)}), saying({key_prefix("xy", may_write)})},
       default_deny,
       "xyz",
       "rlwd"},
      {"names differ",
       {saying({key_prefix("x", must_not)}), saying({key_prefix("xy", may_write)})},
       default_deny,
       "xz",
       "----"},
      {"resources differ",
       {saying({key_prefix("x", may_write)}), saying({{resource::node, match::prefix, "x", must_not}})},
       default_deny,
       "x",
       "rlwd"},
  });
}

TEST_CASE("recursive deletes") {
  const std::vector<rules> read_below = {saying({key_prefix("app/", may_write), key("app/sec/x", may_read)})};
  const std::vector<rules> exact = {saying({key("app/a", may_write)})};
  const std::vector<rules> same = {saying({key_prefix("app/", may_write), key("app/", may_read)})};
  const std::vector<rules> later = {saying({key_prefix("a/x/", may_read), key_prefix("a/", may_write)})};
  struct line {
    const char* what;
    std::vector<rules> policies;
    default_policy otherwise;
    const char* prefix;
    bool allowed;
  };
  for (const auto& l : std::vector<line>{
           {"a read rule below", read_below, default_deny, "app/", false},
           {"a read rule below, prefix ends within a name", read_below, default_deny, "app/sec", false},
           {"a read rule of just this name", read_below, default_deny, "app/sec/x", false},
           {"none below", read_below, default_deny, "app/q", true},
           {"none below, though one begins alike", read_below, default_deny, "app/sec/xy", true},
           {"none below, one differs in the last byte", read_below, default_deny, "app/sec/y", true},
           {"shorter than the prefix rule", read_below, default_deny, "app", false},
           {"everything", read_below, default_deny, "", false},
           {"everything, default allow", read_below, default_allow, "", false},
           {"elsewhere, default allow", read_below, default_allow, "b", true},
           {"elsewhere, default deny", read_below, default_deny, "b", false},
           {"an exact write rule permits no prefix", exact, default_deny, "app/a", false},
           {"nor does it stand in the way", exact, default_allow, "app/a", true},
           {"an exact rule of the same name", same, default_deny, "app/", false},
           {"below that", same, default_deny, "app/x", true},
           {"a prefix rule below", later, default_deny, "a/", false},
           {"beside the prefix rule below", later, default_deny, "a/y/", true},
           {"under a prefix rule that is not write", later, default_deny, "a/x/1", false},
           {"under one, default allow", later, default_allow, "a/x/1", false},
           {"list is not write", {saying({key_prefix("", may_write), key("a", may_list)})}, default_deny, "", false},
           {"nor is deny", {saying({key_prefix("", may_write), key("a", must_not)})}, default_deny, "a", false},
           {"only write below",
            {saying({key_prefix("", may_write), key("a/b", may_write), key_prefix("a/c", may_write)})},
            default_deny,
            "a/",
            true},
           {"a longer write under a read",
            {saying({key_prefix("", may_read), key_prefix("a/", may_write)})},
            default_deny,
            "a/b",
            true},
           {"the same, from above",
            {saying({key_prefix("", may_read), key_prefix("a/", may_write)})},
            default_deny,
            "a",
            false},
           {"a rule that another policy makes write",
            {saying({key_prefix("a/", may_write), key("a/x", may_read)}), saying({key("a/x", may_write)})},
            default_deny,
            "a/",
            true},
           {"a rule that another policy makes deny",
            {saying({key_prefix("a/", may_write), key("a/x", may_write)}), saying({key("a/x", must_not)})},
            default_deny,
            "a/",
            false},
           {"no policies", {}, default_deny, "", false},
           {"no policies, default allow", {}, default_allow, "", true},
       }) {
    INFO(l.what << ": " << l.prefix);
    CHECK(pooled(l.policies, l.otherwise).key_write_prefix(l.prefix) == l.allowed);
  }
}

TEST_CASE("each question is about its own resource") {
  // A token with write on everything of one resource. A question that reads the rules of another
  // resource would give a token permissions that it was never given.
  struct line {
    bool (authorizer::*question)(std::string_view) const;
    resource on;
    bool is_read;
  };
  const std::array lines = {
      line{&authorizer::key_read, resource::key, true},
      line{&authorizer::key_write, resource::key, false},
      line{&authorizer::session_read, resource::session, true},
      line{&authorizer::session_write, resource::session, false},
      line{&authorizer::node_read, resource::node, true},
      line{&authorizer::node_write, resource::node, false},
      line{&authorizer::service_read, resource::service, true},
      line{&authorizer::service_write, resource::service, false},
      line{&authorizer::agent_read, resource::agent, true},
      line{&authorizer::agent_write, resource::agent, false},
      line{&authorizer::event_read, resource::event, true},
      line{&authorizer::event_write, resource::event, false},
      line{&authorizer::query_read, resource::query, true},
      line{&authorizer::query_write, resource::query, false},
  };
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (const auto granted : {may_read, may_write})
      for (std::size_t on = 0; on < resource_count; ++on) {
        INFO("question " << i << ", rule on " << on << ", grants " << static_cast<int>(granted));
        const auto one = static_cast<resource>(on);
        const bool expected = lines[i].on == one && (lines[i].is_read || granted == may_write);
        for (const auto by : {match::exact, match::prefix}) {
          const auto a = pooled({saying({{one, by, "n", granted}})});
          CHECK((a.*lines[i].question)("n") == expected);
          CHECK((a.*lines[i].question)("n2") == (expected && by == match::prefix));
          CHECK(a.allows(lines[i].on, lines[i].is_read ? may_read : may_write, "n") == expected);
        }
      }
}

TEST_CASE("scalars and the default policy") {
  struct line {
    std::optional<permission> response;
    default_policy otherwise;
    bool reads, writes;         // operator, keyring
    bool reads_acl, writes_acl; // and snapshots, as for the latter
  };
  for (const auto& l : {
           line{{}, default_deny, false, false, false, false},
           line{{}, default_allow, true, true, false, false}, // a default policy never grants access to ACLs
           line{must_not, default_deny, false, false, false, false},
           line{must_not, default_allow, false, false, false, false},
           line{may_read, default_deny, true, false, true, false},
           line{may_read, default_allow, true, false, true, false},
           line{may_write, default_deny, true, true, true, true},
           line{may_write, default_allow, true, true, true, true},
       }) {
    INFO((l.response ? static_cast<int>(*l.response) : -1) << ", default allow " << (l.otherwise == default_allow));
    const auto acl = pooled({{{}, l.response, {}, {}}}, l.otherwise);
    CHECK(acl.acl_read() == l.reads_acl);
    CHECK(acl.acl_write() == l.writes_acl);
    CHECK(acl.snapshot() == l.writes_acl);
    CHECK(acl.keyring_read() == (l.otherwise == default_allow));
    CHECK(acl.operator_read() == (l.otherwise == default_allow));
    const auto keyring = pooled({{{}, {}, l.response, {}}}, l.otherwise);
    CHECK(keyring.keyring_read() == l.reads);
    CHECK(keyring.keyring_write() == l.writes);
    CHECK(keyring.operator_write() == (l.otherwise == default_allow));
    CHECK_FALSE(keyring.acl_read());
    const auto op = pooled({{{}, {}, {}, l.response}}, l.otherwise);
    CHECK(op.operator_read() == l.reads);
    CHECK(op.operator_write() == l.writes);
    CHECK(op.keyring_write() == (l.otherwise == default_allow));
    CHECK_FALSE(op.acl_read());
  }
}

TEST_CASE("authorizers without rules") {
  struct line {
    const char* what;
    authorizer a;
    bool names, scalars, acl;
  };
  for (const auto& l : {
           line{"manage_all", authorizer::manage_all(), true, true, true},
           line{"allow_all", authorizer::allow_all(), true, true, false},
           line{"deny_all", authorizer::deny_all(), false, false, false},
       }) {
    INFO(l.what);
    for (std::size_t on = 0; on < resource_count; ++on)
      for (const auto needed : {may_read, may_list, may_write})
        CHECK(l.a.allows(static_cast<resource>(on), needed, "x") == l.names);
    CHECK(l.a.key_write_prefix("") == l.names);
    CHECK(l.a.operator_read() == l.scalars);
    CHECK(l.a.operator_write() == l.scalars);
    CHECK(l.a.keyring_read() == l.scalars);
    CHECK(l.a.keyring_write() == l.scalars);
    CHECK(l.a.acl_read() == l.acl);
    CHECK(l.a.acl_write() == l.acl);
    CHECK(l.a.snapshot() == l.acl);
  }
}

TEST_CASE("an authorizer does not depend on the texts it was made of") {
  // Policies are changed and deleted while requests still use what was compiled from them.
  auto policies = std::make_unique<std::vector<rules>>();
  policies->push_back(saying({key_prefix("a long name that is not stored in place/", may_write)}));
  auto compiled = pooled(*policies);
  policies.reset();
  const auto moved = std::move(compiled);
  CHECK(moved.key_write("a long name that is not stored in place/x"));
  const auto copied = moved;
  CHECK(copied.key_write("a long name that is not stored in place/x"));
}
