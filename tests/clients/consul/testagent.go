// Stands in for agent/testagent.go of Consul 1.8.7 in the tests of its commands: an agent is a process of the program
// CONSUL_UNDER_TEST instead of a part of the test. tests/clients/consul_suites compiles it with `go test -overlay`.
//
// What tests read from Config, and the calls that they make past HTTP, are answered over HTTP. A call that is not in `calls` fails.
package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/ioutil"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/consul/agent/config"
	"github.com/hashicorp/consul/agent/consul/autopilot"
	"github.com/hashicorp/consul/agent/structs"
	"github.com/hashicorp/consul/api"
	"github.com/hashicorp/consul/sdk/freeport"
	"github.com/hashicorp/consul/types"
	uuid "github.com/hashicorp/go-uuid"
	"github.com/hashicorp/serf/serf"
)

// TestAgent is one process with a data directory of its own.
type TestAgent struct {
	Name, HCL string
	Config    *config.RuntimeConfig
	folder    string
	ports     []int
	process   *exec.Cmd
	log       bytes.Buffer
	ended     chan struct{} // closed when the process is gone
}

const upWithin = 60 * time.Second // on a loaded machine; an idle one takes 1 to 3

// NewTestAgent returns an agent that leads, with the given HCL on top of the defaults.
func NewTestAgent(t *testing.T, hcl string) *TestAgent { return StartTestAgent(t, TestAgent{HCL: hcl}) }

// StartTestAgent is NewTestAgent for an agent that has a name.
func StartTestAgent(t *testing.T, given TestAgent) *TestAgent {
	t.Helper()
	a := &TestAgent{Name: given.Name, HCL: given.HCL}
	if err := a.start(); err != nil {
		t.Fatalf("agent: %v\n%s", err, a.log.String())
	}
	return a
}

func (a *TestAgent) start() (err error) {
	if a.folder, err = ioutil.TempDir("", "agent"); err != nil {
		return err
	}
	a.ports = freeport.MustTake(7)
	id, err := uuid.GenerateUUID()
	if err != nil {
		return err
	}
	loopback := func(port int) *net.TCPAddr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }
	a.Config = &config.RuntimeConfig{NodeName: "Node-" + id, NodeID: types.NodeID(id), Datacenter: "dc1", DataDir: filepath.Join(a.folder, "data"),
		SerfBindAddrLAN: loopback(a.ports[3]), SerfBindAddrWAN: loopback(a.ports[4]), SerfPortWAN: a.ports[4], ServerPort: a.ports[5]}
	base := fmt.Sprintf(`
		bind_addr = "127.0.0.1"
		advertise_addr = "127.0.0.1"
		datacenter = "dc1"
		bootstrap = true
		server = true
		disable_update_check = true
		node_id = %q
		node_name = %q
		data_dir = %q
		performance { raft_multiplier = 1 }
		ports { dns = %d http = %d https = -1 serf_lan = %d serf_wan = %d server = %d grpc = %d }`,
		id, a.Config.NodeName, a.Config.DataDir, a.ports[0], a.ports[1], a.ports[3], a.ports[4], a.ports[5], a.ports[6])
	arguments := []string{"agent"}
	for i, text := range []string{base, a.HCL} {
		file := filepath.Join(a.folder, fmt.Sprintf("%d.hcl", i))
		if err := ioutil.WriteFile(file, []byte(text), 0600); err != nil {
			return err
		}
		arguments = append(arguments, "-config-file", file)
	}
	if err := os.MkdirAll(a.Config.DataDir, 0700); err != nil {
		return err
	}
	a.process = exec.Command(os.Getenv("CONSUL_UNDER_TEST"), arguments...)
	a.process.Stdout, a.process.Stderr = &a.log, &a.log
	a.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := a.process.Start(); err != nil {
		return err
	}
	a.ended = make(chan struct{})
	go func() { a.process.Wait(); close(a.ended) }()
	return a.waitUntilUp()
}

func (a *TestAgent) waitUntilUp() error {
	for end := time.Now().Add(upWithin); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		select {
		case <-a.ended:
			return fmt.Errorf("ended: %v", a.process.ProcessState)
		default:
		}
		var self struct {
			Config struct{ NodeName, NodeID string }
		}
		leader, err := a.Client().Status().Leader()
		if err != nil || leader == "" {
			continue
		}
		// HCL of the test may have named the node. With ACLs this is forbidden, and tests do not ask for the name.
		if err := a.ask("GET", "/v1/agent/self", "", nil, &self); err == nil {
			a.Config.NodeName, a.Config.NodeID = self.Config.NodeName, types.NodeID(self.Config.NodeID)
		}
		return nil
	}
	return fmt.Errorf("no leader within %v", upWithin)
}

// Shutdown kills the process and removes its data.
func (a *TestAgent) Shutdown() error {
	if a.process != nil {
		a.process.Process.Kill()
		<-a.ended
		a.process = nil
		freeport.Return(a.ports)
		os.RemoveAll(a.folder)
	}
	return nil
}

