package ui_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui"
)

// anAction is a form that asks to keep a namespace awake.
const anAction = "verb=wake&on=namespace%2Fshop&namespace=shop&for=2h&confirmed=yes"

// openActing starts a server with actions. The result reached counts the requests that reach the cluster.
func openActing(t *testing.T) (o *opened, reached *atomic.Int32) {
	t.Helper()
	reached = &atomic.Int32{}
	return openWith(t, func(o *ui.ServerOptions) {
		o.Cluster = func() (source.Cluster, error) {
			reached.Add(1)
			return source.Cluster{}, errors.New("the cluster is reached")
		}
	}).enter(), reached
}

// TestForeignActions sends actions in the ways that are possible for other sites, for other ports, and for attackers
// who guess tokens. None of the actions reaches the cluster.
func TestForeignActions(t *testing.T) {
	o, reached := openActing(t)
	for name, change := range map[string]func(*http.Request){
		"another site":                     func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"another port":                     func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") },
		"an opaque origin":                 func(r *http.Request) { r.Header.Set("Origin", "null") },
		"no origin":                        func(r *http.Request) { r.Header.Del("Origin") },
		"a rebound name":                   func(r *http.Request) { r.Host = "evil.example:" + o.address.Port() },
		"cross-site, with the own origin":  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"same-site, which is another port": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
	} {
		r := o.request(http.MethodPost, "/act", anAction)
		change(r)
		if answer := o.send(r); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", name, answer.StatusCode)
		}
	}
	r := o.request(http.MethodPost, "/act", anAction)
	r.Header.Del("Cookie")
	o.text(r, http.StatusUnauthorized)
	other := open(t).enter()
	own := o.form
	for name, token := range map[string]string{"none": "", "empty": "&token=", "the cookie": "&token=" + o.cookie.Value,
		"that of another server": "&token=" + other.form, "the first address": "&token=" + o.token, "all but its end": "&token=" + own[:63]} {
		o.form = ""
		if got := o.text(o.request(http.MethodPost, "/act", anAction+token), http.StatusForbidden); !strings.Contains(got, "not of this page") {
			t.Errorf("a token, %s: %.300s", name, got)
		}
	}
	o.text(o.request(http.MethodPost, "/act?token="+own, anAction), http.StatusForbidden) // an address is in logs and histories
	o.form = own
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
		o.text(o.request(method, "/act?"+anAction+"&token="+own, ""), http.StatusMethodNotAllowed)
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests have reached the cluster", n)
	}
	if got := o.text(o.request(http.MethodPost, "/act", anAction), http.StatusUnprocessableEntity); !strings.Contains(got,
		"the cluster is reached") || reached.Load() != 1 {
		t.Errorf("the person's own action does not reach the cluster: %.300s", got)
	}
}

// TestReadOnly checks that a read-only server offers no action and takes none.
func TestReadOnly(t *testing.T) {
	o := open(t).enter()
	for _, form := range []string{anAction, "verb=sleep&on=namespace/shop",
		"verb=except&on=deployment/web&namespace=shop&allow=rollout&for=1h&reason=x",
		"verb=pause&on=schedule/office-hours&namespace=shop", "verb=pause&end=yes&on=schedule/office-hours&namespace=shop"} {
		o.text(o.request(http.MethodPost, "/act", form), http.StatusNotFound)
	}
	for _, path := range []string{"/target/Deployment.apps/shop/web", "/policy/Schedule/shop/office-hours"} {
		if got := o.text(o.request(http.MethodGet, path, ""), http.StatusOK); strings.Contains(got, "<form") || strings.Contains(got, "Actions") {
			t.Errorf("%s offers an action", path)
		}
	}
}

