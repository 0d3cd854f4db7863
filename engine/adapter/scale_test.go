package adapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// wire has the parts of a patch as they are sent.
type wire struct {
	Subresource, Body string
	Next              *wire
}

func wireOf(p *workload.Patch) *wire {
	if p == nil {
		return nil
	}
	return &wire{p.Subresource, string(p.Body), wireOf(p.Next)}
}

func pending(pointer, was, set string) workload.Entry {
	e := entry(pointer, was, set)
	e.Pending = true
	return e
}

// resized is an entry while a write to /scale replaces one value of Flyball by another.
func resized(pointer, was, prior, set string) workload.Entry {
	e := pending(pointer, was, set)
	e.Prior = prior
	return e
}

func TestScaleWrites(t *testing.T) {
	const (
		since    = `\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-02T20:00:00Z\"`
		conflict = `"resourceVersion":"7"`
	)
	ledger := func(entry string) string {
		return `{"metadata":{"annotations":{"flyball.dev/ledger":` + entry + `},` + conflict + `}}`
	}
	tests := []struct {
		name string
		doc  []byte
		plan workload.Plan
		want *wire
	}{
		{"claim: the ledger, then /scale", object(`{"replicas":3}`), sleep(), &wire{
			Body: ledger(`"{\"/spec/replicas\":{\"was\":3,\"set\":0,` + since + `,\"pending\":true},\"of\":\"Scaled/web\"}"`),
			Next: &wire{Subresource: "scale", Body: `{"spec":{"replicas":0}}`},
		}},
		{"crash between the two: /scale again, if nothing has changed", withLedger(t, `{"replicas":3}`, pending("/spec/replicas", "3", "0")),
			sleep(),
			&wire{Subresource: "scale", Body: `{"metadata":{` + conflict + `},"spec":{"replicas":0}}`}},
		{"crash between the two, another value came in: it is the original", withLedger(t, `{"replicas":5}`, pending("/spec/replicas", "3", "0")),
			sleep(), &wire{
				Body: ledger(`"{\"/spec/replicas\":{\"was\":5,\"set\":0,` + since + `,\"pending\":true},\"of\":\"Scaled/web\"}"`),
				Next: &wire{Subresource: "scale", Body: `{"spec":{"replicas":0}}`},
			}},
		{"seen: the mark goes", withLedger(t, `{"replicas":0}`, pending("/spec/replicas", "3", "0")), sleep(), &wire{
			Body: ledger(`"{\"/spec/replicas\":{\"was\":3,\"set\":0,` + since + `},\"of\":\"Scaled/web\"}"`),
		}},
		{"done: nothing", withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "3", "0")), sleep(), nil},
		{"another size: the ledger, then /scale", withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "3", "0")),
			size(workload.SizeAtMost, 2), &wire{
				Body: ledger(`"{\"/spec/replicas\":{\"was\":3,\"set\":2,\"prior\":0,` + since + `,\"pending\":true},\"of\":\"Scaled/web\"}"`),
				Next: &wire{Subresource: "scale", Body: `{"spec":{"replicas":2}}`},
			}},
		{"crash after that ledger: /scale again", withLedger(t, `{"replicas":0}`, resized("/spec/replicas", "3", "0", "2")),
			size(workload.SizeAtMost, 2),
			&wire{Subresource: "scale", Body: `{"metadata":{` + conflict + `},"spec":{"replicas":2}}`}},
		{"crash after that ledger, back to the size before: the mark goes",
			withLedger(t, `{"replicas":0}`, resized("/spec/replicas", "3", "0", "2")), sleep(), &wire{
				Body: ledger(`"{\"/spec/replicas\":{\"was\":3,\"set\":0,` + since + `},\"of\":\"Scaled/web\"}"`),
			}},
		{"another size seen: the mark goes", withLedger(t, `{"replicas":2}`, resized("/spec/replicas", "3", "0", "2")),
			size(workload.SizeAtMost, 2), &wire{
				Body: ledger(`"{\"/spec/replicas\":{\"was\":3,\"set\":2,` + since + `},\"of\":\"Scaled/web\"}"`),
			}},
		{"enforced: /scale alone", withLedger(t, `{"replicas":5}`, entry("/spec/replicas", "3", "0")), enforced(sleep()),
			&wire{Subresource: "scale", Body: `{"metadata":{` + conflict + `},"spec":{"replicas":0}}`}},
		{"release: the mark, then /scale", withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "3", "0")), workload.Plan{}, &wire{
			Body: ledger(`"{\"/spec/replicas\":{\"was\":3,\"set\":0,` + since + `,\"pending\":true},\"of\":\"Scaled/web\"}"`),
			Next: &wire{Subresource: "scale", Body: `{"spec":{"replicas":3}}`},
		}},
		{"crash after the mark: /scale again, if nothing has changed", withLedger(t, `{"replicas":0}`, pending("/spec/replicas", "3", "0")),
			workload.Plan{},
			&wire{Subresource: "scale", Body: `{"metadata":{` + conflict + `},"spec":{"replicas":3}}`}},
		{"crash after the mark, claimed again: the mark goes", withLedger(t, `{"replicas":0}`, pending("/spec/replicas", "3", "0")), sleep(),
			&wire{
				Body: ledger(`"{\"/spec/replicas\":{\"was\":3,\"set\":0,` + since + `},\"of\":\"Scaled/web\"}"`),
			}},
		{"release seen: the entry goes", withLedger(t, `{"replicas":3}`, pending("/spec/replicas", "3", "0")), workload.Plan{},
			&wire{Body: ledger("null")}},
		{"release through, claimed again before the entry goes: /scale", withLedger(t, `{"replicas":3}`, pending("/spec/replicas", "3", "0")),
			sleep(),
			&wire{Subresource: "scale", Body: `{"metadata":{` + conflict + `},"spec":{"replicas":0}}`}},
		{"crash after a mark, another value came in: it stands", withLedger(t, `{"replicas":5}`, pending("/spec/replicas", "3", "0")),
			workload.Plan{},
			&wire{Body: ledger("null")}},
		{"crash after the ledger of another size: released from where it is",
			withLedger(t, `{"replicas":0}`, resized("/spec/replicas", "3", "0", "2")), workload.Plan{}, &wire{
				Body: ledger(`"{\"/spec/replicas\":{\"was\":3,\"set\":0,` + since + `,\"pending\":true},\"of\":\"Scaled/web\"}"`),
				Next: &wire{Subresource: "scale", Body: `{"spec":{"replicas":3}}`},
			}},
		{"release of an absent count: removed with the entry", withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "", "0")), workload.Plan{},
			&wire{
				Body: `{"metadata":{"annotations":{"flyball.dev/ledger":null},` + conflict + `},"spec":{"replicas":null}}`,
			}},
		{"release with another field: that one and /scale after it", withLedger(t, `{"paused":true,"replicas":0}`,
			entry("/spec/paused", "", "true"), entry("/spec/replicas", "3", "0")), workload.Plan{}, &wire{
			Body: `{"metadata":{"annotations":{"flyball.dev/ledger":"{\"/spec/replicas\":{\"was\":3,\"set\":0,` + since +
				`,\"pending\":true},\"of\":\"Scaled/web\"}"},` + conflict + `},"spec":{"paused":null}}`,
			Next: &wire{Subresource: "scale", Body: `{"spec":{"replicas":3}}`},
		}},
	}
	a := mustCompile(t, scaledYAML, Keys{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, wireOf(rendered(t, a, test.doc, test.plan).Patch)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestScaleSurvivesACrashAnywhere loses each write in turn. The count is put to sleep and restored all the same.
func TestScaleSurvivesACrashAnywhere(t *testing.T) {
	a := mustCompile(t, scaledYAML, Keys{})
	for lost := range 7 {
		s := newServer(object(`{"replicas":3}`))
		n := 0
		send := func(plan workload.Plan) {
			for range 6 {
				for p := rendered(t, a, s.doc, plan).Patch; p != nil; p = p.Next {
					n++
					if n-1 == lost {
						break // this one and those after it do not arrive
					}
					if err := s.apply(p); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		send(sleep())
		if want := `{"replicas":0}`; !path.Equal(want, s.spec()) {
			t.Errorf("write %d lost: want %s, got %s", lost, want, s.spec())
		}
		if l := s.ledger(t, a); len(l) != 1 || l[0].Pending || l[0].Was != "3" {
			t.Errorf("write %d lost: ledger %v", lost, l)
		}
		send(workload.Plan{})
		if want := `{"replicas":3}`; !path.Equal(want, s.spec()) || len(s.ledger(t, a)) > 0 {
			t.Errorf("write %d lost: want %s and no ledger, got %s, %v", lost, want, s.spec(), s.ledger(t, a))
		}
	}
}

func TestScaleDirections(t *testing.T) {
	a := mustCompile(t, scaledYAML, Keys{})
	seen := rendered(t, a, withLedger(t, `{"replicas":0}`, pending("/spec/replicas", "3", "0")), sleep())
	if seen.Direction != workload.DirectionNone || seen.State != workload.StateAsleep || len(seen.Changed) > 0 {
		t.Errorf("clearing the mark: %s, %s, changed %v", seen.Direction, seen.State, seen.Changed)
	}
	released := rendered(t, a, withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "3", "0")), workload.Plan{})
	if released.Direction != workload.DirectionUp || released.By != nights {
		t.Errorf("release: %s by %s", released.Direction, released.By)
	}
}
