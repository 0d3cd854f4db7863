package rollout

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"flyball.dev/flyball/engine/tuning/podsize"
)

// The limits of pods are known by namespace as long as their objects exist.
func TestLimitsAreKnownByNamespace(t *testing.T) {
	var r Rooms
	if !r.AreKnown() || r.Of("shop").IsBounded() {
		t.Error("nothing is watched, and something bounds")
	}
	r.ranges.all, r.quotas.all = map[string]map[string][]corev1.LimitRangeItem{}, map[string]map[string]corev1.ResourceList{}
	for _, doc := range []string{
		`{"metadata":{"namespace":"shop","name":"a","managedFields":[{}]},"spec":{"limits":[{"type":"Container","min":{"cpu":"1"}}]}}`,
		`{"metadata":{"namespace":"shop","name":"b"},"spec":{"limits":[{"type":"Pod","max":{"cpu":"2"}}]},"status":{"hard":{"cpu":"3"}}}`,
		`{"metadata":{"namespace":"blog","name":"a"},"spec":{"limits":[]},"status":{"hard":{"pods":"3"}}}`,
	} {
		obj, err := bounding{}.Project([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		ranges, err := podsize.RangesOf([]byte(obj.Fields[0].Raw))
		if err != nil {
			t.Fatal(err)
		}
		left, err := podsize.Headroom([]byte(obj.Fields[0].Raw))
		if err != nil {
			t.Fatal(err)
		}
		r.ranges.set(obj, ranges)
		r.quotas.set(obj, left)
	}
	if shop := r.Of("shop"); len(shop.Ranges) != 2 || len(shop.Quotas) != 1 {
		t.Errorf("%+v", shop)
	}
	if r.Of("blog").IsBounded() || r.Of("other").IsBounded() {
		t.Error("a namespace is bounded by what says nothing of CPU and memory")
	}
	b, err := bounding{}.Project([]byte(`{"metadata":{"namespace":"shop","name":"b"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.ranges.drop(b)
	r.quotas.drop(b)
	if shop := r.Of("shop"); len(shop.Ranges) != 1 || len(shop.Quotas) != 0 {
		t.Errorf("after one has gone: %+v", shop)
	}
	if _, err := (bounding{}).Project([]byte(`{}`)); err == nil {
		t.Error("something without a name")
	}
}
