package ui_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/suggest"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui"
)

const testdata = "../cli/testdata/"

// TestTuningPageShowsRecommendations checks the page of recommendations: of Tortoises, from a history of usage, and
// with neither.
func TestTuningPageShowsRecommendations(t *testing.T) {
	has := func(o *opened, path string, wanted ...string) string {
		t.Helper()
		got := o.text(o.request(http.MethodGet, path, ""), http.StatusOK)
		for _, w := range wanted {
			if !strings.Contains(got, w) {
				t.Errorf("%s has no %q", path, w)
			}
		}
		return got
	}
	none := open(t).enter()
	has(none, "/tuning", "No Tortoise has a recommendation", "start the command with <code>--prometheus URL</code>")
	has(open(t, testdata+"advised.yaml").enter(), "/tuning", "Deployment.apps/shop/web", "<td class=\"n\" data-head=\"Requested\">1</td>",
		"<b>350m</b>", "350m costs least", "<b>68 %</b>", "request: 350m costs least for a demand",
		"A pod requests 0.35 cores instead of 1 core, and 300 MiB instead of 1.0 GiB.", "cpu: 350m", "minReplicas: 3")
	o := openWith(t, func(o *ui.ServerOptions) {
		o.Recommend = func(ctx context.Context, w *source.World, target source.Target, zone *time.Location) (*suggest.Result, error) {
			return suggest.RequestsOf(ctx, w, target, analysis.HistoryFlags{Files: []string{testdata + "usage/web.csv"}}, o.Now(), zone)
		}
	}, testdata+"tuned").enter()
	got := has(o, "/tuning?object=Deployment.apps/shop/web", "864 samples", "Requested", "app cpu", "app memory of a pod: at most",
		"<polyline class=\"used\"", "The same as text", "Sun 2037-05-10",
		`<option value="Deployment.apps/shop/web" selected>Deployment web</option>`, " instead of ", "cores", ">11 May</text>",
		"in a trial on the last day", "The trial is of the numbers learnt until", "in a replay of 2 days")
	if strings.Contains(got, "<b>-</b>") && !strings.Contains(got, "GatheringData") {
		t.Error("a number is missing")
	}
	has(o, "/tuning?object=Deployment.apps/shop/wbe", "did you mean web?", "<form class=\"choices ask\"")
}
