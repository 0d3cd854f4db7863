package ui_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui"
)

// TestViewsShowContentWithoutAScript checks that each view shows its content without a script.
func TestViewsShowContentWithoutAScript(t *testing.T) {
	o := open(t).enter()
	for path, want := range map[string][]string{
		"/":                         {"Schedule/shop/office-hours", "ChangeFreeze/shop/holiday", ">web</a>", "replica hours saved"},
		"/?zone=America%2FNew_York": {"America/New_York", "EDT"},
		"/?from=2037-10-25&span=day&zone=Europe%2FBerlin": {"the time from 02:00 to 03:00 comes twice"},
		"/?from=2038-03-27&zone=Europe%2FBerlin":          {"goes from 02:00 to 03:00: the time between is skipped"},
		"/?from=2038-03-27&span=day":                      {"<h1>Day</h1>", ">Day</a>", "<title>Flyball: Day, all namespaces</title>"},
		"/?from=2038-03-27&span=month":                    {"<h1>Month</h1>", ">Month</a>", "<title>Flyball: Month, all namespaces</title>"},
		"/?q=search":                                      {"Schedule/shop/search-nights", "1 target"},
		"/?q=nothing+of+the+kind":                         {"No target has &#34;nothing of the kind&#34;"},
		"/policies":                                       {"Schedule/shop/data-first", "Asleep", "FreezeException/shop/hotfix"},
		"/freezes": {"denies Create, Delete, RollOut, Scale: no changes around the holiday",
			"Fri 2037-05-15 10:00 UTC", "<caption>August 2037</caption>"},
		"/savings": {"Memory GiB hours", "Compared with all targets running around the clock",
			`href="/policy/Schedule/shop/office-hours">`},
		"/policy/Schedule/shop/data-first": {`href="/target/StatefulSet.apps/shop/queue">`},
		"/health":                          {"policies", "ok"},
		"/preview":                         {"It applies nothing", "<textarea"},
		"/target/Deployment.apps/shop/web": {", and decides</span>", "replicas", `<span class="bad">no</span>`, "Next changes"},
		"/style.css":                       {"prefers-color-scheme: dark"},
		"/page.js":                         {"EventSource"},
	} {
		got := o.text(o.request(http.MethodGet, path, ""), http.StatusOK)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s has no %q", path, w)
			}
		}
	}
	if got := o.text(o.request(http.MethodGet, "/?q=search", ""), http.StatusOK); strings.Contains(got, ">web</a>") {
		t.Error("the filter keeps a target that does not match")
	}
	for path, want := range map[string]string{
		"/target/Deployment.apps/shop/wbe": "did you mean web?", "/target/Deploymet.apps/shop/web": "no adapter for a kind",
		"/?zone=Mars": "read the time zone", "/?zone=..%2F..%2F..%2Fetc%2Fpasswd": "read the time zone",
		"/?from=yesterday": "read the day", "/?from=2036-01-01": "is over",
	} {
		if got := o.text(o.request(http.MethodGet, path, ""), http.StatusUnprocessableEntity); !strings.Contains(got, want) {
			t.Errorf("%s: %.600s", path, got)
		}
	}
}

// TestFreezePageAgreesWithCanI checks that the page of freezes gives the same answer as can-i.
func TestFreezePageAgreesWithCanI(t *testing.T) {
	o := open(t).enter()
	for path, want := range map[string][]string{
		"/freezes?may=rollout&object=deployment/web&in=shop&at=2037-05-14T12:00": {"No</b>", "no: RollOut Deployment.apps/shop/web by alice",
			"kubectl flyball can-i rollout deployment/web --at 2037-05-14T12:00:00Z -n shop"},
		"/freezes?may=rollout&object=deployment/web&in=shop&at=2037-06-14T12:00&as=bob&groups=a,b": {"Yes</b>", "by bob", "--as-group b"},
		"/freezes?may=rollout&object=deployment/wbe&in=shop":                                       {"did you mean web?"},
		"/freezes?may=rollout&object=x&at=noon":                                                    {"read the time"},
	} {
		got := o.text(o.request(http.MethodGet, path, ""), http.StatusOK)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s has no %q", path, w)
			}
		}
	}
}

