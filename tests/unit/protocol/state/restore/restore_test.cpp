#include "protocol/base/random.hpp"
#include "protocol/state/restore/row_rules.hpp"
#include "tests/unit/protocol/state/acl/acl_driver.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <map>

using namespace belay;
using namespace belay::state;

namespace {

std::vector<command> restore_of(const archive& a, const std::string& id, std::size_t rows_each) {
  std::vector<command> all{restore_begin{id, a.index}};
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < a.rows.size(); i += rows_each, ++number) {
    const auto begin = a.rows.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = a.rows.begin() + static_cast<std::ptrdiff_t>(std::min(i + rows_each, a.rows.size()));
    all.emplace_back(restore_rows{id, number, std::make_shared<const std::vector<dirty_row>>(begin, end)});
  }
  all.emplace_back(restore_commit{id, number});
  return all;
}

bool restore(driver& d, const archive& a, const std::string& id = "r") {
  bool ok = true;
  for (const auto& c : restore_of(a, id, 3))
    ok = d.refused(d.apply(c)).empty() && ok;
  return ok;
}

std::uint64_t fence(const reply& r) {
  return r.note.fence;
}

reply acquire(driver& d, const std::string& key, const std::string& session) {
  return d.write(kv_verb::lock, key, "v", 0, 0, session);
}

/// As after a restart from a checkpoint.
void reload(driver& d) {
  machine fresh;
  for (auto& row : d.m.all_rows())
    fresh.load_row(std::move(row));
  fresh.finish_load(d.m.applied_index(), d.m.now());
  REQUIRE(fresh.digest() == d.m.digest());
  d.m = std::move(fresh);
}

std::vector<kv_entry_ptr> all_keys(const driver& d) {
  return std::get<kv_entries>(d.m.evaluate(kv_list{""}).data).entries;
}

/// Everything that clients can see.
std::string seen(const driver& d) {
  std::string out;
  for (const auto& e : all_keys(d))
    out += std::string(e->key) + "=" + std::string(*e->value) + "@" + to_string(e->modify_index) + "/" +
           std::string(e->session) + "/" + std::to_string(e->fence) + " ";
  const auto listed = std::get<sessions>(d.m.evaluate(session_list{}).data).list;
  for (const auto& s : listed)
    out += s->id + " ";
  for (const char* prefix : {"", "a", "b", "d/", "x"})
    out += std::to_string(d.prefix_index(prefix)) + " ";
  out += to_string(d.m.evaluate(catalog_nodes{}).index) + (d.node_known("n") ? "n" : "") +
         (d.node_known("later") ? "later" : "");
  return out;
}

void populate(driver& d) {
  const auto s = d.open(1);
  d.set("a", "1");
  d.set("d/x", "2");
  d.set("d/y", "3");
  d.remove("d/y");
  d.acquire("lock", s);
}

void change(driver& d) {
  d.set("a", "changed");
  d.remove_tree("d/");
  d.set("new", "n");
  d.add_node("later");
}

} // namespace

TEST_CASE("a restore brings back rows with their indexes, and the log continues") {
  driver d;
  populate(d);
  const auto before = seen(d);
  const auto saved = save(d.m);
  change(d);
  d.m.take_dirty();
  CHECK(restore(d, saved));
  CHECK(seen(d) == before);
  CHECK(d.m.digest() == d.m.recompute_digest());
  CHECK(d.m.replaced());
  CHECK(std::any_of(d.changed.begin(), d.changed.end(), [](const effect& e) {
    const auto* all = std::get_if<everything_changed>(&e);
    return all != nullptr && all->indexes_may_fall;
  }));
  d.m.take_dirty();
  CHECK_FALSE(d.m.replaced());
  d.set("after");
  CHECK(d.get("after")->modify_index == d.index());
  reload(d);
}

