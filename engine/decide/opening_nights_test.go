package decide_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// scaled is a Deployment with its autoscaler.
type scaled struct {
	name             string
	low, high, count int
	// objects has the current manifests of both, and first has their original manifests.
	objects, first [2][]byte
}

func (s *scaled) refs() [2]workload.Ref {
	return [2]workload.Ref{{GroupKind: web.GroupKind, Namespace: "shop", Name: s.name},
		{GroupKind: hpa.GroupKind, Namespace: "shop", Name: s.name}}
}

// named is the manifest of web, or of its autoscaler, under another name.
func named(manifest, name string) string {
	for _, old := range []string{"web", "hpa"} {
		manifest = strings.ReplaceAll(strings.ReplaceAll(manifest, `"`+old+`"`, `"`+name+`"`), `"uid-`+old+`"`, `"uid-`+name+`"`)
	}
	return manifest
}

// numbers returns the current count and bounds, and whether either object has a ledger.
func (s *scaled) numbers() (count, low, high int, ledgers bool) {
	at := func(i int, path string) rawjson.Value { return rawjson.GetBytes(s.objects[i], path) }
	const ledger = `metadata.annotations.flyball\.dev/ledger`
	return int(at(0, "spec.replicas").Int()), int(at(1, "spec.minReplicas").Int()), int(at(1, "spec.maxReplicas").Int()),
		at(0, ledger).Exists() || at(1, ledger).Exists()
}

// The manager is killed at random writes. Schedules are edited, removed and put back in between, under a Trigger and a
// Tortoise that come and go. No Deployment is ever outside the bounds of its autoscaler, and in the end both have their
// original values.
func TestCountsStayInsideBoundsAcrossRestartsAndEdits(t *testing.T) {
	rounds := uint64(12)
	if testing.Short() {
		rounds = 4
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(seed, 163))
		all := []*scaled{{name: "a"}, {name: "b"}}
		for _, s := range all {
			s.low = r.IntN(6)
			s.high = max(1, s.low) + r.IntN(6)
			s.count = max(1, s.low) + r.IntN(s.high-max(1, s.low)+1)
			s.first = [2][]byte{[]byte(named(requesting(s.count), s.name)), []byte(named(scalingAt("60", s.low, s.high), s.name))}
			s.objects = s.first
		}
		now := noon
		var told []string
		for range 6 {
			policies := nightsAndPeaks(r, all)
			m := pairs(t, policies, all)
			end, kill := now.Add(time.Duration(1+r.IntN(30))*time.Hour), r.IntN(20)
			told = append(told, fmt.Sprintf("-- from %s, killed after %d: %s", now.Format("2 15:04"), kill, describe(policies)))
			told = append(told, follow(t, m, all, now, end, kill)...)
			if now = end; t.Failed() {
				break
			}
		}
		if !t.Failed() {
			told = append(told, "-- no policy")
			told = append(told, follow(t, pairs(t, nil, all), all, now, now.Add(time.Hour), -1)...)
		}
		for _, s := range all {
			if _, _, _, ledgers := s.numbers(); ledgers {
				t.Errorf("%s has a ledger", s.name)
			}
			for i := range s.objects {
				if diff := cmp.Diff(rawjson.GetBytes(s.first[i], "spec").Value(), rawjson.GetBytes(s.objects[i], "spec").Value()); diff != "" {
					t.Errorf("%s: %s", s.name, diff)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(told, "\n"))
		}
	}
}

// follow makes the writes of a world until an instant, and checks each pair after every write. It stops early if the
// manager is killed.
func follow(t *testing.T, m *world.Memory, all []*scaled, from, to time.Time, kill int) (told []string) {
	t.Helper()
	for write, err := range decide.Writes(m, from, to) {
		if err != nil {
			t.Error(err)
			return told
		}
		told = append(told, fmt.Sprintf("%s %s %s %s by %s", write.At.Format("2 15:04"), write.Target.Kind, write.Target.Name, write.Message,
			write.By.Name))
		for _, s := range all {
			for i, ref := range s.refs() {
				s.objects[i] = m.Raw(ref)
			}
			if count, low, high, _ := s.numbers(); count > 0 && (count < low || count > high) {
				t.Errorf("%s is %d in %d..%d", s.name, count, low, high)
				return told
			}
		}
		if kill--; kill == 0 {
			return told
		}
	}
	return told
}

