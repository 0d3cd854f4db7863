package admission_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"

	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/test/harness"
)

// aloneEnv is an environment variable. It makes the test binary run as a server process and holds the port and the
// kubeconfig.
const aloneEnv = "FLYBALL_ADMIT_ALONE"

// memoryLimit is the memory limit of a server process in kB, regardless of its clients.
const memoryLimit = 256 << 10

// serveAlone runs a judging server until its standard input ends.
func serveAlone(where string) error {
	port, kubeconfig, _ := strings.Cut(where, " ")
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	keeper, err := register.NewRegistrar(config, logr.Discard())
	if err != nil {
		return err
	}
	server, err := serve.New(serve.Options{
		Host: "127.0.0.1", Port: number, Endpoint: register.Endpoint{URL: "https://127.0.0.1:" + port}, OwnConfiguration: "flyball-alone",
		Secret: types.NamespacedName{Namespace: "flyball-system", Name: "webhook-alone"}, Log: logr.Discard(), Keeper: keeper,
	})
	if err != nil {
		return err
	}
	m, err := compiled(frontFreeze, namedFreeze)
	if err != nil {
		return err
	}
	server.HandleHTTP(register.JudgePath, &freezeadmission.Judge{Freezes: m, Objects: stored{}, Log: logr.Discard(),
		Clock: clocktesting.NewFakeClock(time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC))})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return server.Start(ctx)
}

// alone starts a server process and returns its address and its peak memory in kB.
func alone(t *testing.T) (address string, peak func() int) {
	t.Helper()
	port := harness.FreePort(t)
	address = fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", aloneEnv, port, api.Kubeconfig), "GOMEMLIMIT=", "GOGC=") // no limits from outside
	output := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = output, output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := configurations().Delete(context.Background(), "flyball-alone", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server's process: %v\n%s", err, output)
		}
	})
	eventually(t, "it is in the configuration", func() error {
		if _, err := configurations().Get(t.Context(), "flyball-alone", metav1.GetOptions{}); err != nil {
			return err
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return address, func() int {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			t.Fatalf("the process is gone: %v", err)
		}
		kB, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)[1]))
		if err != nil {
			t.Fatal(err)
		}
		return kB
	}
}

// hostile returns bodies that are expensive to process.
func hostile() map[string]string {
	const size = 3_000_000
	fill := func(element string) string { return strings.Repeat(element, size/len(element)) }
	keys := func(value string) string {
		var text strings.Builder
		for i := 0; text.Len() < size; i++ {
			fmt.Fprintf(&text, `"%x":%s,`, i, value)
		}
		return text.String() + `"":` + value
	}
	good := review("UPDATE", "shop", "web", "", web("", 1, ""), web("", 2, ""))
	return map[string]string{
		"lists in lists":     `{"apiVersion":"admission.k8s.io/v1","request":{"object":` + fill("["),
		"objects in objects": fill(`{"a":`),
		"many groups":        strings.Replace(good, `"groups":[`, `"groups":[`+fill("[],"), 1),
		"many short groups":  strings.Replace(good, `"groups":[`, `"groups":[`+fill(`"",`), 1),
		"much extra":         strings.Replace(good, `"extra":{`, `"extra":{`+keys(`[0]`)+",", 1),
		"one long extra":     strings.Replace(good, `"extra":{"a":[`, `"extra":{"a":[`+fill("0,"), 1),
		"many labels":        strings.Replace(good, `"labels":{}`, `"labels":{`+keys(`""`)+`}`, 1),
		"a long name":        strings.Replace(good, `"name":"web"`, `"name":"`+fill("w")+`"`, 1),
		"escapes":            strings.Replace(good, `"name":"web"`, `"name":"`+fill(`\u0077`)+`"`, 1),
		"many fields":        strings.Replace(good, `"spec":{`, `"spec":{`+keys(`0`)+",", 1),
		"more than 3 MB":     good + strings.Repeat(" ", 20_000_000),
	}
}

