#pragma once
// Random objects of any type that is written to a disk or sent to a peer, and the comparison of two
// of them. Members are found by the compiler (tests/harness/members.hpp). This file is the only
// list of the values that a type does not allow, and of the members that are not written.

#include "actors/messages.hpp"
#include "protocol/base/random.hpp"
#include "protocol/state/command_level.hpp"
#include "protocol/state/commands.hpp"
#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/frame_codec.hpp"
#include "tests/harness/members.hpp"

#include <catch2/catch.hpp>

#include <limits>

namespace belay::round_trip {

/// How large values are, and how often optional ones are there.
enum class filling : std::uint8_t {
  empty,   ///< no optional member is set; numbers are zero
  full,    ///< every member has another value than a new object
  largest, ///< the largest numbers, long texts, long lists
  mixed,   ///< any of these, drawn for each member
};
inline constexpr filling all_fillings[] = {filling::empty, filling::full, filling::largest, filling::mixed};

template <class T>
concept record_with_list = state::listed<T>;

template <class Enum>
struct enum_values {
  static constexpr std::size_t count = state::count_of<Enum>;
};
template <>
struct enum_values<raft::entry_kind> {
  static constexpr std::size_t count = 3;
};
template <>
struct enum_values<forward::call_kind> {
  static constexpr std::size_t count = 4;
};
template <>
struct enum_values<forward::call_outcome> {
  static constexpr std::size_t count = 4;
};
template <>
struct enum_values<forward::keyring_verb> {
  static constexpr std::size_t count = 4;
};

class value_source {
public:
  value_source(std::uint64_t seed, filling how) : random_(seed), how_(how) {}

  template <class T>
  T make() {
    T v{};
    fill(v);
    return v;
  }

  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  filling how() const { return how_; }