// pairs is a world with the current Deployments and autoscalers only.
func pairs(t *testing.T, policies []policy.Object, all []*scaled) *world.Memory {
	t.Helper()
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	lists := world.Lists{Scope: selector.Scope{Protected: sets.New[string]()}, Policies: policies,
		Namespaces: []*workload.Object{{Name: "shop"}}}
	for i := range library {
		if name := library[i].Name; name == worldtest.Deployments || name == worldtest.Autoscalers {
			lists.Adapters = append(lists.Adapters, &library[i])
		}
	}
	for _, s := range all {
		lists.Objects = append(lists.Objects, s.objects[0], s.objects[1])
	}
	m, err := world.NewMemory(lists)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		advice := found(noon)
		advice.Min, advice.Max = new(int64(max(1, s.count-1))), new(int64(s.count+1))
		m.Advise(s.refs()[0], advice)
	}
	return m
}

// nightsAndPeaks returns up to two schedules for Deployments, a Trigger whose bounds leave room for all of them, and a
// Tortoise. Some are being deleted.
func nightsAndPeaks(r *rand.Rand, all []*scaled) (policies []policy.Object) {
	for i := range r.IntN(3) {
		s := nightly(int32(r.IntN(2)))
		s.Name = fmt.Sprint("nights-", i)
		down := r.IntN(24)
		s.Spec.Downscale, s.Spec.Upscale = fmt.Sprintf("0 %d * * *", down), fmt.Sprintf("0 %d * * *", (down+1+r.IntN(23))%24)
		s.Spec.Priority = int32(r.IntN(2))
		s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: web.Group, Kind: web.Kind}}
		switch r.IntN(4) {
		case 0:
			s.Spec.AsleepAs = &v1alpha1.AsleepAs{Replicas: new(int64(1 + r.IntN(5)))}
		case 1, 2:
			s.Spec.AsleepAs = &v1alpha1.AsleepAs{Percent: new(int32(10 + r.IntN(80)))}
		}
		policies = append(policies, s)
	}
	if r.IntN(2) == 0 {
		low, high := int64(99), int64(0)
		for _, s := range all {
			low, high = min(low, int64(s.count)), max(high, int64(s.count))
		}
		from := r.IntN(23)
		tr := peakAt(v1alpha1.TriggerValues{Min: new(1 + r.Int64N(low)), Max: new(high + r.Int64N(5))})
		tr.Spec.Triggers[0].Window = v1alpha1.Window{From: fmt.Sprintf("%02d:00", from), To: fmt.Sprintf("%02d:00", from+1)}
		policies = append(policies, tr)
	}
	if r.IntN(2) == 0 {
		policies = append(policies, tuning(v1alpha1.TortoiseAuto))
	}
	for _, p := range policies {
		if r.IntN(5) == 0 {
			p.SetDeletionTimestamp(&metav1.Time{Time: noon})
		}
	}
	return policies
}

// describe returns the policies' specs for a failure message.
func describe(policies []policy.Object) string {
	var out []string
	for _, p := range policies {
		if p.GetDeletionTimestamp() != nil {
			out = append(out, "(deleted)")
		}
		switch p := p.(type) {
		case *v1alpha1.Tortoise:
			out = append(out, p.Name)
		case *v1alpha1.Schedule:
			as := "0"
			if a := p.Spec.AsleepAs; a != nil && a.Percent != nil {
				as = fmt.Sprint(*a.Percent, "%")
			} else if a != nil {
				as = fmt.Sprint(*a.Replicas)
			}
			out = append(out, fmt.Sprintf("%s %q-%q as %s, priority %d, limited: %t", p.Name, p.Spec.Downscale, p.Spec.Upscale, as, p.Spec.Priority,
				p.Spec.DownscaleRateLimit != nil))
		case *v1alpha1.Trigger:
			w := p.Spec.Triggers[0]
			out = append(out, fmt.Sprintf("%s %s-%s %d..%d", p.Name, w.Window.From, w.Window.To, *w.During.Min, *w.During.Max))
		}
	}
	return strings.Join(out, "; ")
}
