#include <belay/diff.hpp>

#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace belay {
inline namespace v0 {

namespace {

constexpr std::uint64_t fnv_start = 0xcbf29ce484222325u;

/// FNV-1a, draft-eastlake-fnv.
std::uint64_t fnv(std::string_view text, std::uint64_t h = fnv_start) noexcept {
  for (unsigned char c : text)
    h = (h ^ c) * 0x100000001b3u;
  return h;
}

/// Mixes the bits, so that sums of a few keys differ in all bits (the finalizer of splitmix64).
std::uint64_t spread(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

using table = std::map<std::string, entry>;

/// All keys below a prefix, by name without it.
struct listing {
  table keys;
  std::set<std::string> unnameable; ///< names as listed; not in `keys`
};

task<result<listing>> list(environment& env, std::string prefix, deadline limit) {
  result<tree_reading> now = co_await read_tree(env, prefix, limit);
  if (!now)
    co_return now.error();
  listing out;
  for (auto& e : now->found) {
    auto key = e.key.substr(prefix.size());
    if (detail::is_ambiguous(e.key) && !CLIENT_MUTANT(unnameable_keys_compared)) {
      result<reading> named = co_await read_key(env, e.key, limit);
      if (!named)
        co_return named.error();
      if (!named->found || named->found->index != e.index) {
        out.unnameable.insert(std::move(key));
        continue;
      }
    }
    out.keys.emplace(std::move(key), std::move(e));
  }
  co_return out;
}

key_digests digests_of(const table& t) {
  key_digests out;
  for (const auto& [key, e] : t)
    out.add(key, e.value, e.flags);
  return out;
}

std::vector<difference> differences(const listing& ours, const listing& theirs) {
  const auto& original = ours.keys;
  const auto& copy = theirs.keys;
  std::vector<difference> out;
  auto note = [&](difference_kind kind, const std::string& key) {
    difference d;
    d.kind = kind;
    d.key = key;
    out.push_back(std::move(d));
  };
  auto a = original.begin();
  auto b = copy.begin();
  while (a != original.end() || b != copy.end()) {
    bool only_a = b == copy.end() || (a != original.end() && a->first < b->first);
    bool only_b = !only_a && (a == original.end() || b->first < a->first);
    if (only_a) {
      note(difference_kind::phantom_undelete, a->first);
      ++a;
    } else if (only_b) {
      if (!CLIENT_MUTANT(extra_keys_ignored))
        note(difference_kind::missing_delete, b->first);
      ++b;
    } else {
      bool flags = a->second.flags != b->second.flags && !CLIENT_MUTANT(flags_not_compared);
      if (a->second.value != b->second.value || flags)
        note(difference_kind::other_value, a->first);
      ++a;
      ++b;
    }
  }
  auto unnameable = ours.unnameable;
  unnameable.insert(theirs.unnameable.begin(), theirs.unnameable.end());
  for (const auto& key : unnameable)
    note(difference_kind::not_comparable, key);
  std::stable_sort(out.begin(), out.end(), [](const difference& x, const difference& y) { return x.key < y.key; });
  return out;
}

/// The differences that both reads have.
std::vector<difference> stayed(const std::vector<difference>& first, const std::vector<difference>& second) {
  std::vector<difference> out;
  for (const auto& d : second)
    for (const auto& before : first)
      if (before.key == d.key)
        out.push_back(d);
  return out;
}

} // namespace

std::string_view name_of(difference_kind k) noexcept {
  static constexpr std::string_view names[] = {"MissingDelete", "PhantomUndelete", "OtherValue", "NotComparable"};
  return names[static_cast<std::size_t>(k)];
}

std::size_t key_digests::slot_of(std::string_view key) noexcept {
  return static_cast<std::size_t>(spread(fnv(key)) % slots);
}

void key_digests::add(std::string_view key, std::string_view value, std::uint64_t flags) noexcept {
  // The lengths separate texts that would be equal when concatenated.
  auto h = fnv(key);
  h = spread(h ^ key.size());
  h = fnv(value, h);
  h = spread(h ^ flags);
  sums_[slot_of(key)] += spread(h);
}

std::vector<std::size_t> key_digests::differing(const key_digests& other) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < slots; ++i)
    if (sums_[i] != other.sums_[i])
      out.push_back(i);
  return out;
}

task<result<key_digests>> digests(environment& env, std::string prefix, deadline limit) {
  result<listing> now = co_await list(env, prefix, limit);
  if (!now)
    co_return now.error();
  if (!now->unnameable.empty())
    co_return error(outcome::refused, reason::invalid,
                    "the name of a key is not UTF-8: " + prefix + *now->unnameable.begin());
  auto out = digests_of(now->keys);
  co_return out;
}

task<result<std::vector<difference>>> diff(environment& original, std::string prefix, environment& copy,
                                           std::string copy_prefix, deadline limit, diff_options options) {
  std::vector<difference> before;
  for (bool first : {true, false}) {
    result<listing> ours = co_await list(original, prefix, limit);
    if (!ours)
      co_return ours.error();
    result<listing> theirs = co_await list(copy, copy_prefix, limit);
    if (!theirs)
      co_return theirs.error();
    auto now = differences(*ours, *theirs);
    if (now.empty() || (first && CLIENT_MUTANT(moving_keys_reported)))
      co_return now;
    if (!first) {
      auto both = stayed(before, now);
      co_return both;
    }
    before = std::move(now);
    auto settled = original.now() + options.settle;
    co_await sleep_until(original, settled, limit);
  }
  co_return before;
}

} // namespace v0
} // namespace belay