  void fill(bool& v) { v = now() != filling::empty && (now() != filling::mixed || below(2) == 0); }
  void fill(std::uint64_t& v) { v = number(std::numeric_limits<std::uint64_t>::max()); }
  void fill(std::uint32_t& v) { v = static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max())); }
  void fill(std::uint16_t& v) { v = static_cast<std::uint16_t>(number(std::numeric_limits<std::uint16_t>::max())); }
  void fill(std::int64_t& v) {
    v = static_cast<std::int64_t>(number(std::numeric_limits<std::uint64_t>::max() / 2));
    if (now() == filling::largest || below(2) == 0)
      v = -v - (now() == filling::empty ? 0 : 1);
  }
  void fill(double& v) { v = static_cast<double>(number(1U << 20)) / 7 - 3; }
  template <class Tag>
  void fill(strong_id<Tag>& v) {
    fill(v.value);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void fill(Enum& v) {
    const auto n = enum_values<Enum>::count;
    v = static_cast<Enum>(now() == filling::empty     ? 0
                          : now() == filling::largest ? n - 1
                          : n > 1                     ? 1 + below(n - 1)
                                                      : 0);
  }
  void fill(std::string& v) {
    v.resize(length());
    for (auto& c : v)
      c = static_cast<char>(below(256));
  }
  void fill(payload& v) { v = make_payload(make<std::string>()); }
  template <class T>
  void fill(std::optional<T>& v) {
    v.reset();
    if (is_there())
      fill(v.emplace());
  }
  template <class T>
  void fill(std::vector<T>& v) {
    v.clear();
    for (auto n = count(); n > 0; --n)
      fill(v.emplace_back());
  }
  void fill(std::vector<bool>&) = delete;
  template <class T, std::size_t N>
  void fill(std::array<T, N>& v) {
    for (auto& each : v)
      fill(each);
  }
  template <class T>
  void fill(std::map<std::string, T>& v) {
    v.clear();
    for (auto n = count(); n > 0; --n)
      fill(v[make<std::string>()]);
  }
  template <class... Ts>
  void fill(std::variant<Ts...>& v) {
    fill_alternative(v, below(sizeof...(Ts)));
  }
  /// @param which its position in the variant
  template <class... Ts>
  void fill_alternative(std::variant<Ts...>& v, std::size_t which) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (void)((which == I ? (fill(v.template emplace<I>()), true) : false) || ...);
    }
    (std::index_sequence_for<Ts...>());
  }
  void fill(std::monostate&) {}

  void fill(state::kv_entry_ptr& v) { v = state::kv_entry_ptr(make<state::kv_draft>()); }
  /// Rows in tables have all their members; rows in answers lack those that answers do not carry.
  template <class Record>
  requires state::listed<Record>
  void fill(std::shared_ptr<const Record>& v) { v = std::make_shared<const Record>(make<Record>()); }
  void fill(std::shared_ptr<const state::reply>& v) {
    v = nullptr;
    if (is_there())
      v = std::make_shared<const state::reply>(kept_answer());
  }
  void fill(std::shared_ptr<const acl::rules>& v) { v = nullptr; } // made from another member
  void fill(state::row_batch& v) {
    auto rows = std::make_shared<std::vector<state::dirty_row>>();
    for (auto n = 1 + count(); n > 0; --n) {
      auto row = any_row();
      if (row.table != state::table::staging) // batches hold no batches
        rows->push_back(std::move(row));
    }
    v = std::move(rows);
  }

  /// Any aggregate.
  template <class T>
  requires std::is_aggregate_v<T>
  void fill(T& v) {
    std::apply([&](auto&... member) { (fill(member), ...); }, harness::members_of(v));
    repair(v);
  }

  /// A row of the table whose rows have that type, under its own key.
  template <class Row>
  state::dirty_row row_of() {
    if constexpr (std::is_same_v<Row, state::kv_entry_ptr>) {
      auto draft = make<state::kv_draft>();
      return {Row_in<state::kv_draft>(), draft.key, state::kv_entry_ptr(draft)};
    } else {
      using record = state::record_type<Row>;
      auto r = make<record>();
      r = with_later(std::move(r));
      state::dirty_row row{record::in, {}, to_row<Row>(r)};
      if (auto own = wire::own_key(row))
        row.key = *own;
      else
        fill(row.key);
      state::for_each_field<record>([&](auto f) {
        if constexpr (f.is(state::as::by_key))
          r.*f.member = row.key;
      });
      row.row = to_row<Row>(r);
      return row;
    }
  }

  /// Every kind of row.
  static constexpr std::size_t row_kinds = std::variant_size_v<state::row_value::plain> - 1;
  state::dirty_row row_of_kind(std::size_t kind) {
    state::dirty_row row;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (void)((kind == I ? (row = row_of<std::variant_alternative_t<I + 1, state::row_value::plain>>(), true) : false) ||
             ...);
    }
    (std::make_index_sequence<row_kinds>());
    return row;
  }
  state::dirty_row any_row() { return row_of_kind(below(row_kinds)); }

  state::reply answer() {
    state::reply r;
    fill_alternative(static_cast<state::plain_reply&>(r), below(std::variant_size_v<state::plain_reply>));
    if (std::holds_alternative<bool>(r))
      fill(r.note);
    fill(r.decided_at);
    return r;
  }
  /// The same as its bytes carry it, which is also how an outcome keeps it.
  state::reply as_carried(state::reply r) {
    if (auto* t = std::get_if<state::txn_reply>(&r))
      for (auto& each : t->results)
        if (const auto* entry = std::get_if<state::kv_entry_ptr>(&each.row)) {
          state::kv_entry bare = **entry;
          if (!each.with_value)
            bare.value = empty_;
          bare.fence = 0;
          each.row = state::kv_entry_ptr(bare);
        }
    return r;
  }
  state::reply kept_answer() {
    auto r = as_carried(answer());
    r.decided_at = {};
    return r;
  }

  state::command command_of_kind(std::size_t kind) {
    state::command c;
    fill_alternative(static_cast<state::plain_command::plain&>(c), kind);
    if (auto* t = std::get_if<state::txn>(&c))
      without_fences(*t);
    if (auto* t = std::get_if<state::fenced_txn>(&c))
      t->body.ops.push_back(make<state::fence_op>());
    // apply() sets it, from the command's own `by`.
    if (auto* s = std::get_if<state::session_create>(&c))
      s->session.by = {};
    if (auto* s = std::get_if<state::session_begin>(&c))
      s->session.by = {};
    if (is_there()) {
      fill(c.by.emplace());
      if (is_there())
        fill(c.authorized_at);
    }
    if (is_there())
      fill(c.once.emplace());
    if (state::has_client(c) && is_there())
      c.client_address = "192.0.2.1";
    return c;
  }
  static constexpr std::size_t command_kinds = std::variant_size_v<state::plain_command::plain>;

