// One of many candidates leads. SECONDS: how long it leads before it resigns.
// usage: election NAME SECONDS
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/consul/api"
)

const key = "examples/leader"

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Reports other leaders, until this candidate leads.
func observe(kv *api.KV, me string) {
	var index uint64
	shown := ""
	for {
		row, meta, err := kv.Get(key, &api.QueryOptions{WaitIndex: index, WaitTime: 10 * time.Second})
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		index = meta.LastIndex
		leader := ""
		if row != nil && row.Session != "" { // the value alone remains when a leader dies
			leader = string(row.Value)
		}
		if leader == me {
			return
		}
		if leader != "" && leader != shown {
			fmt.Println(leader, "leads")
		}
		shown = leader
	}
}

func main() {
	me := os.Args[1]
	term, err := time.ParseDuration(os.Args[2] + "s")
	check(err)
	server, err := api.NewClient(api.DefaultConfig())
	check(err)
	go observe(server.KV(), me)

	// Without our session it creates one, renews it and ends it.
	campaign, err := server.LockOpts(&api.LockOptions{Key: key, Value: []byte(me), SessionName: me, SessionTTL: "15s", MonitorRetries: 3})
	check(err)
	lost, err := campaign.Lock(nil)
	check(err)
	row, _, err := server.KV().Get(key, nil)
	check(err)
	fmt.Println("I lead, fence " + strconv.FormatUint(row.LockIndex, 10))

	select { // the leader's work, in steps; each with the fence
	case <-lost:
		log.Fatal("another one may lead")
	case <-time.After(term):
	}
	check(campaign.Unlock())
	fmt.Println("I have resigned")
}
