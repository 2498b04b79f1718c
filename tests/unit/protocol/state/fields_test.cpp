#include "protocol/state/row_hash.hpp"

#include "protocol/state/commands.hpp"
#include "protocol/state/counters.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace belay;
using namespace belay::state;

namespace {

// Sets a member to a value other than its initial one, whatever its type.
void change(std::string& v) {
  v += "x";
}
void change(payload& v) {
  v = make_payload(std::string(*v) + "x");
}
void change(bool& v) {
  v = !v;
}
void change(std::int64_t& v) {
  ++v;
}
void change(std::uint64_t& v) {
  ++v;
}
template <class Tag>
void change(strong_id<Tag>& v) {
  ++v.value;
}
void change(session_ttl_mode& v) {
  v = session_ttl_mode::exact;
}
void change(claim_kind& v) {
  v = claim_kind::rw;
}
void change(claim_mode& v) {
  v = claim_mode::shared;
}
void change(claim_state& v) {
  v = claim_state::held;
}
void change(claim_end& v) {
  v = claim_end::limit;
}
void change(resource_name& v) {
  v.name += "x";
}
template <class T>
void change(std::vector<T>& v) {
  v.emplace_back();
}
void change(session_behavior& v) {
  v = session_behavior::remove;
}
template <class T>
void change(std::optional<T>& v) {
  v.emplace();
}
void change(staged_part& v) {
  std::get<restore_head>(v).id += "x";
}
void change(requester& v) {
  v.accessor += "x";
}
void change(service_weights& v) {
  ++v.warning;
}

template <class Record>
Record plain() {
  Record r;
  if constexpr (std::is_same_v<Record, kv_draft> || std::is_same_v<Record, claim_record>)
    r.value = make_payload("v");
  return r;
}

template <class Record>
std::uint64_t hash_of(const Record& r) {
  if constexpr (std::is_same_v<Record, kv_draft>)
    return row_hash(kv_entry_ptr(r));
  else if constexpr (std::is_convertible_v<std::shared_ptr<const Record>, row_value>)
    return row_hash(std::make_shared<const Record>(r));
  else
    return row_hash(r);
}

/// The number of different hashes of a record and of those that differ from it in one member.
template <class Record>
std::size_t hashes(std::size_t& members) {
  std::set<std::uint64_t> all = {hash_of(plain<Record>())};
  members = 0;
  for_each_field<Record>([&](auto f) {
    auto other = plain<Record>();
    change(other.*f.member);
    all.insert(hash_of(other));
    ++members;
  });
  return all.size();
}

template <class Enum>
void check_names() {
  std::set<std::string_view> all;
  for (std::size_t i = 0; i < count_of<Enum>; ++i) {
    const auto e = static_cast<Enum>(i);
    CHECK(named<Enum>(name_of(e)) == e);
    all.insert(name_of(e));
  }
  CHECK(all.size() == count_of<Enum>);
  CHECK_FALSE(named<Enum>("no such name"));
}

} // namespace

// A member missing in a list is not written, and nodes that differ in it look alike.
TEMPLATE_TEST_CASE("every member of a row is in its list, and makes another hash", "", kv_draft, session_record,
                   node_record, service_record, check_record, autopilot_settings, tombstone, lock_delay_record, counter,
                   staged_record, claim_record, claim_resource, claim_ghost, claim_end_record, guard_record,
                   ended_session) {
  std::size_t members = 0;
  const auto different = hashes<TestType>(members);
  CHECK(different == members + 1);
  CHECK(members >= 2);
}

TEST_CASE("rows of different tables with the same content have different hashes") {
  CHECK(row_hash(tombstone{"k", log_index{7}, {}}) != row_hash(lock_delay_record{"k", cluster_time{7}}));
  CHECK(row_hash(counter{"k", 7}) != row_hash(lock_delay_record{"k", cluster_time{7}}));
}

TEST_CASE("records are equal if they differ only in indexes, or in fields that clients do not see") {
  service_record a, b;
  b.node = "another"; // rows of different nodes are never compared
  b.modify_index = log_index{9};
  CHECK(same_but_for_indexes(a, b));
  b.weights.passing = 2;
  CHECK_FALSE(same_but_for_indexes(a, b));
  b = a;
  b.tagged_addresses.emplace()["lan"] = {"10.0.0.1", 80};
  CHECK_FALSE(same_but_for_indexes(a, b));
}

TEST_CASE("names map back to their values") {
  check_names<kv_verb>();
  check_names<catalog_verb>();
  check_names<session_behavior>();
  check_names<refused_for>();
  check_names<table>();
  check_names<index_kind>();
  check_names<claim_space>();
  check_names<claim_kind>();
  check_names<claim_mode>();
  check_names<claim_state>();
  check_names<claim_end>();
  check_names<claim_error>();
}