// With hostile and slow bodies and strangers at the same time, every honest review gets its verdict, and the process
// stays under 256 MB.
func TestHostileBodies(t *testing.T) {
	address, peak := alone(t)
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	client := func() *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 8}}
	}
	post := func(c *http.Client, path, body string) (int, string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, strings.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		resp, err := c.Do(req)
		if err != nil {
			return 0, "", err
		}
		defer func() { _ = resp.Body.Close() }()
		answer, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(answer), err
	}
	var mu sync.Mutex
	answers := map[string]int{}
	for reason, body := range hostile() {
		for _, path := range []string{register.JudgePath, register.ValidatePath, "/elsewhere"} {
			others.Go(func() {
				c := client()
				for ctx.Err() == nil {
					code, _, err := post(c, path, body)
					mu.Lock()
					if err == nil {
						answers[fmt.Sprint(reason, " ", code)]++
					}
					mu.Unlock()
				}
			})
		}
	}
	for i := range 400 { // clients that connect and send nothing, or only the beginning of a body
		conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", address)
		if err != nil {
			continue
		}
		defer func() { _ = conn.Close() }()
		if i%4 == 0 {
			_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n{", register.JudgePath)
		}
	}
	honest := client()
	begin := time.Now()
	for n := 0; n < 300 || time.Since(begin) < 8*time.Second; n++ {
		var code int
		var answer string
		var err error
		for range 10 { // a body that comes too slowly on a busy machine is to be sent again, as API servers do
			code, answer, err = post(honest, register.JudgePath, review("UPDATE", "shop", "web", "", web("", 1, ""), web("", 2, "")))
			if code != http.StatusServiceUnavailable {
				break
			}
		}
		if err != nil || code != http.StatusOK || !strings.Contains(answer, "denies Scale") {
			t.Errorf("an honest review: %d %s %v", code, answer, err)
		}
	}
	stop()
	others.Wait()
	t.Logf("peak memory %d kB; answers %v", peak(), answers)
	if kB := peak(); kB > memoryLimit {
		t.Errorf("the process took %d kB", kB)
	}
}

// The handler answers any input, and refuses input that it cannot parse.
func FuzzJudge(f *testing.F) {
	m := freezes(f, frontFreeze, namedFreeze)
	f.Add(review("UPDATE", "shop", "web", "", web(front, 1, ""), web("", 2, "")))
	f.Add(review("UPDATE", "shop", "web", "scale", `{"spec":{"replicas":1}}`, `{"spec":{"replicas":2}}`))
	f.Add(strings.ReplaceAll(review("UPDATE", "", "shop", "", web("", 1, ""), web(front, 1, "")), "deployments", "namespaces"))
	f.Add(`{"apiVersion":"admission.k8s.io/v1","request":{"object":` + strings.Repeat("[", 2000))
	f.Add(`{"apiVersion":"admission.k8s.io/v1","request":{"userInfo":[],"object":{"metadata":[{}]},"oldObject":"","resource":1}}`)
	for _, body := range hostile() {
		if len(body) < 4_000_000 {
			f.Add(body[:1000] + body[len(body)-1000:])
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		j := &freezeadmission.Judge{Freezes: m, Objects: stored{}, Log: logr.Discard(),
			Clock: clocktesting.NewFakeClock(time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)),
			Note: func(j freezeadmission.Judgement) {
				if o := j.Object; len(j.Request.Name) > 253 || len(j.Request.Namespace) > 63 || o != nil &&
					(len(o.Name) > 253 || len(o.Namespace) > 63) {
					t.Errorf("noted with names of %d and %d bytes", len(j.Request.Name), len(j.Request.Namespace))
				}
			}}
		w := httptest.NewRecorder()
		j.ServeHTTP(w, httptest.NewRequest(http.MethodPost, register.JudgePath, strings.NewReader(body)))
		if w.Code != http.StatusOK && w.Code < 400 || w.Body.Len() > 64<<10+6*len(body) {
			t.Errorf("answered with %d and %d bytes", w.Code, w.Body.Len())
		}
	})
}
