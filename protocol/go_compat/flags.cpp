#include "protocol/go_compat/flags.hpp"

namespace belay::go_compat {

result<std::optional<given_flag>> flag_reader::next() {
  const std::optional<given_flag> none;
  if (at_ == words_.size())
    return none;
  std::string_view word = words_[at_];
  if (word.size() < 2 || word[0] != '-' || word == "--")
    return none;
  word.remove_prefix(word[1] == '-' ? 2 : 1);
  if (word[0] == '-' || word[0] == '=')
    return failure{"bad flag syntax: " + words_[at_]};
  const auto equals = word.find('=');
  given_flag flag;
  flag.name = word.substr(0, equals);
  const auto takes = known_(flag.name);
  if (!takes)
    return failure{"flag provided but not defined: -" + std::string(flag.name)};
  ++at_;
  if (equals != std::string_view::npos) {
    flag.value = word.substr(equals + 1);
    flag.attached = true;
  } else if (*takes == flag_takes::value && at_ == words_.size()) {
    return failure{"flag needs an argument: -" + std::string(flag.name)};
  } else if (*takes == flag_takes::value ||
             (*takes == flag_takes::value_or_nothing && at_ < words_.size() && !words_[at_].starts_with('-'))) {
    flag.value = words_[at_++];
  }
  return std::optional(std::move(flag));
}

std::vector<std::string> flag_reader::rest() const {
  const auto skipped = at_ < words_.size() && words_[at_] == "--" ? 1 : 0;
  return {words_.begin() + static_cast<std::ptrdiff_t>(at_ + skipped), words_.end()};
}

} // namespace belay::go_compat
