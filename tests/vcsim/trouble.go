package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"time"
)

const cookie = "vmware_soap_session"

var (
	method   = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)
	argument = regexp.MustCompile(`<(?:\w+:)?arguments[^>]*>([^<]*)<`)
)

// Trouble stands before the SDK: it counts calls, and makes those fail that it was ordered to.
//
//	cut      the connection is closed instead of an answer
//	half     the connection is closed in the middle of the answer
//	expire   sessions up to now are over: NotAuthenticated
//	endless  an answer that never ends
//	slow     an answer after so many seconds
//	drip     an answer of which a byte comes every 50 ms
//	page     a page of another server (status 200, HTML)
//	busy     status 503
//	denied   a fault: the account lacks the privilege Global.ServiceManagers
//	echo     a fault that repeats the end of the request, with the password of a login
type Trouble struct {
	mutex     sync.Mutex
	inner     http.Handler
	calls     map[string]int
	expired   map[string]bool
	seen      []string
	kind      string
	operation string
	after     int
	times     int
	pause     time.Duration
}

func (t *Trouble) order(w http.ResponseWriter, r *http.Request) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	number := func(name string, otherwise int) int {
		value, err := strconv.Atoi(r.FormValue(name))
		if err != nil {
			return otherwise
		}
		return value
	}
	t.kind, t.operation = r.FormValue("kind"), r.FormValue("operation")
	t.after, t.times = number("after", 0), number("times", 1)
	t.pause = time.Duration(number("milliseconds", 1000)) * time.Millisecond
	w.WriteHeader(http.StatusNoContent)
}

func (t *Trouble) report(w io.Writer) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	_ = json.NewEncoder(w).Encode(t.calls)
}

// next counts a call and gives the trouble it gets; an expired session loses its cookie.
func (t *Trouble) next(operation string, r *http.Request) (string, time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.calls[operation]++
	kind := ""
	if t.times > 0 && (t.operation == "" || t.operation == operation) {
		if t.after--; t.after < 0 {
			t.times--
			kind = t.kind
		}
	}
	if sent, err := r.Cookie(cookie); err == nil {
		t.seen = append(t.seen, sent.Value)
		if kind == "expire" {
			for _, one := range t.seen {
				t.expired[one] = true
			}
		}
		if t.expired[sent.Value] {
			r.Header.Del("Cookie")
		}
	}
	return kind, t.pause
}

func (t *Trouble) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	operation := r.URL.Path
	if found := method.FindSubmatch(body); found != nil {
		operation = string(found[1])
	}
	if found := argument.FindSubmatch(body); found != nil && operation == "ExecuteSimpleCommand" {
		operation = string(found[1])
	}
	kind, pause := t.next(operation, r)
	switch kind {
	case "cut":
		hangUp(w, nil)
	case "half":
		answer := httptest.NewRecorder()
		t.inner.ServeHTTP(answer, r)
		whole := answer.Body.Bytes()
		head := "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: " + strconv.Itoa(len(whole)) + "\r\n\r\n"
		hangUp(w, append([]byte(head), whole[:len(whole)/2]...))
	case "endless":
		endless(w)
	case "page":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><body><p>Welcome to nginx!<br></body></html>")
	case "busy":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "denied":
		fault(w, "Permission to perform this operation was denied.",
			`<NoPermissionFault xmlns="urn:vim25" xsi:type="NoPermission"><object type="Folder">group-d1</object>`+
				`<privilegeId>Global.ServiceManagers</privilegeId></NoPermissionFault>`)
	case "echo":
		fault(w, "cannot parse "+string(body[max(0, len(body)-250):]), `<RuntimeFaultFault xmlns="urn:vim25" xsi:type="SystemError"/>`)
	case "drip":
		answer := httptest.NewRecorder()
		t.inner.ServeHTTP(answer, r)
		drip(w, answer.Body.Bytes())
	case "restricted":
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, restricted)
	case "slow":
		time.Sleep(pause)
		t.inner.ServeHTTP(w, r)
	default:
		t.inner.ServeHTTP(w, r)
	}
}

// What a vCenter answers to a query of more series than config.vpxd.stats.maxQueryMetrics allows (govmomi issue 1456).
const restricted = `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><soapenv:Fault>
<faultcode>ServerFaultCode</faultcode><faultstring>This operation is restricted by the administrator -
'vpxd.stats.maxQueryMetrics'. Contact your system administrator.</faultstring><detail>
<RestrictedByAdministratorFault xmlns="urn:vim25" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
xsi:type="RestrictedByAdministrator"><details>vpxd.stats.maxQueryMetrics</details></RestrictedByAdministratorFault>
</detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`

func hangUp(w http.ResponseWriter, first []byte) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = connection.Write(first)
	_ = connection.Close()
}

func fault(w http.ResponseWriter, text string, detail string) {
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text))
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope `+
		`xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" `+
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><soapenv:Fault>`+
		`<faultcode>ServerFaultCode</faultcode><faultstring>`+escaped.String()+`</faultstring><detail>`+detail+
		`</detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`)
}

func endless(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml")
	_, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope `+
		`xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>`+
		`<ExecuteSimpleCommandResponse xmlns="urn:vim25"><returnval>`)
	piece := bytes.Repeat([]byte("|SchedGroup|1|2|3|\n"), 4096)
	for err == nil {
		_, err = w.Write(piece)
	}
}

func drip(w http.ResponseWriter, whole []byte) {
	w.Header().Set("Content-Type", "text/xml")
	for i := range whole {
		if _, err := w.Write(whole[i : i+1]); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		time.Sleep(50 * time.Millisecond)
	}
}
