package podsize_test

import (
	"strings"
	"testing"

	"flyball.dev/flyball/engine/tuning/podsize"
)

// in reads a namespace with one LimitRange of containers or pods, and one ResourceQuota.
func in(t *testing.T, kind, limits, quota string) podsize.Room {
	t.Helper()
	ranges, err := podsize.RangesOf([]byte(`{"spec":{"limits":[{"type":"` + kind + `",` + limits + `}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	left, err := podsize.Headroom([]byte(quota))
	if err != nil {
		t.Fatal(err)
	}
	var r podsize.Room
	for _, item := range ranges {
		r.Ranges = append(r.Ranges, podsize.Range{Name: "bounds", LimitRangeItem: item})
	}
	if left != nil {
		r.Quotas = append(r.Quotas, podsize.Quota{Name: "share", Left: left})
	}
	return r
}

func TestRoomIsBoundedByQuotasAndRanges(t *testing.T) {
	// The pod requests 400m and 700Mi, limited to 1500m and 1400Mi, plus its overhead: two containers and a sidecar run
	// at the same time, after an init container.
	const pod = `{"spec":{"containers":[
	  {"name":"a","resources":{"requests":{"cpu":"100m","memory":"200Mi","ephemeral-storage":"9Gi"},"limits":{"cpu":"500m","memory":"400Mi"}}},
	  {"name":"b","resources":{"requests":{"cpu":"200m","memory":"400Mi"},"limits":{"cpu":"500m","memory":"800Mi"}}}],
	 "initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"100m","memory":"100Mi"},"limits":{"cpu":"500m","memory":"200Mi"}}},
	  {"name":"i","resources":{"requests":{"cpu":"200m","memory":"100Mi"},"limits":{"cpu":"200m","memory":"200Mi"}}}],
	 "overhead":{"cpu":"50m"}}}`
	none := `{"status":{"hard":{"pods":"0","requests.storage":"0"}}}`
	for _, test := range []struct{ reason, kind, limits, quota, why string }{
		{"nothing that is looked at", "Container", `"min":{"ephemeral-storage":"99Gi"},"default":{"ephemeral-storage":"9"}`, none, ""},
		{"the least there is", "Container", `"min":{"cpu":"100m","memory":"100Mi"}`, none, ""},
		{"less than that", "Container", `"min":{"cpu":"101m"}`, none, "container a: 100m of cpu, below the 101m of LimitRange bounds"},
		{"a limit that is less", "Container", `"min":{"memory":"201Mi"}`, none, "container a: 200Mi of memory, below"},
		{"less in a container that initializes", "Container", `"min":{"cpu":"0"},"max":{"cpu":"500m"},"maxLimitRequestRatio":{"memory":"2"}`,
			none, ""},
		{"the most there is", "Container", `"max":{"memory":"800Mi"}`, none, ""},
		{"more than that", "Container", `"max":{"memory":"799Mi"}`, none,
			"container b: 400Mi of memory, limited to 800Mi, above the 799Mi of LimitRange bounds"},
		{"the ratio", "Container", `"maxLimitRequestRatio":{"cpu":"5"}`, none, ""},
		{"more than the ratio", "Container", `"maxLimitRequestRatio":{"cpu":"4999m"}`, none,
			"container a: 100m of cpu, limited to 500m, more than 4999m times that, which LimitRange bounds allows"},
		{"all of the pod", "Pod", `"max":{"cpu":"1500m","memory":"1400Mi"},"min":{"cpu":"400m","memory":"700Mi"}`, none, ""},
		{"more than a pod may have", "Pod", `"max":{"cpu":"1499m"}`, none, "400m of cpu, limited to 1500m, above the 1499m"},
		{"less than a pod must have", "Pod", `"min":{"memory":"701Mi"}`, none, "700Mi of memory, below the 701Mi"},
		{"claims", "PersistentVolumeClaim", `"max":{"memory":"1"}`, none, ""},
		{"what a quota has left", "Container", `"min":{}`,
			`{"status":{"hard":{"cpu":"1","requests.cpu":"2","limits.cpu":"4","memory":"700Mi","limits.memory":"1400Mi"},"used":{"cpu":"550m","limits.cpu":"2450m"}}}`, ""},
		{"more than it has", "Container", `"min":{}`, `{"status":{"hard":{"requests.cpu":"1"},"used":{"requests.cpu":"551m"}}}`,
			"ResourceQuota share has 449m of requests.cpu left, less than 450m"},
		{"limits that are more", "Container", `"min":{}`, `{"status":{"hard":{"limits.memory":"1399Mi"}}}`,
			"1399Mi of limits.memory left, less than 1400Mi"},
		{"one that is overdrawn", "Container", `"min":{}`, `{"status":{"hard":{"memory":"1Gi"},"used":{"memory":"2Gi"}}}`, "-1Gi of memory left"},
		{"one that counts for some pods only", "Container", `"min":{}`, `{"spec":{"scopes":["Terminating"]},"status":{"hard":{"cpu":"0"}}}`, ""},
		{"one that counts for some priorities only", "Container", `"min":{}`,
			`{"spec":{"scopeSelector":{"matchExpressions":[]}},"status":{"hard":{"cpu":"0"}}}`, ""},
	} {
		r := in(t, test.kind, test.limits, test.quota)
		why, err := r.Refuses([]byte(pod))
		if err != nil || test.why == "" && why != "" || !strings.Contains(why, test.why) {
			t.Errorf("%s: %q, %v", test.reason, why, err)
		}
		if test.why != "" && !r.IsBounded() {
			t.Errorf("%s: it refuses, and has no bounds", test.reason)
		}
	}
}

func TestContainersWithoutALimit(t *testing.T) {
	const pod = `{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"100m"}}}]}}`
	for limits, why := range map[string]string{`"min":{"cpu":"100m"}`: "", `"max":{"cpu":"1"}`: "above",
		`"maxLimitRequestRatio":{"cpu":"4"}`: "times", `"min":{"memory":"1"}`: "below"} {
		if got, err := in(t, "Container", limits, `{}`).Refuses([]byte(pod)); err != nil || (got != "") != (why != "") ||
			!strings.Contains(got, why) {
			t.Errorf("%s: %q, %v", limits, got, err)
		}
	}
}

func TestUnreadableRangesQuotasAndContainersAreErrors(t *testing.T) {
	if _, err := podsize.RangesOf([]byte(`{"spec":{"limits":[{"min":{"cpu":{}}}]}}`)); err == nil {
		t.Error("a LimitRange without numbers was read")
	}
	if _, err := podsize.Headroom([]byte(`[`)); err == nil {
		t.Error("half a ResourceQuota was read")
	}
	if _, err := (podsize.Room{Quotas: []podsize.Quota{{}}}).Refuses([]byte(`{"spec":{"containers":{}}}`)); err == nil {
		t.Error("containers that are none were read")
	}
	if (podsize.Room{}).IsBounded() {
		t.Error("nothing bounds")
	}
}