func (a *TestAgent) HTTPAddr() string { return fmt.Sprintf("127.0.0.1:%d", a.ports[1]) }

func (a *TestAgent) Client() *api.Client {
	c, err := api.NewClient(&api.Config{Address: a.HTTPAddr()})
	if err != nil {
		panic(err)
	}
	return c
}

// ask sends a request and reads the JSON of its answer into reply.
func (a *TestAgent) ask(verb, path, token string, body, reply interface{}) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		text = nil
	}
	request, err := http.NewRequest(verb, "http://"+a.HTTPAddr()+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("X-Consul-Token", token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err = ioutil.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != 200 {
		return fmt.Errorf("%d %s", answer.StatusCode, text)
	}
	if reply == nil || len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if meta := reflect.Indirect(reflect.ValueOf(reply)).FieldByName("QueryMeta"); meta.IsValid() {
		meta.FieldByName("KnownLeader").SetBool(answer.Header.Get("X-Consul-KnownLeader") == "true")
		var index uint64
		fmt.Sscan(answer.Header.Get("X-Consul-Index"), &index)
		meta.FieldByName("Index").SetUint(index)
	}
	return json.Unmarshal(text, rows(reply))
}

// rows is the part of a reply that HTTP answers with.
func rows(reply interface{}) interface{} {
	switch r := reply.(type) {
	case *structs.IndexedNodes:
		return &r.Nodes
	case *structs.IndexedHealthChecks:
		return &r.HealthChecks
	}
	return reply
}

// calls has the HTTP request of each call that the tests make.
var calls = map[string]struct{ verb, path string }{
	"Catalog.ListNodes": {"GET", "/v1/catalog/nodes"},
	"Catalog.Register":  {"PUT", "/v1/catalog/register"},
	"Coordinate.Update": {"PUT", "/v1/coordinate/update"},
	"Health.NodeChecks": {"GET", "/v1/health/node/"},
}

func (a *TestAgent) RPC(method string, args, reply interface{}) error {
	if config, ok := reply.(*autopilot.Config); ok { // its durations are numbers there, and text over HTTP
		found, err := a.Client().Operator().AutopilotGetConfiguration(nil)
		if err == nil {
			*config = autopilot.Config{CleanupDeadServers: found.CleanupDeadServers, LastContactThreshold: found.LastContactThreshold.Duration(),
				MaxTrailingLogs: found.MaxTrailingLogs, MinQuorum: found.MinQuorum, ServerStabilizationTime: found.ServerStabilizationTime.Duration(),
				CreateIndex: found.CreateIndex, ModifyIndex: found.ModifyIndex}
		}
		return err
	}
	call, known := calls[method]
	if !known {
		return fmt.Errorf("%s: not to be had over HTTP", method)
	}
	path := call.path
	token := ""
	switch given := args.(type) {
	case *structs.DCSpecificRequest:
		token = given.Token
	case *structs.NodeSpecificRequest:
		token = given.Token
		path += url.PathEscape(given.Node)
	}
	if call.verb == "GET" {
		return a.ask("GET", path, token, nil, reply)
	}
	return a.ask(call.verb, path, token, args, nil)
}

func (a *TestAgent) members(wan bool) []serf.Member {
	found, err := a.Client().Agent().Members(wan)
	if err != nil {
		return nil
	}
	out := make([]serf.Member, len(found))
	for i, m := range found {
		out[i] = serf.Member{Name: m.Name, Addr: net.ParseIP(m.Addr), Port: m.Port, Tags: m.Tags, Status: serf.MemberStatus(m.Status)}
	}
	return out
}

func (a *TestAgent) LANMembers() []serf.Member { return a.members(false) }
func (a *TestAgent) WANMembers() []serf.Member { return a.members(true) }

func (a *TestAgent) join(addresses []string, wan bool) (int, error) {
	for i, address := range addresses {
		if err := a.Client().Agent().Join(address, wan); err != nil {
			return i, err
		}
	}
	return len(addresses), nil
}

func (a *TestAgent) JoinLAN(addresses []string) (int, error) { return a.join(addresses, false) }
func (a *TestAgent) JoinWAN(addresses []string) (int, error) { return a.join(addresses, true) }

func (a *TestAgent) AddService(s *structs.NodeService, _ []*structs.CheckType, _ bool, token string, _ configSource) error {
	return a.ask("PUT", "/v1/agent/service/register", token, map[string]interface{}{"ID": s.ID, "Name": s.Service, "Tags": s.Tags, "Port": s.Port}, nil)
}

func (a *TestAgent) EnableServiceMaintenance(id structs.ServiceID, reason, _ string) error {
	return a.Client().Agent().EnableServiceMaintenance(id.ID, reason)
}

func (a *TestAgent) EnableNodeMaintenance(reason, _ string) {
	if err := a.Client().Agent().EnableNodeMaintenance(reason); err != nil && !strings.Contains(err.Error(), "already") {
		panic(err)
	}
}
