#include "protocol/state/outcomes/outcome_records.hpp"

#include "protocol/base/overloaded.hpp"
#include "protocol/state/commands.hpp"
#include "protocol/state/row_hash.hpp"

#include <algorithm>

namespace belay::state {

namespace {

/// Sums up the sizes of the members of records, by type.
class byte_counter {
public:
  void add(const std::string& v) { sum_ += v.size(); }
  void add(std::string_view v) { sum_ += v.size(); }
  void add(payload_ref v) { sum_ += v ? v->size() : 0; }
  void add(const payload& v) { add(payload_ref(v)); }
  template <class T>
  void add(const std::optional<T>& v) {
    if (v)
      add(*v);
  }
  template <class T>
  void add(const std::vector<T>& list) {
    for (const auto& each : list)
      add(each);
  }
  template <class T>
  void add(const std::map<std::string, T>& map) {
    for (const auto& [name, value] : map) {
      add(name);
      add(value);
    }
  }
  template <listed Record>
  void add(const Record& record) {
    for_each_field<Record>([&](auto f) { add(record.*f.member); });
  }
  template <class Number>
  void add(const Number&) {
    sum_ += 16;
  }
  std::size_t sum() const { return sum_; }

private:
  std::size_t sum_ = 0;
};

/// Calls `f(record)` for each record in the reply.
template <class F>
void for_each_part(const reply& answer, F f) {
  const auto row_of = [&](const auto& row) { f(*row); };
  std::visit(overloaded{
                 [](std::monostate) {},
                 [&](bool) { f(answer.note); },
                 [&](const txn_reply& t) {
                   for (const auto& each : t.results)
                     std::visit(row_of, each.row);
                   for (const auto& each : t.errors)
                     f(each);
                 },
                 [&](const acl_row& shown) {
                   std::visit(row_of, shown.row);
                   for (const auto* links : {&shown.policies, &shown.roles})
                     for (const auto& each : *links)
                       f(each);
                 },
                 [&](const auto& each) { f(each); },
             },
             static_cast<const plain_reply&>(answer));
}

} // namespace

std::string outcome_key(std::string_view scope, std::string_view id) {
  std::string key(scope);
  return key.append("/").append(id);
}

bool is_once_key(std::string_view id) {
  return !id.empty() && id.size() <= once_key_bytes_max && id != "." && id != ".." &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 127 && c != '/'; });
}

std::uint64_t answer_hash(const reply& answer) {
  row_hasher h(table::outcomes, row_hasher::counts::what_answers_carry);
  h.number(answer.index());
  if (const auto* yes = std::get_if<bool>(&answer))
    h.add(*yes);
  if (const auto* results = std::get_if<txn_reply>(&answer))
    for (const auto& each : results->results) {
      h.number(each.row.index());
      h.add(each.with_value);
    }
  for_each_part(answer, [&](const auto& part) { h.add(part); });
  return h.value();
}

bool shows_locked_key(const reply& answer) {
  const auto* results = std::get_if<txn_reply>(&answer);
  return results != nullptr &&
         std::any_of(results->results.begin(), results->results.end(), [](const txn_result& each) {
           const auto* entry = std::get_if<kv_entry_ptr>(&each.row);
           return entry != nullptr && !(*entry)->session.empty();
         });
}

std::size_t outcome_bytes(const reply& answer) {
  byte_counter counter;
  for_each_part(answer, [&](const auto& part) { counter.add(part); });
  return counter.sum();
}

std::size_t outcome_bytes(const outcome_record& row) {
  return outcome_row_bytes + 2 * row.key.size() + (row.answer != nullptr ? outcome_bytes(*row.answer) : 0);
}

} // namespace belay::state
