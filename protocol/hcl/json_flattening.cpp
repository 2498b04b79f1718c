#include "protocol/hcl/json_flattening.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace belay::hcl {

number json_null() {
  return {"", false}; // no number has no digits
}

namespace {

bool is_null(const item& i) {
  const auto* n = std::get_if<number>(&i.is.is);
  return n != nullptr && n->text.empty();
}

bool is_object(const value& v) {
  return std::holds_alternative<object>(v.is);
}

bool only_objects(const object& o) {
  return !o.items.empty() && std::all_of(o.items.begin(), o.items.end(), [](const auto& i) { return is_object(i.is); });
}

bool only_objects(const list& l) {
  return !l.empty() && std::all_of(l.begin(), l.end(), is_object);
}

class flattening {
public:
  explicit flattening(std::size_t label_bytes_max) : bytes_left_(label_bytes_max), bytes_max_(label_bytes_max) {}

  void flatten(object& o) {
    std::vector<item> all;
    for (auto& each : std::exchange(o.items, {}))
      expand(std::move(each), all);
    std::erase_if(all, is_null);
    for (auto& each : all)
      flatten_below(each.is);
    o.items = std::move(all);
  }

  std::optional<error> failed() && { return std::move(failed_); }

private:
  void expand(item&& outer, std::vector<item>& out) {
    if (auto* inside = std::get_if<object>(&outer.is.is); inside != nullptr && only_objects(*inside)) {
      for (auto& each : inside->items)
        expand_one(outer, std::move(each.keys), std::move(each.is), out);
    } else if (auto* several = std::get_if<list>(&outer.is.is); several != nullptr && only_objects(*several)) {
      for (auto& each : *several)
        expand_one(outer, {}, std::move(each), out);
    } else {
      out.push_back(std::move(outer));
    }
  }

  void expand_one(const item& outer, std::vector<std::string>&& labels, value&& is, std::vector<item>& out) {
    if (failed_ || !afford(outer))
      return;
    item made{outer.at, outer.keys, std::move(is)};
    std::move(labels.begin(), labels.end(), std::back_inserter(made.keys));
    expand(std::move(made), out);
  }

  bool afford(const item& repeated) {
    std::size_t bytes = 0;
    for (const auto& key : repeated.keys)
      bytes += sizeof(std::string) + key.size();
    if (bytes <= bytes_left_) {
      bytes_left_ -= bytes;
      return true;
    }
    failed_ = error{repeated.at, "names repeated for the objects below them take more than " +
                                     std::to_string(bytes_max_) + " bytes"};
    return false;
  }

  void flatten_below(value& v) {
    if (auto* inside = std::get_if<object>(&v.is))
      flatten(*inside);
    else if (auto* several = std::get_if<list>(&v.is))
      for (auto& each : *several)
        flatten_below(each);
  }

  std::size_t bytes_left_, bytes_max_;
  std::optional<error> failed_;
};

} // namespace

std::optional<error> flatten(object& document, std::size_t label_bytes_max) {
  flattening work(label_bytes_max);
  work.flatten(document);
  return std::move(work).failed();
}

} // namespace belay::hcl
