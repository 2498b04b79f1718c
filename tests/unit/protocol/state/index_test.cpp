// X-Consul-Index of key reads: never 0, and it does not decrease when keys disappear.

#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

TEST_CASE("index_is_never_zero (C6)") {
  driver d;
  CHECK(d.key_index("a") == 1);
  CHECK(d.prefix_index("a") == 1);
  CHECK(d.prefix_index("") == 1);
  CHECK(d.m.evaluate(session_list{}).index == log_index{1});
  CHECK(d.m.evaluate(catalog_nodes{}).index == log_index{1});
  CHECK(d.m.evaluate(catalog_service{"s", {}, {}}).index == log_index{1});
  CHECK(d.m.evaluate(health_state{"any", {}}).index == log_index{1});
}

TEST_CASE("sample of the contract, step by step") {
  driver d;
  d.set("p/a"); // 1
  d.set("p/b"); // 2
  CHECK(d.prefix_index("p/") == 2);
  d.set("q/a"); // 3
  CHECK(d.prefix_index("p/") == 2);
  CHECK(d.prefix_index("q/") == 3);
  CHECK(d.key_index("p/x") == 3);
  d.set("q/a");       // 4: same value
  d.remove("p/none"); // 5: nothing there
  CHECK(d.key_index("p/x") == 3);
  d.remove("p/b"); // 6
  CHECK(d.prefix_index("p/") == 6);
  CHECK(d.prefix_index("q/") == 3);
  CHECK(d.key_index("p/b") == 6);
  d.set("q/a", "new"); // 7
  CHECK(d.prefix_index("p/") == 6);
  CHECK(d.prefix_index("q/") == 7);
  CHECK(d.key_index("p/b") == 7);
  d.remove("p/a"); // 8
  CHECK(d.prefix_index("p/") == 8);
  d.set("q/a", "newer"); // 9
  CHECK(d.prefix_index("p/") == 8);
  CHECK(d.key_index("p/a") == 9);
}

TEST_CASE("list_index_after_delete (C5): the newest key of a list is deleted; its readers must notice") {
  driver d;
  d.set("d/a");
  d.set("d/b");
  const auto before = d.prefix_index("d/");
  d.remove("d/b");
  CHECK(d.prefix_index("d/") > before);
  CHECK(d.prefix_index("d/b") == 3);
  CHECK(d.prefix_index("d/a") == 1);
  CHECK(d.prefix_index("") == 3);
}

TEST_CASE("recursive delete: the prefix itself, shorter ones, and longer ones that have a trace of their own") {
  driver d;
  d.set("t/a/1");      // 1
  d.set("t/a/2");      // 2
  d.remove("t/a/2");   // 3: a tombstone of its own below t/a/
  d.set("t/b");        // 4
  d.remove_tree("t/"); // 5
  d.set("other");      // 6
  CHECK(d.prefix_index("t/") == 5);
  CHECK(d.prefix_index("t") == 5);
  // The reference would fall back to 3 here, and a reader at 3 would never see its keys go.
  CHECK(d.prefix_index("t/a/") == 5);
  CHECK(d.prefix_index("t/a/2") == 5);
  // A prefix without keys or tombstones of its own has the index of one that was never used.
  CHECK(d.prefix_index("t/b") == 6);
  d.set("t/a/1", "again"); // 7
  CHECK(d.prefix_index("t/a/") == 7);
}

TEST_CASE("a later delete of a key with the name of a removed tree does not forget the tree") {
  driver d;
  d.set("t/a");        // 1
  d.remove("t/a");     // 2
  d.set("t/a");        // 3
  d.remove_tree("t/"); // 4
  CHECK(d.prefix_index("t/a") == 4);
  d.set("t/");    // 5
  d.remove("t/"); // 6: replaces the tombstone
  CHECK(d.prefix_index("t/") == 6);
  CHECK(d.prefix_index("t/a") == 4);
}

TEST_CASE("deleting everything leaves no tombstone but no index goes back") {
  driver d;
  d.set("d/a");      // 1
  d.remove("d/a");   // 2
  d.set("d/b");      // 3
  d.set("e");        // 4
  d.remove_tree(""); // 5
  CHECK(d.prefix_index("") == 5);
  CHECK(d.prefix_index("d/") == 5);
  CHECK(d.prefix_index("e") == 5);
  CHECK(d.m.newest_tombstone() == log_index{2});
}

TEST_CASE("reaping: table indexes stay, a prefix falls to its newest key, no query is woken") {
  driver d;
  d.set("d/a");                                         // 1
  d.set("d/b");                                         // 2
  d.remove("d/b");                                      // 3
  d.set("x/a");                                         // 4
  d.remove("x/a");                                      // 5
  const auto r = d.apply(tombstone_reap{log_index{3}}); // 6
  CHECK(std::get<bool>(r));
  CHECK(d.changed.empty());
  CHECK(d.prefix_index("d/") == 1);
  CHECK(d.prefix_index("x/") == 5);
  CHECK(d.key_index("d/b") == 5);
  d.apply(tombstone_reap{log_index{5}});
  CHECK(d.prefix_index("x/") == 5); // nothing left: the table's
  CHECK(d.prefix_index("") == 5);
  CHECK(d.m.newest_tombstone().is_zero());
}

TEST_CASE("commands that change no index") {
  driver d;
  d.set("d/a", "v");
  const auto check = [&](const char* what) {
    INFO(what);
    CHECK(d.changed.empty());
    CHECK(d.prefix_index("d/") == 1);
    CHECK(d.key_index("missing") == 1);
    CHECK(d.prefix_index("") == 1);
  };
  d.cas("d/a", log_index{9});
  check("failed cas");
  d.remove("d/zz");
  check("delete of a missing key");
  d.remove_tree("d/zz");
  check("recursive delete that matches nothing");
  d.remove_cas("d/a", log_index{7});
  check("failed delete cas");
  d.release("d/a", uuid(1));
  check("failed release");
  d.refused(d.write(kv_verb::lock, "d/a", "v", 0, 0, uuid(1)));
  check("failed acquire");
}

TEST_CASE("keys and sessions have indexes of their own") {
  driver d;
  d.add_node("n");
  d.set("a");
  const auto keys = d.key_index("missing");
  const auto s = d.open(1);
  CHECK(d.key_index("missing") == keys);
  const auto sessions = d.m.evaluate(session_info{s}).index;
  CHECK(sessions == d.index());
  d.set("a", "other");
  CHECK(d.m.evaluate(session_list{}).index == sessions);
  CHECK(d.m.evaluate(session_node{"nobody"}).index == sessions);
  CHECK(d.m.evaluate(session_info{uuid(9)}).index == sessions);
  d.close(s);
  CHECK(d.m.evaluate(session_info{s}).index == d.index());
}