// TestHostileNames takes actions on names that are markup, options of a shell or paths. Each answer is an error that
// shows the name as plain text.
func TestHostileNames(t *testing.T) {
	o, _ := openActing(t)
	const markup = `"><script>alert(1)</script>`
	for _, verb := range []string{"wake", "sleep", "pause", markup} {
		for _, on := range []string{"schedule/" + markup, markup, "schedule/../../etc", "schedule/--all", "'; rm -rf ~"} {
			form := url.Values{"verb": {verb}, "on": {on}, "namespace": {markup}, "for": {"1h"}, "page": {"//evil.example"}}
			got := o.text(o.request(http.MethodPost, "/act", form.Encode()), http.StatusUnprocessableEntity)
			if strings.Contains(got, "<script>alert") || strings.Contains(got, "evil.example") {
				t.Errorf("%s %s: %.600s", verb, on, got)
			}
		}
	}
	for _, path := range []string{"/policy/Schedule/shop/" + url.PathEscape(markup), "/policy/" + url.PathEscape(markup) + "/shop/x"} {
		if got := o.text(o.request(http.MethodGet, path, ""), http.StatusUnprocessableEntity); strings.Contains(got, "<script>alert") {
			t.Errorf("%s: %.600s", path, got)
		}
	}
}

// anEdit is the manifest of a policy that selects nothing.
const anEdit = "apiVersion: flyball.dev/v1alpha1\nkind: Schedule\nmetadata: {name: none, namespace: shop}\nspec:\n" +
	"  target: {kinds: [{group: apps, kind: Deployment}], names: [none]}\n  timeZone: UTC\n  asleep: [{name: nights, from: \"20:00\", to: " +
	"\"08:00\"}]\n"

// TestPagesAreServedDuringAPreview checks that the server serves pages while it computes a preview.
func TestPagesAreServedDuringAPreview(t *testing.T) {
	var holds atomic.Bool
	computing, end := make(chan struct{}), make(chan struct{})
	var o *opened
	o = openWith(t, func(options *ui.ServerOptions) {
		now := options.Now
		options.Now = func() time.Time {
			if holds.Load() && o.computes() && holds.CompareAndSwap(true, false) { // reading the world again asks for the time, too
				close(computing)
				<-end
			}
			return now()
		}
	}).enter()
	o.text(o.request(http.MethodGet, "/", ""), http.StatusOK)
	holds.Store(true)
	done := make(chan string, 1)
	r := o.request(http.MethodPost, "/preview", "manifest="+url.QueryEscape(anEdit))
	go func() { done <- o.text(r, http.StatusOK) }()
	select {
	case <-computing:
	case got := <-done:
		t.Fatalf("nothing is computed: %.600s", got)
	}
	for _, path := range []string{"/", "/policies", "/target/Deployment.apps/shop/web", "/preview"} {
		o.text(o.request(http.MethodGet, path, ""), http.StatusOK)
	}
	close(end)
	if got := <-done; !strings.Contains(got, "changes nothing in this time") {
		t.Errorf("%.600s", got)
	}
}

// TestPreviewEnds checks that the computation of a preview ends after a limited time.
func TestPreviewEnds(t *testing.T) {
	o := openWith(t, func(o *ui.ServerOptions) { o.ComputeWithin = time.Nanosecond }).enter()
	r := o.request(http.MethodPost, "/preview", "manifest="+url.QueryEscape(anEdit))
	if got := o.text(r, http.StatusUnprocessableEntity); !strings.Contains(got, "within 1ns") {
		t.Errorf("%.600s", got)
	}
}

// TestPreviewShowsEachTargetOnce checks that a preview of moved crons has a picture with each changed target without and with
// the change, and the writes folded below.
func TestPreviewShowsEachTargetOnce(t *testing.T) {
	o := open(t).enter()
	moved := "apiVersion: flyball.dev/v1alpha1\nkind: Schedule\nmetadata: {name: office-hours, namespace: shop}\nspec:\n" +
		"  target: {selector: {matchLabels: {tier: app}}}\n  timeZone: Europe/Berlin\n  upscale: \"0 9 * * 1-5\"\n  downscale: \"0 19 * * 1-5\"\n"
	got := o.text(o.request(http.MethodPost, "/preview", "manifest="+url.QueryEscape(moved)), http.StatusOK)
	picture, lines, found := strings.Cut(got, `<details class="text">`)
	for _, target := range []string{"Deployment.apps/shop/web", "CronJob.batch/shop/report"} {
		if n := strings.Count(picture, `<span class="name" title="`+target+`"`); n != 2 {
			t.Errorf("the picture has %d rows of %s", n, target)
		}
	}
	if !found || !strings.Contains(picture, "with the change") || !strings.Contains(lines, ">removed<") {
		t.Errorf("there is no picture, or there are no writes below it: %.2000s", picture)
	}
}
