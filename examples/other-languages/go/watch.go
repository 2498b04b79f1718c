// The keys below a prefix, and what changes in them, until examples/watched/end is written. Of
// several quick writes the client sees the last.
package main

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"
)

const prefix = "examples/watched/"

func main() {
	server, err := api.NewClient(api.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	known := map[string]string{}
	var index uint64
	for first := true; ; {
		rows, meta, err := server.KV().List(prefix, &api.QueryOptions{WaitIndex: index, WaitTime: time.Minute})
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if meta.LastIndex < index {
			index = 0 // another state: an archive was restored
			continue
		}
		index = meta.LastIndex

		now := map[string]string{}
		for _, row := range rows {
			name := strings.TrimPrefix(row.Key, prefix)
			now[name] = string(row.Value)
			if before, there := known[name]; !first && (!there || before != now[name]) {
				fmt.Println("set", name, now[name])
			}
		}
		for name := range known {
			if _, there := now[name]; !there {
				fmt.Println("delete", name)
			}
		}
		if first {
			fmt.Println("watching")
		}
		first, known = false, now
		if _, there := known["end"]; there {
			return
		}
	}
}
