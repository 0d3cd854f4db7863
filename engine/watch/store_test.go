package watch

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/workload"
)

// follower applies its callbacks and checks that no forbidden callback comes.
type follower struct {
	t     *rapid.T
	state map[string]*workload.Object
}

func (f follower) hear(changes []change) {
	for _, c := range changes {
		switch {
		case c.old == nil && c.new == nil:
			f.t.Fatal("an empty change")
		case c.old != nil && c.new != nil && c.old.UID != c.new.UID:
			f.t.Fatalf("an update from one object to another: %v %v", c.old, c.new)
		case c.old != nil && c.new != nil && c.old.ResourceVersion == c.new.ResourceVersion:
			f.t.Fatalf("an update to the same version: %v", c.new)
		}
		if c.old != nil {
			k := c.old.Namespace + "/" + c.old.Name
			if f.state[k] != c.old {
				f.t.Fatalf("the old state heard of is not the one before: %v, not %v", c.old, f.state[k])
			}
			delete(f.state, k)
		}
		if c.new != nil {
			k := c.new.Namespace + "/" + c.new.Name
			if f.state[k] != nil {
				f.t.Fatalf("an addition of what is there: %v", c.new)
			}
			f.state[k] = c.new
		}
	}
}

// The callbacks alone reproduce the content of the store, after any sequence of changes.
func TestCallbacksReproduceTheStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore()
		f := follower{t, make(map[string]*workload.Object)}
		model := make(map[string]string) // key to version and UID
		drawObject := func() *workload.Object {
			return &workload.Object{
				Namespace:       rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "namespace"),
				Name:            rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
				UID:             rapid.SampledFrom([]string{"u1", "u2"}).Draw(t, "uid"),
				ResourceVersion: fmt.Sprint(rapid.IntRange(1, 5).Draw(t, "version")),
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(*rapid.T) {
				o := drawObject()
				k := o.Namespace + "/" + o.Name
				f.hear(s.put(o))
				model[k] = o.ResourceVersion + o.UID
			},
			"remove": func(*rapid.T) {
				o := drawObject()
				k := o.Namespace + "/" + o.Name
				f.hear(s.remove(o.Namespace, o.Name))
				delete(model, k)
			},
			"replace": func(*rapid.T) {
				var objects []*workload.Object
				clear(model)
				for range rapid.IntRange(0, 6).Draw(t, "size") {
					o := drawObject()
					if k := o.Namespace + "/" + o.Name; model[k] == "" {
						objects = append(objects, o)
						model[k] = o.ResourceVersion + o.UID
					}
				}
				f.hear(s.replace(objects))
			},
			"": func(*rapid.T) {
				got := make(map[string]string)
				for _, o := range s.all() {
					got[o.Namespace+"/"+o.Name] = o.ResourceVersion + o.UID
					if f.state[o.Namespace+"/"+o.Name] != o || s.find(o.Namespace, o.Name) != o {
						t.Fatalf("the follower knows another %s/%s", o.Namespace, o.Name)
					}
				}
				if diff := cmp.Diff(model, got); diff != "" {
					t.Fatal(diff)
				}
				if s.len() != len(model) || len(f.state) != len(model) {
					t.Fatalf("%d objects, %d followed", s.len(), len(f.state))
				}
				if n := len(s.in("x")) + len(s.in("y")) + len(s.in("")); n != len(model) {
					t.Fatalf("%d objects by namespace", n)
				}
			},
		})
	})
}

func TestStoreKeepsOneTextPerNamespace(t *testing.T) {
	fresh := func(name, version string) *workload.Object {
		return &workload.Object{Namespace: strings.Clone("shop"), Name: name, ResourceVersion: version}
	}
	s := newStore()
	s.put(fresh("a", "1"))
	s.put(fresh("b", "1"))
	kept := s.find("shop", "a")
	text := unsafe.StringData(kept.Namespace)
	s.replace([]*workload.Object{fresh("c", "1"), fresh("b", "2"), fresh("a", "1")})
	if s.find("shop", "a") != kept {
		t.Error("an unchanged object was replaced")
	}
	for _, o := range s.all() {
		if unsafe.StringData(o.Namespace) != text {
			t.Errorf("%s has a text of its own, or one that others read was exchanged", o.Name)
		}
	}
	if got := len(s.all()); got != 3 {
		t.Errorf("%d objects", got)
	}
}