private:
  template <class Record>
  static state::table Row_in() {
    return Record::in;
  }
  template <class Row, class Record>
  static state::row_value to_row(const Record& r) {
    if constexpr (std::is_same_v<Row, Record>)
      return r;
    else
      return std::make_shared<const Record>(r);
  }

  filling now() {
    if (how_ != filling::mixed)
      return how_;
    return static_cast<filling>(below(4));
  }
  bool is_there() { return how_ == filling::mixed ? below(2) == 0 : how_ != filling::empty; }
  std::uint64_t number(std::uint64_t most) {
    switch (now()) {
    case filling::empty:
      return 0;
    case filling::largest:
      return most;
    case filling::full:
    case filling::mixed:
      break;
    }
    // Numbers of every length.
    const auto n = random_.next() >> below(64);
    return 1 + (most == std::numeric_limits<std::uint64_t>::max() ? n >> 1 : n % most);
  }
  std::size_t length() {
    switch (now()) {
    case filling::empty:
      return 0;
    case filling::largest:
      return 300 + below(1000);
    case filling::full:
    case filling::mixed:
      break;
    }
    return 1 + below(20);
  }
  std::size_t count() {
    switch (now()) {
    case filling::empty:
      return 0;
    case filling::largest:
      return 5;
    case filling::full:
    case filling::mixed:
      break;
    }
    return 1 + below(2);
  }

  /// What came later is in the bytes of rows of tables only: row_of() adds it.
  template <class Record>
  Record with_later(Record r) {
    if constexpr (state::has_fields<Record>(state::as::later | state::as::latest))
      state::for_each_field<Record>([&](auto f) {
        if constexpr (f.is(state::as::later | state::as::latest))
          fill(r.*f.member);
      });
    return r;
  }

  static void without_fences(state::txn& t) {
    std::erase_if(t.ops, [](const auto& op) { return std::holds_alternative<state::fence_op>(op); });
  }

  // ---- what types demand of their members

  template <class T>
  void repair(T&) {}
  void repair(state::kv_draft&) {}
  void repair(state::kv_op& op) {
    if (op.verb != state::kv_verb::add) { // only that verb has them
      op.amount = 0;
      op.min.reset();
      op.max.reset();
    }
  }
  /// Commands and answers encode these members beside the session, not in it.
  void repair(state::session_record& s) {
    s.ttl_mode = {};
    s.on_end.clear();
  }
  void repair(state::claim_record& c) {
    if (!c.value)
      c.value = empty_;
  }
  void repair(state::service_record&) {}
  /// Its set is sorted, without duplicates, and names all members.
  void repair(raft::configuration& c) {
    c.members.resize(std::min<std::size_t>(c.members.size(), 5));
    std::uint64_t id = 0;
    c.voters.clear();
    c.voters_old.clear();
    c.learners.clear();
    for (auto& m : c.members) {
      m.id.value = id += 1 + below(1000);
      (c.voters.empty() || below(2) == 0 ? c.voters : c.learners).push_back(m.id);
    }
    if (!c.voters.empty() && is_there())
      c.voters_old = c.voters;
  }
  void repair(state::requester& r) {
    if (r.accessor.empty()) // then there is none
      r = {};
  }
  void repair(raft::entry& e) {
    if (e.index.is_zero())
      e.index.value = 1;
  }
  void repair(forward::keyring_operation& o) { o.key.resize(std::min(o.key.size(), forward::keyring_key_bytes_max)); }
  void repair(forward::keyring_answer& a) {
    a.no_keyring = false; // stays on the server that answers
    a.text.resize(std::min(a.text.size(), forward::keyring_text_bytes_max));
    for (auto& key : a.keys)
      key.resize(std::min(key.size(), forward::keyring_key_bytes_max));
  }
  void repair(coordinates::row& r) {
    r.node.resize(std::min(r.node.size(), coordinates::name_bytes_max));
    r.segment.resize(std::min(r.segment.size(), coordinates::segment_bytes_max));
  }
  void repair(raft::member& m) {
    if (m.id.is_zero())
      m.id.value = 1;
  }
  /// What a server of before the one or the other does not know it does not say.
  void repair(wire::hello& h) {
    if (!h.promises) {
      h.round = 0;
      h.given_up = false;
      h.refused.clear();
    }
    if (!h.has_replicas)
      h.replica = false;
  }

  seeded_random random_;
  filling how_;
  payload empty_ = make_payload({});
};

