package adapter

import (
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/adapter/ledger"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// nodeSet draws an element of the list. Its count differs from all counts that Flyball has set in the ledger.
func (x *trial) nodeSet() map[string]any {
	x.fresh++
	set := map[string]any{"role": "data"}
	if rapid.IntRange(0, 5).Draw(x.T, "named") > 0 {
		set["name"] = fmt.Sprintf("set-%d", x.fresh)
	}
	counts := []any{nil, 0, 1, 2, 5, "40Gi", "500m", "3"}
	if n := rapid.SampledFrom(counts).Draw(x.T, "count"); n != nil && !x.isSetSomewhere(string(must(json.Marshal(n)))) {
		set["count"] = n
	}
	return set
}

func (x *trial) isSetSomewhere(raw string) bool {
	return x.real != nil && slices.ContainsFunc(x.object(x.real).Ledger,
		func(e workload.Entry) bool { return workload.SameValue(e.Set, raw, len(x.w.amounts) > 0) })
}

// editList is an owner's change of the list as a whole. Elements without a name, now or at Flyball's write, are
// identified by place, so they change places only if an element leaves.
func (x *trial) editList() {
	op := rapid.SampledFrom([]string{"reverse", "remove", "add", "count", "rename", "repeat"}).Draw(x.T, "op")
	element, added, n := rapid.IntRange(0, 3).Draw(x.T, "element"), x.nodeSet(), rapid.IntRange(0, 6).Draw(x.T, "n")
	pointer := fmt.Sprintf("/spec/nodeSets/%d/count", element)
	now := must(path.Probe(x.real.doc, path.Pointer(pointer)))
	if op == "count" && (x.isSetSomewhere(path.Integer(int64(n))) || path.Same(now.Value.Raw(), path.Integer(int64(n)))) {
		return
	}
	byPlace := slices.ContainsFunc(x.object(x.real).Ledger, func(e workload.Entry) bool { return e.Place != "" })
	if x.isOneTooMany(op) {
		return
	}
	x.fresh++
	defer x.applyWhole(rapid.IntRange(0, 3).Draw(x.T, "whole") == 0)
	for _, s := range []*server{x.real, x.shadow} {
		var doc map[string]any
		if err := json.Unmarshal(s.doc, &doc); err != nil {
			x.Fatal(err)
		}
		spec := doc["spec"].(map[string]any)
		sets, _ := spec["nodeSets"].([]any)
		named := !byPlace && !slices.ContainsFunc(sets, func(set any) bool { return set.(map[string]any)["name"] == nil })
		switch {
		case op == "reverse" && named:
			slices.Reverse(sets)
		case op == "add" && named:
			sets = append([]any{added}, sets...)
		case op == "add":
			sets = append(sets, added)
		case element >= len(sets):
		case op == "remove":
			sets = slices.Delete(sets, element, element+1)
		case op == "rename":
			sets[element].(map[string]any)["name"] = fmt.Sprintf("set-%d", x.fresh)
		case op == "repeat":
			sets[element].(map[string]any)["name"] = sets[0].(map[string]any)["name"]
			if sets[0].(map[string]any)["name"] == nil {
				delete(sets[element].(map[string]any), "name")
			}
		case op == "count":
			sets[element].(map[string]any)["count"] = n
		}
		spec["nodeSets"] = sets
		s.doc = must(json.Marshal(doc))
		s.stamp()
	}
}

// applyWhole writes the owner's whole list, as an apply of a manifest does, with the owner's counts.
func (x *trial) applyWhole(whole bool) {
	if !whole {
		return
	}
	x.real.set("/spec/nodeSets", x.shadow.value("/spec/nodeSets"))
}

// isOneTooMany reports whether an operation would be the second change of the list since Flyball's write, while names do
// not identify the elements. After two such changes the list can look as if an owner had set a count.
func (x *trial) isOneTooMany(op string) bool {
	obj, names := x.object(x.real), map[string]bool{}
	if !slices.ContainsFunc(obj.Ledger, func(e workload.Entry) bool { return e.IsInList() }) {
		x.moved, x.vague = false, false
		return false
	}
	vague := x.vague || op == "repeat" || slices.ContainsFunc(obj.Ledger, func(e workload.Entry) bool { return e.Place != "" })
	for k := range obj.Elements {
		name := obj.Elements[k].Name
		vague = vague || name == "" || names[name]
		names[name] = true
	}
	if x.moved && vague {
		return true
	}
	x.moved, x.vague = true, vague
	return false
}

// isUnclear reports whether the real object waits for a person to identify its list elements.
func (x *trial) isUnclear() bool {
	return ledger.NewView(x.a.Spec, x.object(x.real)).UnclearFault() != ""
}

// compareUnclear checks that the ledger still has the original of every count that differs from the owner's.
func (x *trial) compareUnclear() {
	sets := func(s *server) []map[string]any {
		var doc struct {
			Spec struct{ NodeSets []map[string]any }
		}
		if err := json.Unmarshal(s.doc, &doc); err != nil {
			x.Fatal(err)
		}
		return doc.Spec.NodeSets
	}
	left := x.object(x.real).Ledger
	real := sets(x.real)
	for i, owner := range sets(x.shadow) {
		is, was := string(must(json.Marshal(real[i]["count"]))), string(must(json.Marshal(owner["count"])))
		if is != was && !slices.ContainsFunc(left, func(e workload.Entry) bool {
			return workload.SameValue(e.Set, is, len(x.w.amounts) > 0) && (e.Was == was || e.Was == "" && was == "null")
		}) {
			x.Fatalf("the original %s of element %d, which is %s, is lost: %+v", was, i, is, left)
		}
	}
}
