#include "protocol/state/row_hash.hpp"

#include <bit>
#include <cstring>

namespace belay::state {

namespace {

// Odd constants of wyhash (Wang Yi, public domain); any with well-spread bits would do.
constexpr std::uint64_t k0 = 0xA0761D6478BD642FULL;
constexpr std::uint64_t k1 = 0xE7037ED1A0B428DBULL;

std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  const auto wide = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(wide) ^ static_cast<std::uint64_t>(wide >> 64);
}

std::uint64_t load(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  if constexpr (std::endian::native == std::endian::big)
    word = __builtin_bswap64(word);
  return word;
}

class hasher {
public:
  explicit hasher(table t) : state_(k0 + static_cast<std::uint64_t>(t) * k1) {}

  hasher& number(std::uint64_t v) {
    state_ = folded_product(state_ ^ k0, v ^ k1) + k1;
    return *this;
  }
  hasher& signed_number(std::int64_t v) { return number(static_cast<std::uint64_t>(v)); }
  hasher& index(log_index i) { return number(i.value); }

  hasher& text(std::string_view bytes) {
    number(bytes.size());
    const char* p = bytes.data();
    std::size_t n = bytes.size();
    for (; n >= 16; p += 16, n -= 16)
      state_ = folded_product(load(p) ^ k1, load(p + 8) ^ state_);
    if (n != 0) {
      char rest[16] = {};
      std::memcpy(rest, p, n);
      state_ = folded_product(load(rest) ^ k1, load(rest + 8) ^ state_);
    }
    return *this;
  }

  hasher& names(const string_map& m) {
    number(m.size());
    for (const auto& [name, value] : m)
      text(name).text(value);
    return *this;
  }
  template <class T, class F>
  hasher& optional(const std::optional<T>& v, F&& f) {
    number(v.has_value() ? 1 : 0);
    if (v)
      f(*v);
    return *this;
  }
  hasher& optional_names(const std::optional<string_map>& m) {
    return optional(m, [this](const string_map& v) { names(v); });
  }
  hasher& optional_list(const std::optional<std::vector<std::string>>& l) {
    return optional(l, [this](const std::vector<std::string>& v) {
      number(v.size());
      for (const auto& each : v)
        text(each);
    });
  }

  /// The sum of the hashes is the digest, so the last step has to spread every bit once more.
  std::uint64_t value() const {
    const auto h = folded_product(state_ ^ k0, k1);
    return h == 0 ? k1 : h;
  }

private:
  std::uint64_t state_;
};

} // namespace

std::uint64_t row_hash(const kv_entry_ptr& row) {
  hasher h(table::kv);
  h.text(row->key)
      .text(*row->value)
      .number(row->flags)
      .number(row->lock_index)
      .text(row->session)
      .index(row->create_index)
      .index(row->modify_index);
  if (row->fence != 0)
    h.number(row->fence);
  return h.value();
}

std::uint64_t row_hash(const tombstone& row) {
  return hasher(table::tombstones).text(row.key).index(row.index).index(row.tree_index).value();
}

std::uint64_t row_hash(const session_ptr& row) {
  return hasher(table::sessions)
      .text(row->id)
      .text(row->name)
      .text(row->node)
      .signed_number(row->lock_delay_ns)
      .number(static_cast<std::uint64_t>(row->behavior))
      .text(row->ttl)
      .signed_number(row->ttl_ns)
      .optional_list(row->checks)
      .optional_list(row->node_checks)
      .optional_list(row->service_checks)
      .index(row->create_index)
      .index(row->modify_index)
      .value();
}

std::uint64_t row_hash(const lock_delay_record& row) {
  return hasher(table::lock_delays).text(row.key).number(row.until.value).value();
}

std::uint64_t row_hash(const node_ptr& row) {
  return hasher(table::nodes)
      .text(row->id)
      .text(row->node)
      .text(row->address)
      .text(row->datacenter)
      .optional_names(row->tagged_addresses)
      .optional_names(row->meta)
      .index(row->create_index)
      .index(row->modify_index)
      .value();
}

std::uint64_t row_hash(const service_ptr& row) {
  hasher h(table::services);
  h.text(row->node).text(row->kind).text(row->id).text(row->service).text(row->address);
  h.optional_list(row->tags);
  h.optional(row->tagged_addresses, [&h](const std::map<std::string, service_address>& m) {
    h.number(m.size());
    for (const auto& [name, where] : m)
      h.text(name).text(where.address).signed_number(where.port);
  });
  h.optional_names(row->meta);
  h.signed_number(row->port).signed_number(row->weight_passing).signed_number(row->weight_warning);
  h.number(row->enable_tag_override ? 1 : 0).text(row->proxy_json).text(row->connect_json);
  return h.index(row->create_index).index(row->modify_index).value();
}

std::uint64_t row_hash(const check_ptr& row) {
  return hasher(table::checks)
      .text(row->node)
      .text(row->check_id)
      .text(row->name)
      .text(row->status)
      .text(row->notes)
      .text(row->output)
      .text(row->service_id)
      .text(row->service_name)
      .text(row->type)
      .optional_list(row->service_tags)
      .text(row->definition_json)
      .index(row->create_index)
      .index(row->modify_index)
      .value();
}

std::uint64_t row_hash(const counter& row) {
  return hasher(table::counters).text(row.name).number(row.value).value();
}

std::uint64_t row_hash(const autopilot_ptr& row) {
  hasher h(table::operators);
  h.number(row->cleanup_dead_servers ? 1 : 0)
      .signed_number(row->last_contact_threshold_ns)
      .number(row->max_trailing_logs);
  h.number(row->min_quorum).signed_number(row->server_stabilization_ns).text(row->redundancy_zone_tag);
  h.number(row->disable_upgrade_migration ? 1 : 0).text(row->upgrade_version_tag);
  return h.index(row->create_index).index(row->modify_index).value();
}

std::uint64_t row_hash(const staged_ptr& row) {
  hasher h(table::staging);
  h.text(row->key).text(row->id).index(row->archive_index).number(row->batches).number(row->touched.value);
  h.number(row->in_force ? 1 : 0);
  if (row->rows == nullptr)
    return h.value();
  for (const auto& each : *row->rows) {
    h.text(each.key);
    std::visit(
        [&](const auto& r) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(r)>, std::monostate>)
            h.number(row_hash(r));
        },
        each.row);
  }
  return h.value();
}

} // namespace belay::state