/// Calls `check` with sources of each filling.
template <class F>
void each_filling(std::uint64_t rounds, F check) {
  for (const auto how : all_fillings)
    for (std::uint64_t seed = 1; seed <= (how == filling::empty ? 1 : rounds); ++seed) {
      value_source source(seed, how);
      INFO("filling " << static_cast<int>(how) << ", seed " << seed);
      check(source);
    }
}

// ---- equality, by members

struct equality {

  template <class T>
  static bool same(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || same(*a, *b));
  }
  template <class T>
  static bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return same(x, y); });
  }
  template <class T>
  static bool same(const std::map<std::string, T>& a, const std::map<std::string, T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); });
  }
  template <class T>
  static bool same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
    if constexpr (std::is_same_v<T, acl::rules>)
      return true; // made from another member
    else
      return (a == nullptr) == (b == nullptr) && (a == nullptr || same(*a, *b));
  }
  template <class... Ts>
  static bool same_variants(const std::variant<Ts...>& a, const std::variant<Ts...>& b) {
    return a.index() == b.index() &&
           std::visit([&]<class One>(const One& one) { return same(one, std::get<One>(b)); }, a);
  }
  template <class... Ts>
  static bool same(const std::variant<Ts...>& a, const std::variant<Ts...>& b) {
    return same_variants(a, b);
  }
  static bool same(const payload& a, const payload& b) {
    return view_of(a) == view_of(b); // none is an empty one in bytes
  }
  static bool same(const payload_ref& a, const payload_ref& b) { return view_of(a) == view_of(b); }
  static bool same(const state::kv_entry_ptr& a, const state::kv_entry_ptr& b) {
    return static_cast<bool>(a) == static_cast<bool>(b) && (!a || same(*a, *b));
  }
  static bool same(const state::dirty_row& a, const state::dirty_row& b) {
    return a.table == b.table && a.key == b.key &&
           same_variants(static_cast<const state::row_value::plain&>(a.row),
                         static_cast<const state::row_value::plain&>(b.row));
  }
  static bool same(const state::reply& a, const state::reply& b) {
    return same_variants(static_cast<const state::plain_reply&>(a), static_cast<const state::plain_reply&>(b)) &&
           a.note == b.note && a.decided_at == b.decided_at;
  }
  static bool same(const state::command& a, const state::command& b) {
    return same_variants(static_cast<const state::plain_command::plain&>(a),
                         static_cast<const state::plain_command::plain&>(b)) &&
           a.by == b.by && a.authorized_at == b.authorized_at && same(a.once, b.once) &&
           a.client_address == b.client_address;
  }
  static bool same(const wire::frame& a, const wire::frame& b) {
    return same_variants(static_cast<const wire::frame::plain&>(a), static_cast<const wire::frame::plain&>(b));
  }

  template <class T>
  static bool same(const T& a, const T& b) {
    if constexpr (std::is_aggregate_v<T> && !requires { a.begin(); }) {
      bool equal = true;
      harness::for_each_pair(harness::members_of(a), harness::members_of(b),
                             [&](const auto& x, const auto& y) { equal = equal && same(x, y); });
      return equal;
    } else {
      return a == b;
    }
  }
};

/// Whether all members are the same, those of what is behind pointers, too.
template <class T>
bool same(const T& a, const T& b) {
  return equality::same(a, b);
}

} // namespace belay::round_trip