TEST_CASE("the parts of a restore that is given up are freed by the caller of tear_down") {
  driver d;
  populate(d);
  (void)d.m.tear_down(4096);
  const auto part = [&](std::uint64_t number) {
    return restore_rows{"r", number, std::make_shared<const std::vector<dirty_row>>(save(d.m).rows)};
  };
  d.apply(restore_begin{"r", log_index{1}});
  d.apply(part(0));
  d.apply(part(1));
  CHECK_FALSE(d.m.has_left_over());
  SECTION("aborted") {
    d.apply(restore_abort{"r"});
  }
  SECTION("replaced by another one") {
    d.apply(restore_begin{"s", log_index{1}});
  }
  SECTION("forgotten") {
    d.pass(staging::idle_ms_max + 1);
    d.set("later");
  }
  CHECK(d.m.has_left_over());
  CHECK(d.m.tear_down(1).size() >= 3); // two parts and the head
  CHECK_FALSE(d.m.has_left_over());
  CHECK(d.m.digest() == d.m.recompute_digest());
}

// The leader's timers had ended it before, and the entry about that comes after the restore.
TEST_CASE("a session that a restore brings back is not ended by earlier decisions") {
  driver d;
  const auto s = d.open(1);
  CHECK(d.m.restored_at() == log_index{});
  const auto before = session_expire{{s}, d.m.restored_at()};
  REQUIRE(restore(d, save(d.m)));
  CHECK(std::any_of(d.changed.begin(), d.changed.end(), [&](const effect& e) {
    const auto* all = std::get_if<everything_changed>(&e);
    return all != nullptr && all->restored_at == d.m.restored_at();
  }));
  CHECK(d.m.restored_at() == d.index());
  d.apply(before);
  CHECK(d.session(s));
  CHECK(d.changed.empty());
  reload(d);
  d.apply(session_expire{{uuid(9), s}, d.m.restored_at()});
  CHECK_FALSE(d.session(s));
}

TEST_CASE("followers of changes start over with a restore") {
  driver d;
  populate(d);
  const auto saved = save(d.m);
  change(d);
  d.m.keep_changes(1 << 20);
  const auto before = d.index();
  CHECK(restore(d, saved));
  const auto read = [&](log_index after) {
    return std::get<change_rows>(d.m.evaluate(kv_changes{{""}, change_position{after}}).data);
  };
  CHECK(d.m.changes_counted().floor == d.index());
  CHECK(read(before).gone);
  CHECK(read(d.index().prev()).gone);
  d.set("after");
  CHECK(read(d.index().prev()).list.size() == 1);
}

TEST_CASE("until its last entry a restore is invisible, and nothing remains of one that ends early") {
  driver model;
  populate(model);
  const auto saved = save(model.m);
  const auto steps = restore_of(saved, "r", 1);
  const char* ends[] = {"aborted", "idle for too long", "replaced by another restore"};
  for (std::size_t cut = 1; cut < steps.size(); ++cut) {
    for (const std::string how : ends) {
      INFO(cut << " steps, then " << how);
      driver d;
      populate(d);
      change(d);
      const auto before = seen(d);
      for (std::size_t i = 0; i < cut; ++i) {
        REQUIRE(d.refused(d.apply(steps[i])).empty());
        CHECK(seen(d) == before);
      }
      CHECK(d.m.digest() == d.m.recompute_digest());
      const auto staged = [&] {
        const auto rows = d.m.all_rows();
        return std::count_if(rows.begin(), rows.end(), [](const dirty_row& r) { return r.table == table::staging; });
      };
      CHECK(staged() > 0);
      if (how == "aborted") {
        d.apply(restore_abort{"r"});
        CHECK(staged() == 0);
      } else if (how == "idle for too long") {
        d.pass(121'000);
        d.set("z", "z");
        d.remove("z");
        CHECK(staged() == 0);
      } else {
        d.apply(restore_begin{"other", saved.index});
        CHECK(staged() == 1); // the head of the other one
      }
      for (std::size_t i = cut; i < steps.size(); ++i)
        CHECK_FALSE(d.refused(d.apply(steps[i])).empty());
      CHECK(*d.get("a")->value == "changed");
      CHECK(d.get("d/x") == nullptr);
      CHECK(d.m.digest() == d.m.recompute_digest());
    }
  }
}

TEST_CASE("a restore continues after a checkpoint between any two of its steps") {
  driver straight;
  populate(straight);
  const auto saved = save(straight.m);
  const auto steps = restore_of(saved, "r", 2);
  change(straight);
  for (const auto& step : steps)
    straight.apply(step);
  for (std::size_t at = 0; at <= steps.size(); ++at) {
    INFO("checkpoint after " << at << " steps");
    driver d;
    populate(d);
    change(d);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i == at)
        reload(d);
      CHECK(d.refused(d.apply(steps[i])).empty());
    }
    CHECK(d.m.digest() == straight.m.digest());
    CHECK(seen(d) == seen(straight));
  }
}

