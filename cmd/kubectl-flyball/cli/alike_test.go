package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/engine/path/rawjson"
)

// recordedCluster has 60 objects as an API server lists them, with the children of Deployments, CronJobs and autoscalers.
const recordedCluster = "testdata/cluster.yaml"

// pagesOf starts the pages of a world and returns a function that gets a page.
func pagesOf(t *testing.T, now time.Time, args ...string) func(path string) string {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var errOut strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, append([]string{"ui", "--no-browser"}, args...), factory.Env{
			IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: &errOut}, Now: func() time.Time { return now }})
		_ = write.Close()
	}()
	t.Cleanup(func() {
		stop()
		<-code
	})
	address, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("the address: %v, %s", err, errOut.String())
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	get := func(address string) string {
		t.Helper()
		answer, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d, %v", address, answer.StatusCode, err)
		}
		return string(text)
	}
	get(strings.TrimSpace(address))
	own, _, _ := strings.Cut(address, "/?")
	return func(path string) string { return get(own + path) }
}

// TestAllVerbsAndPagesGiveTheSameNumbers checks the numbers of a recorded cluster in status, plan and report, and on the pages Week and
// Savings, against numbers made by hand.
func TestAllVerbsAndPagesGiveTheSameNumbers(t *testing.T) {
	noon, end := time.Date(2037, 5, 13, 12, 0, 0, 0, time.UTC), time.Date(2037, 5, 20, 0, 0, 0, 0, time.UTC)
	asked := func(args ...string) rawjson.Value {
		t.Helper()
		got := outcomeAt(t, noon, "", append(args, "--offline", recordedCluster, "-A", "-o", "json")...)
		_, text, found := strings.Cut(got, "--- standard output\n")
		if !found {
			t.Fatal(got)
		}
		return rawjson.Parse(text)
	}
	// From 20:00 to 08:00 are 76 hours of these days. The Override keeps web of shop-dev awake in the first four of them.
	want := map[string]float64{"targets": 13, "changed": 13,
		"hours":                         156*(2+1+16+3) - 76*(2+1+16) + 4*2 - 90*2 + 6*4, // front has 4 more at the peak
		"shop ClusterSchedule/nights":   76 * (3 + 2 + 4 + 6 + 1),
		"shop Schedule/shop/queue-less": 90 * 2, "shop-dev ClusterSchedule/nights": 76*1 + 72*2, "shop Trigger/shop/peak": 0}
	want["saved"] = want["shop ClusterSchedule/nights"] + want["shop Schedule/shop/queue-less"] + want["shop-dev ClusterSchedule/nights"]
	same := func(where, what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %s is %v, want %v", where, what, got, want)
		}
	}
	from, span := "--from="+noon.Format(time.RFC3339), fmt.Sprintf("--for=%ds", int(end.Sub(noon).Seconds()))
	report := asked("report", from, span)
	for where, totals := range map[string]rawjson.Value{"plan": asked("plan", from, span).Get("totals"), "report": report.Get("week.totals")} {
		same(where, "targets", totals.Get("targets").Num, want["targets"])
		same(where, "changed", totals.Get("changed").Num, want["changed"])
		same(where, "hours", totals.Get("replicaHours").Num, want["hours"])
		same(where, "saved", totals.Get("replicaHoursSaved").Num, want["saved"])
	}
	rows := map[string]float64{}
	for _, g := range report.Get("week.groups").Array() {
		for _, by := range g.Get("policies").Array() {
			rows[by.Str] += float64(len(g.Get("rows").Array()))
		}
	}
	counted := 0
	for _, p := range asked("status").Get("policies").Array() {
		id := strings.Trim(strings.Join([]string{p.Get("kind").Str, p.Get("namespace").Str, p.Get("name").Str}, "/"), "/")
		id = strings.Replace(id, "//", "/", 1)
		if rows[id] > 0 || !strings.Contains(id, "Freeze") {
			counted++
			same("status", id, p.Get("targets.total").Num, rows[id])
		}
	}
	if counted != 4 {
		t.Errorf("%d policies act on targets", counted)
	}
	for _, s := range report.Get("savings").Array() {
		key := s.Get("namespace").Str + " " + s.Get("policy").Str
		same("report", key, s.Get("totals.replicaHoursSaved").Num, want[key])
	}
	get := pagesOf(t, noon, "--offline", recordedCluster, "-A", "--time-zone=UTC")
	if got := get("/"); !strings.Contains(got, "<b>0</b> of 13 targets asleep or reduced") ||
		!strings.Contains(got, "<b>1,616</b> replica hours saved") || strings.Count(got, `href="/target/`) != 13 {
		t.Errorf("the page Week: %.4000s", got)
	}
	savings := get("/savings")
	for _, part := range []string{"1,616 replica hours",
		`"Targets that change">13 of 13</td><td class="n" data-head="Replica hours">1,616</td>`,
		`>ClusterSchedule/nights</a></td><td class="n" data-head="Targets that change">9 of 9</td>` +
			`<td class="n" data-head="Replica hours">1,216</td>`,
		`<span class="next">220 saved, 8.0 kept awake</span>`} {
		if !strings.Contains(savings, part) {
			t.Errorf("the page Savings has no %s", part)
		}
	}
}
