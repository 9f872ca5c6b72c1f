package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const location = "vmware.host."

// Services are the services of all hosts, with what they remember from one session to the next.
type Services struct {
	folder  string
	esx     bool
	ahead   time.Duration
	mutex   sync.Mutex
	fetched map[string]int
	vscsi   map[string]bool
}

// ServiceManager answers QueryServiceList.
type ServiceManager struct {
	mo.ServiceManager
	services *Services
	registry *simulator.Registry
}

// SimpleCommand is one service of one host.
type SimpleCommand struct {
	mo.SimpleCommand
	services *Services
	name     string
	host     string
}

// Clock is the clock of every host: the simulator gives all of them the same reference.
type Clock struct {
	mo.HostDateTimeSystem
	ahead time.Duration
}

// QueryDateTime gives the time of the host.
func (c *Clock) QueryDateTime(_ *simulator.Context, _ *types.QueryDateTime) soap.HasFault {
	return &methods.QueryDateTimeBody{Res: &types.QueryDateTimeResponse{Returnval: time.Now().Add(c.ahead)}}
}

func (s *Services) register(model *simulator.Model) {
	clock := &Clock{ahead: s.ahead}
	clock.Self = types.ManagedObjectReference{Type: "HostDateTimeSystem", Value: "dateTimeSystem"}
	model.Map().Put(clock)
	manager := &ServiceManager{services: s, registry: model.Map()}
	manager.Self = *model.ServiceContent.ServiceManager
	model.Map().Put(manager)
}

func (m *ServiceManager) hosts(locations []string) []string {
	var names []string
	for _, one := range m.registry.All("HostSystem") {
		names = append(names, one.Entity().Name)
	}
	if m.services.esx {
		return names
	}
	var found []string
	for _, name := range names {
		for _, one := range locations {
			if one == location+name {
				found = append(found, name)
			}
		}
	}
	return found
}

// QueryServiceList gives the services of a host; each time a new object, as a real host does.
func (m *ServiceManager) QueryServiceList(_ *simulator.Context, r *types.QueryServiceList) soap.HasFault {
	res := &types.QueryServiceListResponse{}
	for _, host := range m.hosts(r.Location) {
		for _, name := range []string{"Esxtop", "VscsiStats"} {
			if r.ServiceName != "" && r.ServiceName != name {
				continue
			}
			command := &SimpleCommand{services: m.services, name: name, host: host}
			command.Self = types.ManagedObjectReference{Type: "SimpleCommand", Value: "SimpleCommand:" + uuid.NewString()}
			m.registry.Put(command)
			res.Returnval = append(res.Returnval, types.ServiceManagerServiceInfo{
				ServiceName: name,
				Location:    r.Location,
				Service:     command.Self,
				Description: "Pack " + strings.ToLower(name) + " data",
			})
		}
	}
	return &methods.QueryServiceListBody{Res: res}
}

// ExecuteSimpleCommand runs one operation of a service.
func (c *SimpleCommand) ExecuteSimpleCommand(_ *simulator.Context, r *types.ExecuteSimpleCommand) soap.HasFault {
	body := &methods.ExecuteSimpleCommandBody{}
	text, err := c.run(r.Arguments)
	if err != nil {
		body.Fault_ = simulator.Fault(err.Error(), &types.InvalidArgument{InvalidProperty: "arguments"})
		return body
	}
	body.Res = &types.ExecuteSimpleCommandResponse{Returnval: text}
	return body
}

func (c *SimpleCommand) run(arguments []string) (string, error) {
	if len(arguments) == 0 {
		return "", fmt.Errorf("no operation")
	}
	c.services.mutex.Lock()
	defer c.services.mutex.Unlock()
	running := c.services.vscsi
	switch c.name + " " + arguments[0] {
	case "Esxtop CounterInfo":
		return c.read("counterinfo.txt")
	case "Esxtop FetchStats":
		c.services.fetched[c.host]++
		return c.sample(c.services.fetched[c.host])
	case "Esxtop FreeStats":
		return "", nil
	case "VscsiStats StartVscsiStats":
		running[c.host] = true
		return "OK", nil
	case "VscsiStats StopVscsiStats":
		delete(running, c.host)
		return "OK", nil
	case "VscsiStats ResetVscsiStats":
		return "OK", nil
	case "VscsiStats FetchAllHistograms":
		if !running[c.host] {
			return "<vscsiStats>\n</vscsiStats>\n", nil
		}
		return c.read("fetchallhistograms.txt")
	}
	return "", fmt.Errorf("unknown operation %s of %s", arguments[0], c.name)
}

// sample gives the numbered sample, or the last one before it.
func (c *SimpleCommand) sample(number int) (string, error) {
	found, _ := filepath.Glob(filepath.Join(c.home(), "fetchstats-*.txt"))
	if len(found) == 0 {
		return "", fmt.Errorf("no fetchstats-*.txt in %s", c.home())
	}
	return c.read(filepath.Base(found[min(number, len(found))-1]))
}

func (c *SimpleCommand) home() string {
	own := filepath.Join(c.services.folder, c.host)
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return c.services.folder
}

func (c *SimpleCommand) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.home(), name))
	return string(text), err
}
