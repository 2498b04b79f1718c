// The keys of `encrypt`: an operation on one server, and how the responses of all members are
// collected. The texts are those of Consul 1.8.7 (serf's key manager).

#include "protocol/forward/keyring_rounds.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::forward;

namespace {

using keys = std::vector<std::string>;
using std::chrono::seconds;

keyring_answer yes(keys found = {}) {
  return {true, {}, std::move(found), false};
}

const std::vector<keyring_rounds::member> three = {{node_id{1}, "a"}, {node_id{2}, "b"}, {node_id{3}, "c"}};

} // namespace

TEST_CASE("an operation on the keys of one server", "[keyring]") {
  using enum keyring_verb;
  struct row {
    keyring_operation op;
    keys before, after;
    const char* refusal; ///< empty: done
  };
  keys full;
  for (std::size_t i = 0; i < keyring_keys_max; ++i)
    full.push_back(std::to_string(i));
  for (const auto& r : {
           row{{list, ""}, {"x", "y"}, {"x", "y"}, ""},
           row{{install, "y"}, {"x"}, {"x", "y"}, ""},
           row{{install, "x"}, {"x", "y"}, {"x", "y"}, ""}, // a repeat is not an error
           row{{install, ""}, {"x"}, {"x"}, "key size must be 16, 24 or 32 bytes"},
           row{{install, "y"}, full, full, "Keyring is full: remove keys that are no longer used"},
           row{{install, "7"}, full, full, ""},
           row{{use, "z"}, {"x", "y", "z"}, {"z", "x", "y"}, ""},
           row{{use, "x"}, {"x", "y"}, {"x", "y"}, ""},
           row{{use, "z"}, {"x", "y"}, {"x", "y"}, "Requested key is not in the keyring"},
           row{{use, ""}, {"x"}, {"x"}, "Requested key is not in the keyring"},
           row{{remove, "y"}, {"x", "y", "z"}, {"x", "z"}, ""},
           row{{remove, "gone"}, {"x"}, {"x"}, ""},
           row{{remove, ""}, {"x"}, {"x"}, ""},
           row{{remove, "x"}, {"x", "y"}, {"x", "y"}, "Removing the primary key is not allowed"},
           row{{list, ""}, {}, {}, "Keyring is empty (encryption not enabled)"},
           row{{install, "x"}, {}, {}, "No keyring to modify (encryption not enabled)"},
           row{{remove, ""}, {}, {}, "No keyring to modify (encryption not enabled)"},
       }) {
    CAPTURE(name_of(r.op.verb), r.op.key);
    auto now = r.before;
    const auto answer = operate_on(now, r.op);
    CHECK(now == r.after);
    CHECK(answer.ok == std::string(r.refusal).empty());
    CHECK(answer.text == r.refusal);
    CHECK(answer.no_keyring == r.before.empty());
    CHECK(answer.keys == (answer.ok && r.op.verb == list ? r.before : keys{}));
  }
}

TEST_CASE("an operation is over when every member has answered, or cannot", "[keyring]") {
  keyring_rounds r;
  REQUIRE(r.begin(request_id{7}, {keyring_verb::list, ""}, true, three, seconds(5)));
  REQUIRE(r.operation(request_id{7}) != nullptr);
  r.answered(request_id{7}, node_id{1}, yes({"x"}));
  r.answered(request_id{7}, node_id{1}, yes({"of nobody"})); // twice: the first one counts
  r.answered(request_id{7}, node_id{9}, yes({"of nobody"})); // which got no request
  r.answered(request_id{8}, node_id{2}, yes({"of nobody"})); // to another request
  r.not_requested(request_id{7}, node_id{2}, "not connected");
  CHECK(r.take_finished().empty());
  r.answered(request_id{7}, node_id{3}, {false, "no", {}, false});
  const auto over = r.take_finished();
  REQUIRE(over.size() == 1);
  CHECK(over[0].id == request_id{7});
  CHECK(over[0].local_only);
  const auto& m = over[0].members;
  REQUIRE(m.size() == 3);
  CHECK((m[0].name == "a" && m[0].answered && m[0].answer.keys == keys{"x"}));
  CHECK((m[1].name == "b" && !m[1].answered && !m[1].answer.ok && m[1].answer.text == "not connected"));
  CHECK((m[2].name == "c" && m[2].answered && m[2].answer.text == "no"));
  CHECK(r.take_finished().empty());
  CHECK(r.operation(request_id{7}) == nullptr);
}

TEST_CASE("a member that falls silent or is lost is no longer waited for", "[keyring]") {
  keyring_rounds r;
  REQUIRE(r.begin(request_id{1}, {keyring_verb::install, "k"}, false, three, seconds(5)));
  REQUIRE(r.begin(request_id{2}, {keyring_verb::install, "k"}, false, three, seconds(9)));
  for (const auto id : {request_id{1}, request_id{2}}) {
    r.answered(id, node_id{1}, yes());
    r.answered(id, node_id{2}, yes());
  }
  r.expire(seconds(4));
  CHECK(r.take_finished().empty());
  r.expire(seconds(5));
  auto over = r.take_finished();
  REQUIRE(over.size() == 1);
  CHECK(over[0].members[2].answer.text == "no response in time");
  r.lost(node_id{2}); // which had responded before
  CHECK(r.take_finished().empty());
  r.lost(node_id{3});
  over = r.take_finished();
  REQUIRE(over.size() == 1);
  CHECK(over[0].members[1].answer.ok);
  CHECK(over[0].members[2].answer.text == "its connection was lost before it responded");
}

TEST_CASE("the number of operations in progress is limited", "[keyring]") {
  keyring_rounds r;
  for (std::uint64_t i = 0; i < keyring_rounds::rounds_max; ++i)
    REQUIRE(r.begin(request_id{i + 1}, {}, false, three, seconds(5)));
  CHECK_FALSE(r.begin(request_id{100}, {}, false, three, seconds(5)));
  r.expire(seconds(5));
  CHECK(r.take_finished().size() == keyring_rounds::rounds_max);
  CHECK(r.begin(request_id{100}, {}, false, three, seconds(5)));
}
