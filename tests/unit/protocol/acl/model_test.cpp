// Compares the compiled decision with one that scans all rules, written from the sentences of
// docs/contract/10, sections 2 and 4, on random policies and names.

#include "protocol/base/random.hpp"
#include "tests/unit/protocol/acl/documents.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::acl;

namespace {

class model {
public:
  model(const std::vector<rules>& policies, bool allow_by_default) : allow_by_default_(allow_by_default) {
    for (const auto& p : policies)
      all_.insert(all_.end(), p.named.begin(), p.named.end());
  }

  /// "an exact rule for it wins over every prefix rule; else the longest matching prefix rule; else default_policy"
  bool allows(resource on, permission needed, const std::string& name) const {
    if (const auto exact = merged(on, match::exact, name))
      return includes(*exact, needed);
    if (const auto prefix = longest_prefix(on, name))
      return includes(*prefix, needed);
    return allow_by_default_;
  }

  /// "(a) the longest prefix rule applying to the given prefix string is write (or none applies and the default
  /// policy is allow) and (b) no exact or prefix rule under that prefix is anything but write"
  bool may_delete_under(const std::string& prefix) const {
    const auto over = longest_prefix(resource::key, prefix);
    if (over ? *over != permission::write : !allow_by_default_)
      return false;
    for (const auto& r : all_)
      if (r.on == resource::key && r.name.compare(0, prefix.size(), prefix) == 0 &&
          merged(r.on, r.by, r.name) != permission::write)
        return false;
    return true;
  }

private:
  std::optional<permission> longest_prefix(resource on, const std::string& name) const {
    for (std::size_t bytes = name.size() + 1; bytes-- > 0;)
      if (const auto found = merged(on, match::prefix, name.substr(0, bytes)))
        return found;
    return std::nullopt;
  }

  /// "deny > write > list > read"
  std::optional<permission> merged(resource on, match by, const std::string& name) const {
    for (const auto first : {permission::deny, permission::write, permission::list, permission::read})
      for (const auto& r : all_)
        if (r.on == on && r.by == by && r.name == name && r.policy == first)
          return first;
    return std::nullopt;
  }

  /// "write includes list, list includes read"
  static bool includes(permission policy, permission needed) {
    switch (policy) {
    case permission::write:
      return true;
    case permission::list:
      return needed != permission::write;
    case permission::read:
      return needed == permission::read;
    case permission::deny:
      return false;
    }
    return false;
  }

  std::vector<rule> all_;
  bool allow_by_default_;
};

/// Names are short and of few letters, so that they are often equal, empty or prefixes of each
/// other. They have bytes below and above those of text, since the order of bytes must not matter.
std::string some_name(seeded_random& chance, std::size_t bytes_max) {
  static const std::string letters("ab/\0\xFF", 5);
  std::string out;
  for (auto n = chance.below(bytes_max + 1); n > 0; --n)
    out += letters[chance.below(letters.size())];
  return out;
}

std::vector<rules> some_policies(seeded_random& chance) {
  std::vector<rules> out(chance.below(5));
  const auto rules_max = 1 + chance.below(12);
  const auto bytes_max = 1 + chance.below(7);
  for (auto& p : out)
    for (auto n = chance.below(rules_max + 1); n > 0; --n)
      // Two resources, so that a mix-up would show.
      p.named.push_back({chance.below(4) ? resource::key : resource::node,
                         chance.below(2) ? match::exact : match::prefix, some_name(chance, bytes_max),
                         static_cast<permission>(chance.below(4))});
  return out;
}

} // namespace

TEST_CASE("the compiled decision equals that of a scan of all rules") {
  seeded_random chance(20201116);
  std::size_t granted = 0, refused = 0, deleted = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto policies = some_policies(chance);
    const bool allow = chance.below(2) == 1;
    const model expected(policies, allow);
    const auto compiled = pooled(policies, allow ? default_policy::allow : default_policy::deny);
    for (int i = 0; i < 20; ++i) {
      const auto name = some_name(chance, 8);
      for (const auto on : {resource::key, resource::node, resource::service})
        for (const auto needed : {permission::read, permission::list, permission::write}) {
          const bool is = compiled.allows(on, needed, name);
          (is ? granted : refused) += 1;
          if (is != expected.allows(on, needed, name))
            FAIL("round " << round << ", resource " << static_cast<int>(on) << ", needed " << static_cast<int>(needed)
                          << ", name '" << name << "': compiled says " << is);
        }
      const bool may = compiled.key_write_prefix(name);
      deleted += may;
      if (may != expected.may_delete_under(name))
        FAIL("round " << round << ", delete under '" << name << "': compiled says " << may);
    }
  }
  // Both results must occur often enough to mean something.
  CHECK(granted > 100000);
  CHECK(refused > 100000);
  CHECK(deleted > 10000);
}
