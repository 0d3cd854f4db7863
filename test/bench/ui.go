package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	planned "flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/test/harness"
)

// painting measures the first page of kubectl flyball ui over many targets: the time from the loaded world to the present
// states of all groups, which a browser paints first, the time to the last byte of the page, and the heap in this time.
func (b *bench) painting(ctx context.Context) error {
	w, err := planWorld(b.plannedTargets)
	if err != nil {
		return err
	}
	var firsts, times, heaps, months []float64
	for b.again(b.planRounds, firsts, times) {
		server := ui.NewServer("1", ui.ServerOptions{
			Load: func(context.Context) (*planned.World, error) { return w, nil },
			User: func(context.Context) (evaluate.User, error) { return evaluate.User{}, nil },
			Now:  func() time.Time { return nightOf(0).dusk.Add(-8 * time.Hour) },
			Zone: time.UTC, FlyballNamespace: harness.Namespace,
		})
		address, err := url.Parse(server.Address())
		if err != nil {
			return err
		}
		handler := server.Handler()
		get := func(path string, cookies []*http.Cookie) *painted {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://"+address.Host+path, nil)
			for _, c := range cookies {
				r.AddCookie(c)
			}
			out := &painted{ResponseRecorder: httptest.NewRecorder()}
			handler.ServeHTTP(out, r)
			return out
		}
		entered := get("/?"+address.RawQuery, nil).Result().Cookies()
		collect()
		started, peak := time.Now(), watchHeap()
		whole := get("/", entered)
		if !strings.Contains(whole.first, "ClusterSchedule/nights") || !strings.Contains(whole.first, "now awake") {
			return fmt.Errorf("the page begins with %.300q, not with the present states", whole.first)
		}
		firsts = append(firsts, float64(whole.at.Sub(started).Microseconds())/1000)
		times, heaps = append(times, float64(time.Since(started).Microseconds())/1000), append(heaps, float64(peak())/(1<<20))
		if text := whole.Body.String(); whole.Code != http.StatusOK || !strings.Contains(text, "replica hours saved") {
			return fmt.Errorf("the first page has status %d: %.300s", whole.Code, text)
		}
		before := cpuSeconds()
		if month := get("/?span=month", entered); month.first == "" || month.Code != http.StatusOK {
			return fmt.Errorf("the page of the month has status %d and begins with %q", month.Code, month.first)
		}
		months = append(months, cpuSeconds()-before)
	}
	b.report.rounds("ui_first_paint_ms_2000", firsts)
	b.report.rounds("ui_whole_page_ms_2000", times)
	b.report.rounds("ui_heap_mb_2000", heaps)
	b.report.rounds("ui_month_seconds_2000", months)
	b.report.figure("ui_month_seconds_2000", median(months), "s")
	b.report.figure("ui_first_paint_ms_2000", median(firsts), "ms")
	b.report.figure("ui_whole_page_ms_2000", median(times), "ms")
	b.report.figure("ui_heap_mb_2000", median(heaps), "MB")
	return nil
}

// painted is an answer with the part that the server has sent first, and the instant of sending it.
type painted struct {
	*httptest.ResponseRecorder
	first string
	at    time.Time
}

// Flush implements http.Flusher.
func (p *painted) Flush() {
	if p.first == "" {
		p.first, p.at = p.Body.String(), time.Now()
	}
}