TEST_CASE("steps with an unknown outcome may be proposed again; a gap is detected") {
  driver d;
  populate(d);
  const auto saved = save(d.m);
  const auto steps = restore_of(saved, "r", 2);
  REQUIRE(steps.size() > 4);
  d.apply(steps[0]);
  d.apply(steps[1]);
  CHECK(d.refused(d.apply(steps[1])).empty());
  CHECK_FALSE(d.refused(d.apply(steps[3])).empty()); // steps[2] is missing
  CHECK_FALSE(d.refused(d.apply(steps.back())).empty());
  CHECK(d.refused(d.apply(steps[0])).empty()); // a late one: what was collected stays
  for (std::size_t i = 2; i < steps.size(); ++i)
    CHECK(d.refused(d.apply(steps[i])).empty());
  CHECK(d.refused(d.apply(steps[0])).empty()); // a late one: what was restored stays
  d.set("a", "written behind it");
  CHECK(d.refused(d.apply(steps.back())).empty()); // reports that it was restored, and does not do it again
  CHECK(*d.get("a")->value == "written behind it");
}

TEST_CASE("a running restore is not restarted by another one, unless it has made no progress for 30 s") {
  // Two operators restore at once: one's start would discard what the other has collected.
  driver d;
  populate(d);
  const auto steps = restore_of(save(d.m), "r", 2);
  const auto begun_by = [&](const std::string& id) {
    const auto refused = d.m.refuse_early(restore_begin{id, log_index{5}}, d.now);
    return refused ? d.refused(*refused) : std::string();
  };
  constexpr auto going_on = "another snapshot is being restored: try again when it has ended";
  CHECK(begun_by("other").empty());
  d.apply(steps[0]);
  CHECK(begun_by("other") == going_on);
  CHECK(begun_by("r").empty()); // proposed again after an unknown outcome
  d.pass(30'000);
  CHECK(begun_by("other") == going_on);
  d.pass(1);
  CHECK(begun_by("other").empty());
  d.apply(steps[1]); // it continues
  CHECK(begun_by("other") == going_on);
  SECTION("abandoned") {
    d.apply(restore_abort{"r"});
  }
  SECTION("put in force") {
    for (std::size_t i = 2; i < steps.size(); ++i)
      d.apply(steps[i]);
  }
  CHECK(begun_by("other").empty());
  // Once it is in the log, servers of all versions do the same: the newer one wins.
  CHECK(d.refused(d.apply(restore_begin{"other", log_index{5}})).empty());
}

TEST_CASE("settings of operators: set, checked, kept and restored") {
  driver d;
  const auto now = [&] { return *std::get<autopilot_ptr>(d.m.evaluate(autopilot_get{}).data); };
  CHECK(now().modify_index == log_index{1});
  CHECK(now().max_trailing_logs == 250);
  autopilot_set set;
  set.wanted.max_trailing_logs = 7;
  set.check = log_index{0};
  CHECK(std::get<bool>(d.apply(set)) == false);
  set.check = log_index{1};
  CHECK(std::get<bool>(d.apply(set)) == true);
  CHECK(now().max_trailing_logs == 7);
  CHECK(now().create_index == log_index{1});
  CHECK(now().modify_index == d.index());
  const auto saved = save(d.m);
  set.check.reset();
  set.wanted.max_trailing_logs = 8;
  d.apply(set);
  reload(d);
  CHECK(now().max_trailing_logs == 8);
  CHECK(restore(d, saved));
  CHECK(now().max_trailing_logs == 7);
  CHECK(d.m.digest() == d.m.recompute_digest());
}

TEST_CASE("an archive of another cluster does not bring indexes from the future") {
  driver old;
  for (int i = 0; i < 50; ++i)
    old.set("filler", std::to_string(i));
  const auto s = old.open(1);
  const auto old_fence = fence(acquire(old, "lock", s));
  REQUIRE(old_fence > 50);
  driver d;
  CHECK(restore(d, save(old.m)));
  CHECK(d.get("filler")->modify_index <= d.index());
  CHECK(d.prefix_index("") <= d.index().value);
  CHECK(d.get("lock")->session == s);
  CHECK(d.get("lock")->fence > old_fence);
  d.release("lock", s);
  CHECK(fence(acquire(d, "lock", s)) > old_fence + 1);
}

TEST_CASE("a holder in the archive has a new grant, unless it is its newest one anyway") {
  driver d;
  const auto s1 = d.open(1), s2 = d.open(2);
  const auto first = fence(acquire(d, "passed on", s1));
  const auto kept = fence(acquire(d, "kept", s1));
  const auto saved = save(d.m);
  d.release("passed on", s1);
  const auto second = fence(acquire(d, "passed on", s2));
  CHECK(restore(d, saved));
  CHECK(d.get("passed on")->session == s1);
  CHECK(d.get("passed on")->fence > second);
  CHECK(second > first);
  CHECK(fence(acquire(d, "passed on", s1)) == d.get("passed on")->fence);
  CHECK(d.get("kept")->fence == kept);
}

TEST_CASE("lock delays go on through a restore, and a lock that is lost by it has one") {
  driver d;
  const auto a = d.open(1, 30'000), b = d.open(2, 20'000);
  d.acquire("in the archive", a);
  d.close(a);
  const auto saved = save(d.m);
  d.acquire("later", b);
  const auto c = d.open(3, 10'000);
  d.acquire("lost", c);
  d.close(b);
  CHECK(restore(d, saved));
  CHECK(d.m.locked_out_until("in the archive") == cluster_time{d.now.value + 30'000});
  CHECK(d.m.locked_out_until("later") == cluster_time{d.now.value + 20'000});
  CHECK(d.m.locked_out_until("lost") == cluster_time{d.now.value + 10'000});
  CHECK_FALSE(d.session(c));
  const auto refused = acquire(d, "later", b); // b is back, its lock is not
  CHECK(refused.note.why == refused_for::lock_delay);
  CHECK(refused.note.retry_after_ms == 20'000);
}

TEST_CASE("a lock delay from a clock that ran ahead ends within the maximum delay") {
  driver ahead;
  ahead.now.value += 365ull * 24 * 3600 * 1000;
  const auto s = ahead.open(1, 30'000);
  ahead.acquire("k", s);
  ahead.close(s);
  driver d;
  CHECK(restore(d, save(ahead.m)));
  CHECK(d.m.locked_out_until("k") == cluster_time{d.now.value + 60'000});
}

TEST_CASE("rows that refer to nothing are not put in force") {
  driver d;
  const auto s = d.open(1);
  d.acquire("k", s);
  d.add_service("n", "web", "web");
  d.add_check("n", "c", "passing");
  auto saved = save(d.m);
  std::erase_if(saved.rows, [](const dirty_row& r) { return r.table == table::sessions || r.table == table::nodes; });
  CHECK(restore(d, saved));
  CHECK(d.get("k")->session.empty());
  CHECK(d.get("k")->fence == 0);
  CHECK(std::get<service_instances>(d.m.evaluate(catalog_service{"web", {}, {}}).data).list.empty());
  CHECK(std::get<checks>(d.m.evaluate(health_state{"any", {}}).data).list.empty());
  CHECK(d.m.digest() == d.m.recompute_digest());
}

TEST_CASE("fencing tokens never go back, whatever happens between two grants") {
  // Holders come and go; keys are put, deleted and created again; the node restarts; archives of
  // any age are restored, also one of a cluster that is far ahead. Each new grant must have a
  // larger fencing token than any before.
  driver far;
  for (int i = 0; i < 3000; ++i)
    far.set("k", std::to_string(i));
  acquire(far, "k", far.open(7));
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    seeded_random random(seed);
    driver d;
    std::vector<archive> archives{save(far.m)};
    std::map<std::string, std::uint64_t> largest;
    std::map<std::string, std::string> holder_of_largest;
    const auto granted = [&](const std::string& key, const std::string& session, std::uint64_t f, bool held_before) {
      if (held_before && holder_of_largest[key] == session && f == largest[key])
        return; // the same grant
      CHECK(f > largest[key]);
      largest[key] = f;
      holder_of_largest[key] = session;
    };
    d.add_node("n");
    for (int step = 0; step < 600; ++step) {
      INFO("step " << step);
      d.pass(random.below(50));
      const std::string key(1, static_cast<char>('k' + random.below(3)));
      const auto session = uuid(static_cast<int>(random.below(4)));
      const auto before = d.get(key);
      switch (random.below(12)) {
      case 0:
        if (!d.session(session))
          d.open(static_cast<int>(session.back() - '0'), static_cast<std::int64_t>(random.below(2) * 20));
        break;
      case 1:
        d.close(session);
        break;
      case 2:
        d.set(key, std::to_string(step));
        break;
      case 3:
        d.remove(key);
        break;
      case 4:
        if (random.below(4) == 0)
          reload(d);
        break;
      case 5:
        d.release(key, session);
        break;
      case 6:
        if (random.below(8) == 0)
          archives.push_back(save(d.m));
        break;
      case 7:
        if (random.below(8) == 0) {
          REQUIRE(restore(d, archives[random.below(archives.size())], std::to_string(step)));
          for (const auto& e : all_keys(d))
            if (!e->session.empty())
              granted(std::string(e->key), std::string(e->session), e->fence, true);
        }
        break;
      default: {
        const auto r = acquire(d, key, session);
        if (const auto* yes = std::get_if<bool>(&r); yes != nullptr && *yes)
          granted(key, session, fence(r), before && before->session == session);
        break;
      }
      }
    }
    CHECK(d.m.digest() == d.m.recompute_digest());
  }
}

TEST_CASE("a restore brings back policies, roles and tokens, and removes later ones") {
  acl_driver d;
  const auto policy = policy_in(d.set_policy("p", R"(key_prefix "" { policy = "write" })"));
  const auto kept = d.token(R"(key_prefix "" { policy = "read" })");
  const auto a = save(d.m);
  const auto later = d.token(R"(key_prefix "" { policy = "read" })");
  d.apply(acl_token_delete{d.accessor_of(kept)});
  d.apply(acl_policy_delete{policy.id});
  REQUIRE(d.refused_read(later, kv_get{"k"}).empty());
  CHECK(restore(d, a));
  CHECK(d.refused_read(later, kv_get{"k"}) == "ACL not found");
  CHECK(d.refused_read(kept, kv_get{"k"}).empty());
  CHECK(names_in(std::get<acl_rows>(d.m.evaluate(acl_policy_read{{policy.id, ""}}).data)).size() == 1);
  CHECK(d.m.has_access_rows());
  CHECK(d.m.digest() == d.m.recompute_digest());
  reload(d);
  CHECK(d.refused_read(kept, kv_get{"k"}).empty());
}

TEST_CASE("an archive from before ACLs leaves none; the next first entry creates them again") {
  driver before;
  before.set("k");
  acl_driver d;
  CHECK(restore(d, save(before.m)));
  CHECK_FALSE(d.m.has_access_rows());
  CHECK(d.refused_read(management_secret, kv_get{"k"}) == "ACL not found");
  d.apply(acl_initialize{management_secret, uuid(1), 5});
  CHECK(d.refused_read(management_secret, kv_get{"k"}).empty());
}

// The cluster time of an archive's cluster is meaningless here.
TEST_CASE("tokens of an archive expire no later than if they had been created now") {
  acl_driver other;
  other.now = cluster_time{1'000'000};
  const auto brief = other.token("", 5'000);
  acl_driver d;
  CHECK(restore(d, save(other.m)));
  CHECK(d.refused_read(brief, session_list{}).empty());
  d.pass(4'999);
  d.set("k");
  CHECK(d.refused_read(brief, session_list{}).empty());
  d.pass(1);
  d.set("k2");
  CHECK(d.refused_read(brief, session_list{}) == "ACL not found");

  acl_driver ahead;
  ahead.now = cluster_time{2'000'000};
  CHECK(restore(ahead, save(other.m)));
  CHECK(ahead.refused_read(brief, session_list{}) == "ACL not found");
  CHECK(ahead.m.digest() == ahead.m.recompute_digest());
}

TEST_CASE("if two rows of an archive have the same name or secret, the second is left out") {
  acl_driver d;
  auto a = save(d.m);
  acl_policy p;
  acl_token k;
  for (const int n : {501, 502}) {
    p.id = uuid(n);
    p.name = "same";
    k.accessor = uuid(n);
    k.secret = "same";
    a.rows.push_back({table::acl_policies, p.id, std::make_shared<const acl_policy>(p)});
    a.rows.push_back({table::acl_tokens, k.accessor, std::make_shared<const acl_token>(k)});
  }
  CHECK(restore(d, a));
  CHECK(d.token_of(uuid(501)));
  CHECK_FALSE(d.token_of(uuid(502)));
  CHECK(std::get<acl_rows>(d.m.evaluate(acl_policy_list{}).data).list.size() == 2);
}

TEST_CASE("rows of policies, roles and tokens that no request could have created are reported") {
  const auto wrong = [](auto record) {
    using type = decltype(record);
    return complaint_of({type::in, "k", std::make_shared<type>(std::move(record))}).has_value();
  };
  acl_policy p;
  p.id = uuid(1);
  p.name = "p";
  CHECK_FALSE(wrong(p));
  for (const auto& change : std::vector<std::function<void(acl_policy&)>>{
           [](auto& o) { o.id = "x"; }, [](auto& o) { o.id = "00000000-0000-4000-8000-00000000ABCD"; },
           [](auto& o) { o.name = ""; }, [](auto& o) { o.name = "a b"; }, [](auto& o) { o.rules = "key {{"; },
           [](auto& o) { o.id = management_policy_id; }}) {
    auto o = p;
    change(o);
    CHECK(wrong(o));
  }
  acl_role r;
  r.id = uuid(1);
  r.name = "r";
  CHECK_FALSE(wrong(r));
  r.policies = {"x"};
  CHECK(wrong(r));
  r.policies.clear();
  r.service_identities = {{"Bad Name", std::nullopt}};
  CHECK(wrong(r));
  acl_token k;
  k.accessor = uuid(1);
  k.secret = "s";
  CHECK_FALSE(wrong(k));
  for (const auto& change : std::vector<std::function<void(acl_token&)>>{
           [](auto& o) { o.accessor = "x"; }, [](auto& o) { o.secret = ""; }, [](auto& o) { o.secret = "manage"; },
           [](auto& o) { o.secret = "anonymous"; }, [](auto& o) { o.accessor = anonymous_accessor; },
           [](auto& o) { o.roles = {"x"}; }, [](auto& o) { o.expires = cluster_time{5}; },
           [](auto& o) {
             o.node_identities = {{"n", ""}};
           }}) {
    auto o = k;
    change(o);
    CHECK(wrong(o));
  }
  // Except those that are created without a request.
  for (const auto& row : acl_driver().m.all_rows())
    CHECK_FALSE(complaint_of(row));
}

// A server started in the middle of a restore has not sorted its keys meanwhile.
TEST_CASE("keys are the same whether they were sorted in advance or not") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    seeded_random random(seed);
    driver saved_from;
    populate(saved_from);
    for (int i = 0; i < 60; ++i) {
      const auto key = "k" + std::to_string(random.below(30));
      random.below(3) == 0 ? saved_from.acquire(key, uuid(1)) : saved_from.set(key, std::to_string(i));
    }
    auto saved = save(saved_from.m);
    if (seed % 2 == 0) // the later one counts
      saved.rows.insert(saved.rows.end(), saved.rows.begin(),
                        saved.rows.begin() + static_cast<std::ptrdiff_t>(random.below(20)));
    driver ahead, started;
    const bool of_another_cluster = seed % 3 == 0; // its indexes are above the local ones
    for (auto* d : {&ahead, &started}) {
      populate(*d);
      d->acquire("mine", uuid(1));
      for (int i = 0; i < (of_another_cluster ? 0 : 200); ++i)
        d->set("own", std::to_string(i));
    }
    const auto parts = restore_of(saved, "r", 3);
    const auto restarted_at = random.below(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == restarted_at)
        reload(started);
      ahead.apply(parts[i]);
      started.apply(parts[i]);
    }
    CHECK(ahead.m.digest() == started.m.digest());
    CHECK(ahead.m.digest() == ahead.m.recompute_digest());
    CHECK(seen(ahead) == seen(started));
    REQUIRE(!ahead.m.recount());
  }
}
