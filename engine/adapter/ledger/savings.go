package ledger

import (
	"strings"

	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Saving is the saving of a policy on an object.
type Saving struct {
	By workload.Policy
	// Replicas is the number of replicas below the owner's count. It is negative if the policy has raised the count.
	Replicas int64
}

// Savings returns the policies that leave an object with other counts than its owner wants. A count set once belongs to the
// autoscaler, so it saves and costs nothing. Switches of objects without a count save nothing, because their usage is unknown.
func (v *View) Savings() []Saving {
	if len(v.Object.Ledger) == 0 || !v.Complete() {
		return nil
	}
	var all []Saving
	off := v.switchedOffBy()
	counts, _ := v.Counts()
	for _, c := range counts {
		if strings.HasPrefix(c.Original, `"`) {
			continue // a quantity such as "40Gi" is no number of replicas
		}
		switch now, known := c.Part.Read(v.currentOf(&c)); {
		case off != "":
			all = addSaving(all, off, c.Replicas)
		case c.Entry != nil && c.Entry.State == FieldSet && known:
			all = addSaving(all, c.Entry.settled().By, c.Replicas-now)
		}
	}
	return all
}

// currentOf returns the JSON text of the present count.
func (v *View) currentOf(c *Count) string {
	if c.Element < 0 {
		return v.Current(c.Part.Slot).Raw
	}
	return v.Object.Elements[c.Element].Raw
}

// switchedOffBy returns the policy that has suspended the object by fields other than its counts, or "".
func (v *View) switchedOffBy() string {
	suspend := v.VariantOf(v.Spec.Suspend)
	if suspend == nil || v.IsSet(suspend) {
		return ""
	}
	by := ""
	for _, w := range suspend.Set {
		if !path.Same(v.Current(w.Slot).Raw, w.Value) {
			return ""
		}
		if l := v.EntryAt(projection.AtSlot(w.Slot.Index)); l != nil && l.State == FieldSet {
			by = l.Entry.By
		}
	}
	return by
}

func addSaving(all []Saving, by string, replicas int64) []Saving {
	if replicas == 0 {
		return all
	}
	id := workload.ParsePolicy(by)
	for i := range all {
		if all[i].By == id {
			all[i].Replicas += replicas
			return all
		}
	}
	return append(all, Saving{id, replicas})
}
