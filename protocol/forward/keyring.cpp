#include "protocol/forward/keyring.hpp"

#include "protocol/base/mutants.hpp"

#include <algorithm>

namespace belay::forward {

namespace {

keyring_answer refused(const char* why) {
  return {false, why, {}, false};
}

} // namespace

keyring_answer operate_on(std::vector<std::string>& keys, const keyring_operation& op) {
  if (keys.empty())
    return {false,
            op.verb == keyring_verb::list ? "Keyring is empty (encryption not enabled)"
                                          : "No keyring to modify (encryption not enabled)",
            {},
            true};
  if (op.verb == keyring_verb::list)
    return {true, {}, keys, false};
  const auto found = std::find(keys.begin(), keys.end(), op.key);
  const bool there = found != keys.end();
  switch (op.verb) {
  case keyring_verb::install:
    if (op.key.empty())
      return refused("key size must be 16, 24 or 32 bytes");
    if (!there && keys.size() >= keyring_keys_max)
      return refused("Keyring is full: remove keys that are no longer used");
    if (!there)
      keys.push_back(op.key);
    break;
  case keyring_verb::use:
    if (!there)
      return refused("Requested key is not in the keyring");
    std::rotate(keys.begin(), found, found + 1);
    break;
  case keyring_verb::remove:
    if (found == keys.begin())
      return refused("Removing the primary key is not allowed");
    if (there && !MUTANT(removed_key_stays))
      keys.erase(found);
    break;
  case keyring_verb::list:
    break;
  }
  return {true, {}, {}, false};
}

} // namespace belay::forward