// TestEveryLink checks that every link of every page works.
func TestEveryLink(t *testing.T) {
	o := open(t).enter()
	seen := map[string]bool{}
	for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
		path, _, _ := strings.Cut(queue[0], "#")
		if path == "" || seen[path] {
			continue
		}
		seen[path] = true
		for _, found := range regexp.MustCompile(` href="(/[^"]*)"`).FindAllStringSubmatch(o.text(o.request(http.MethodGet, path, ""),
			http.StatusOK), -1) {
			queue = append(queue, html.UnescapeString(found[1]))
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d pages are linked", len(seen))
	}
}

// TestPreviewShowsTheDifferenceOfAPolicy checks that the page shows the difference that a policy makes, and the
// fault of a policy that cannot be
// read.
func TestPreviewShowsTheDifferenceOfAPolicy(t *testing.T) {
	o := open(t).enter()
	before := len(o.world.Policies)
	edit := "apiVersion: flyball.dev/v1alpha1\nkind: Schedule\nmetadata: {name: search-nights, namespace: shop}\nspec:\n" +
		"  target: {kinds: [{group: apps, kind: Deployment}], names: [search]}\n  timeZone: Europe/Berlin\n  asleep: [{name: nights, from: " +
		"\"20:00\", to: \"08:00\"}]\n"
	got := o.text(o.request(http.MethodPost, "/preview", "manifest="+url.QueryEscape(edit)), http.StatusOK)
	for _, want := range []string{"Deployment.apps/shop/search", "added", "removed", "name: search-nights",
		" more replica hours saved"} {
		if !strings.Contains(got, want) {
			t.Errorf("the preview has no %q", want)
		}
	}
	order := "apiVersion: flyball.dev/v1alpha1\nkind: Override\nmetadata: {name: repair, namespace: shop}\nspec: {effect: Asleep, for: 1h, " +
		"reason: repair, target: {names: [search]}}\n"
	got = o.text(o.request(http.MethodPost, "/preview", "manifest="+url.QueryEscape(order)), http.StatusOK)
	if !strings.Contains(got, "Wed 2037-05-13 20:00 UTC") {
		t.Errorf("the preview of an order for an hour does not show its end: %.600s", got)
	}
	if len(o.world.Policies) != before {
		t.Error("the preview has changed the world")
	}
	got = o.text(o.request(http.MethodPost, "/preview", "manifest="+url.QueryEscape(strings.Replace(edit, "asleep:", "aslep:", 1))),
		http.StatusUnprocessableEntity)
	if !strings.Contains(got, "spec.aslep is no field of Schedule") || !strings.Contains(got, "data-still") ||
		!strings.Contains(got, "aslep: [") {
		t.Errorf("%.600s", got)
	}
	// A browser sends line breaks as carriage returns and line feeds, and sends the text of the page again.
	sent := strings.ReplaceAll(edit, "\n", "\r\n")
	for range 2 {
		got = o.text(o.request(http.MethodPost, "/preview", "manifest="+url.QueryEscape(sent)), http.StatusOK)
		_, text, _ := strings.Cut(got, `spellcheck="false">`)
		text, _, _ = strings.Cut(text, "</textarea>")
		if text = html.UnescapeString(text); text != edit {
			t.Fatalf("%q", text)
		}
		sent = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if got = o.text(o.request(http.MethodGet, "/?zone=Mars", ""), http.StatusUnprocessableEntity); strings.Contains(got, "data-still") {
		t.Error("the error of a page without a form does not follow changes")
	}
}

// TestHostileAnnotations checks the pages of a world whose names, labels, annotations and messages are scripts.
func TestHostileAnnotations(t *testing.T) {
	const text = `'</title><script>alert(1)</script><img src=x onerror=alert(1)>`
	quoted := `"` + text + `"`
	manifest := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: shop, name: web, labels: {team: " + quoted +
		"}, annotations: {example.com/reason: " + quoted + "}}\nspec: {replicas: 2, template: {spec: {containers: [{name: web, image: " + quoted +
		"}]}}}\n---\n" +
		"apiVersion: flyball.dev/v1alpha1\nkind: Schedule\nmetadata: {namespace: shop, name: nights}\nspec: {timeZone: Europe/Berlin, " +
		"asleep: [{name: " + quoted + ", from: \"20:00\", to: \"08:00\"}]}\n---\n" +
		"apiVersion: flyball.dev/v1alpha1\nkind: Override\nmetadata: {namespace: shop, name: demo}\nspec: {effect: Awake, " +
		"until: \"2037-06-01\", reason: " + quoted +
		"}\n---\napiVersion: flyball.dev/v1alpha1\nkind: ChangeFreeze\nmetadata: {namespace: shop, name: sale}\nspec: {target: {}, startTime: " +
		"\"2037-05-13T00:00:00Z\", endTime: \"2037-05-14T00:00:00Z\", message: {reason: " + quoted +
		", contact: " + quoted + "}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: shop, name: " + quoted +
		"}\nspec: {replicas: 2}\n"
	file := filepath.Join(t.TempDir(), "hostile.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	o := open(t, file).enter()
	told := 0
	for _, path := range []string{"/", "/policies", "/freezes", "/savings", "/tuning", "/health", "/target/Deployment.apps/shop/web",
		"/target/Deployment.apps/shop/" + url.PathEscape(text[1:9]),
		"/?q=" + url.QueryEscape(text), "/?zone=" + url.QueryEscape(text), "/?from=" + url.QueryEscape(text), "/?group=" +
			url.QueryEscape(text)} {
		answer := o.send(o.request(http.MethodGet, path, ""))
		tree, err := html.Parse(strings.NewReader(answer.text))
		if err != nil {
			t.Fatal(err)
		}
		for n := range tree.Descendants() {
			if n.Type == html.TextNode && strings.Contains(n.Data, "alert(1)") {
				told++
			}
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "img" || n.Data == "script" && n.FirstChild != nil {
				t.Errorf("%s has an element %s", path, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Val, "javascript:") {
					t.Errorf("%s: %s has %s=%q", path, n.Data, a.Key, a.Val)
				}
			}
		}
	}
	if told < 8 {
		t.Errorf("only %d hostile texts are shown", told)
	}
}

// TestManyAtOnce requests all pages at the same time, because all of them read the same world.
func TestManyAtOnce(t *testing.T) {
	o := open(t).enter()
	edit := "manifest=" + url.QueryEscape(anEdit)
	var all sync.WaitGroup
	for _, path := range []string{"/", "/?zone=UTC", "/?span=day", "/policies", "/freezes?may=scale&object=deployment/web&in=shop",
		"/target/Deployment.apps/shop/web", "/policy/Schedule/shop/office-hours", "/health"} {
		all.Go(func() { o.text(o.request(http.MethodGet, path, ""), http.StatusOK) })
		all.Go(func() { o.text(o.request(http.MethodPost, "/preview", edit), http.StatusOK) })
	}
	all.Wait()
}

// TestATargetHasAHeadlineAndItsWeek checks that the page of each target of the week begins with its state and the end of the
// state in at most ten words, shows its own bars, and links the policies, of which one decides.
func TestATargetHasAHeadlineAndItsWeek(t *testing.T) {
	o := open(t).enter()
	days := o.text(o.request(http.MethodGet, "/", ""), http.StatusOK)
	targets := regexp.MustCompile(`href="(/target/[^"?]*)`).FindAllStringSubmatch(days, -1)
	if len(targets) < 10 {
		t.Fatalf("%d targets", len(targets))
	}
	headlines := map[string]bool{}
	for _, target := range targets {
		got := o.text(o.request(http.MethodGet, target[1], ""), http.StatusOK)
		headline := regexp.MustCompile(`<p class="headline">([^<]*)</p>`).FindStringSubmatch(got)
		if headline == nil || len(strings.Fields(headline[1])) > 10 {
			t.Fatalf("%s: headline %q", target[1], headline)
		}
		headlines[headline[1]] = true
		if !strings.Contains(got, `<svg class="bars"`) || !strings.Contains(got, `<a href="/policy/`) {
			t.Errorf("%s has no bars or no link of a policy: %.3000s", target[1], got)
		}
		if n := strings.Count(got, ", and decides</span>"); n > 1 {
			t.Errorf("%s: %d policies decide", target[1], n)
		}
	}
	if len(headlines) < 3 {
		t.Errorf("the headlines are %v", headlines)
	}
}

// TestEveryPageNamesItsWorld checks that every page has the name, the cluster, the namespace and the instant of its data.
func TestEveryPageNamesItsWorld(t *testing.T) {
	o := openWith(t, func(o *ui.ServerOptions) { o.ClusterName, o.Namespace = "prod-eu", "shop" }).enter()
	for _, path := range []string{"/", "/policies", "/freezes", "/savings", "/tuning", "/health", "/preview",
		"/target/Deployment.apps/shop/web", "/policy/Schedule/shop/office-hours"} {
		got := o.text(o.request(http.MethodGet, path, ""), http.StatusOK)
		for _, want := range []string{">Flyball</a>", "<b>prod-eu</b> namespace shop",
			`<time datetime="2037-05-13T19:00:00Z">Wed 2037-05-13 19:00 UTC</time>`,
			`id="live"`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s has no %q", path, want)
			}
		}
	}
	if got := o.text(o.request(http.MethodGet, "/?zone=Mars", ""), http.StatusUnprocessableEntity); !strings.Contains(got, ">Flyball</a>") {
		t.Error("a page with an error has no name")
	}
}

// TestADryRunIsNamedOnEveryPage checks that every page says whether the manager writes nothing, and that the health says so too.
func TestADryRunIsNamedOnEveryPage(t *testing.T) {
	for _, dry := range []bool{false, true} {
		o := openWith(t, func(o *ui.ServerOptions) {
			load := o.Load
			o.Load = func(ctx context.Context) (*source.World, error) {
				w, err := load(ctx)
				if err == nil && dry {
					own := *w
					own.DryRunAt = o.Now()
					w = &own
				}
				return w, err
			}
		}).enter()
		for _, path := range []string{"/", "/policies", "/savings", "/target/Deployment.apps/shop/web"} {
			if got := o.text(o.request(http.MethodGet, path, ""), http.StatusOK); strings.Contains(got, ">dry run</span>") != dry {
				t.Errorf("a dry run is %t, and %s names it: %t", dry, path, !dry)
			}
		}
		health := o.text(o.request(http.MethodGet, "/health", ""), http.StatusOK)
		if strings.Contains(health, "all answers say what would be") != dry {
			t.Errorf("a dry run is %t, and the health is %s", dry, health)
		}
	}
}

// TestFreezesLookFarAhead checks that the page names the next freeze however far away, and shows it if the person looks ahead.
func TestFreezesLookFarAhead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "world.yaml")
	if err := os.WriteFile(file, []byte("{apiVersion: flyball.dev/v1alpha1, kind: ClusterChangeFreeze, metadata: {name: year-end}, spec: "+
		"{target: {namespaces: [shop]}, startTime: \"2037-12-20T00:00:00Z\", endTime: \"2038-01-03T00:00:00Z\", message: {reason: holidays}}}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	o := open(t, file).enter()
	const next = `The next freeze is <a href="/policy/ClusterChangeFreeze/-/year-end">ClusterChangeFreeze/year-end</a>, in 220 days: ` +
		"from Sun 2037-12-20 00:00 UTC until Sun 2038-01-03 00:00 UTC, holidays."
	got := o.text(o.request(http.MethodGet, "/freezes", ""), http.StatusOK)
	if !strings.Contains(got, next) || !strings.Contains(got, "No freeze is in force.") || strings.Contains(got, "January 2038") {
		t.Errorf("the page is %.4000s", got)
	}
	got = o.text(o.request(http.MethodGet, "/freezes?ahead=365", ""), http.StatusOK)
	if !strings.Contains(got, "<caption>January 2038</caption>") ||
		!strings.Contains(got, "Sat 2 January: ClusterChangeFreeze/year-end denies") {
		t.Errorf("a year ahead: %.4000s", got)
	}
}
