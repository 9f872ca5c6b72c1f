// A vCenter or an ESXi host made by govmomi's simulator, with the service manager that the simulator lacks.
//
// The replies of ExecuteSimpleCommand come from files: DIR/counterinfo.txt, DIR/fetchstats-0001.txt and so on (the last
// one is repeated), DIR/fetchallhistograms.txt. If DIR has a folder with the name of a host, that host's replies come from there.
//
// A control server takes POST /trouble?kind=cut&operation=FetchStats&after=3&times=2&seconds=1, and answers GET /calls
// with the number of calls of each operation. The first line of the output is JSON: url, control, thumbprint.
package main

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/vmware/govmomi/simulator"
)

func thumbprint(sum []byte) string { return hex.EncodeToString(sum) }

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address of the SDK")
	replies := flag.String("replies", "", "directory with the replies of the service manager")
	esx := flag.Bool("esx", false, "an ESXi host instead of a vCenter")
	hosts := flag.Int("hosts", 1, "hosts outside clusters")
	clusters := flag.Int("clusters", 1, "clusters")
	clusterHosts := flag.Int("cluster-hosts", 3, "hosts of each cluster")
	vms := flag.Int("vms", 2, "VMs of each cluster and of each host outside clusters")
	user := flag.String("user", "administrator@vsphere.local", "user name")
	password := flag.String("password", "", "password; any if it is empty")
	ahead := flag.Duration("ahead", 0, "how far the clocks of hosts are ahead")
	flag.Parse()
	log.SetOutput(os.Stderr)

	model := simulator.VPX()
	if *esx {
		model = simulator.ESX()
	} else {
		model.Host, model.Cluster, model.ClusterHost = *hosts, *clusters, *clusterHosts
	}
	model.Machine = *vms
	check(model.Create())
	defer model.Remove()

	services := &Services{folder: *replies, esx: *esx, ahead: *ahead, vscsi: map[string]bool{}, fetched: map[string]int{}}
	services.register(model)

	model.Service.TLS = new(tls.Config)
	model.Service.Listen = &url.URL{Host: *listen}
	if *password != "" {
		model.Service.Listen.User = url.UserPassword(*user, *password)
	}
	model.Service.RegisterEndpoints = true
	server := model.Service.NewServer()
	trouble := &Trouble{calls: map[string]int{}, expired: map[string]bool{}, inner: server.Config.Handler}
	server.Config.Handler = trouble
	defer server.Close()

	control, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	mux := http.NewServeMux()
	mux.HandleFunc("/trouble", trouble.order)
	mux.HandleFunc("/calls", func(w http.ResponseWriter, _ *http.Request) { trouble.report(w) })
	go func() { check(http.Serve(control, mux)) }()

	raw := server.Certificate().Raw
	sha256sum, sha1sum := sha256.Sum256(raw), sha1.Sum(raw)
	check(json.NewEncoder(os.Stdout).Encode(map[string]string{
		"server":      server.URL.Host,
		"control":     fmt.Sprintf("http://%s", control.Addr()),
		"thumbprint":  thumbprint(sha256sum[:]),
		"sha1":        thumbprint(sha1sum[:]),
		"certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
	}))

	done, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Whoever started it has ended when the pipe does.
	go func() { _, _ = os.Stdin.Read(make([]byte, 1)); stop() }()
	<-done.Done()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
