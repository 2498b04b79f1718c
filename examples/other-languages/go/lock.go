// One process at a time counts. It uses the lock of a key, as all of Consul's clients do: `consul
// lock`, `belay lock` and the C++ library's mutex exclude it. Waiting clients are woken together,
// and one of them gets the lock.
package main

import (
	"fmt"
	"log"
	"strconv"

	"github.com/hashicorp/consul/api"
)

const key = "examples/count-key"

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	server, err := api.NewClient(api.DefaultConfig()) // CONSUL_HTTP_ADDR
	check(err)
	kv := server.KV()

	// A session of its own, because the transaction below names it.
	session, _, err := server.Session().CreateNoChecks(&api.SessionEntry{Name: "counting", TTL: "15s"}, nil)
	check(err)
	done := make(chan struct{})
	defer close(done) // ends the session
	go server.Session().RenewPeriodic("15s", session, nil, done)

	lock, err := server.LockOpts(&api.LockOptions{Key: key, Session: session, MonitorRetries: 3})
	check(err)
	lost, err := lock.Lock(nil)
	check(err)
	row, _, err := kv.Get(key, nil)
	check(err)
	fence := row.LockIndex

	count := 1
	if now, _, err := kv.Get("examples/count-by-key", nil); err != nil {
		log.Fatal(err)
	} else if now != nil {
		before, err := strconv.Atoi(string(now.Value))
		check(err)
		count = before + 1
	}
	select {
	case <-lost:
		log.Fatal("the lock is lost")
	default:
	}
	// Atomic: rejected if this session no longer has the lock.
	ok, refused, _, err := kv.Txn(api.KVTxnOps{
		{Verb: api.KVCheckSession, Key: key, Session: session},
		{Verb: api.KVSet, Key: "examples/count-by-key", Value: []byte(strconv.Itoa(count))},
	}, nil)
	check(err)
	if !ok {
		log.Fatal(refused.Errors[0].What)
	}
	fmt.Printf("count %d, fence %d\n", count, fence)

	check(lock.Unlock()) // first this: then no client waits for a lock delay
}
