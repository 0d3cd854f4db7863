package adapter

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/ledger"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// Keys are the parts of a kind's objects that policies use besides those that an adapter always reads.
type Keys = compiled.Keys

// Use is one path that an adapter uses, for checks against a schema.
type Use = compiled.Use

// Saving is the saving of a policy on an object.
type Saving = ledger.Saving

// Adapter is a compiled adapter, with the operations on objects. It is immutable and safe for concurrent use. Adapters with
// the same ProjectionID can read each other's projected objects. An Adapter with a different ProjectionID cannot read them.
// The fields of Spec must not be written after Compile.
type Adapter struct{ *compiled.Spec }

// Compile checks a spec and returns the adapter. Every error names its field; with any error the adapter is nil. Other
// code checks whether the name fits the kind, and whether the paths exist in its schema (see Uses).
func Compile(name string, from v1alpha1.AdapterSpec, keys Keys) (*Adapter, field.ErrorList) {
	compiled, errs := compiled.Compile(name, from, keys)
	if len(errs) > 0 {
		return nil, errs
	}
	return &Adapter{compiled}, nil
}

// Served returns the spec of an adapter without the optional items in status.leftOut.
func Served(a *v1alpha1.Adapter) v1alpha1.AdapterSpec { return compiled.Served(a) }

// Without returns a spec without the named optional items, such as spec.suspend[0].
func Without(from v1alpha1.AdapterSpec, items []string) v1alpha1.AdapterSpec {
	return compiled.Without(from, items)
}

// Observe returns the owner's wishes: counts, bounds and switches with Flyball's own changes undone. A facet is omitted
// if its value has an unexpected type, or is absent without a default. The caller, who knows the other objects, sets
// Governed.
func (a *Adapter) Observe(obj *workload.Object) workload.Observed {
	return ledger.NewView(a.Spec, obj).Observe()
}

// Savings returns the policies that leave an object with other counts than its owner wants. A count set once belongs to the
// autoscaler, so it saves and costs nothing. Switches of objects without a count save nothing, because their usage is unknown.
func (a *Adapter) Savings(obj *workload.Object) []Saving {
	return ledger.NewView(a.Spec, obj).Savings()
}

// SetBy returns the policies in an object's ledger that set a lasting size, each once.
func (a *Adapter) SetBy(obj *workload.Object) []workload.Policy {
	return ledger.NewView(a.Spec, obj).SetBy()
}

// Paused returns the reason why the controller of an object does not act, by the owner's version of the object, or "".
func (a *Adapter) Paused(obj *workload.Object) string {
	view := ledger.NewView(a.Spec, obj)
	return a.Spec.Paused(view.Original)
}

// AlreadyAsleep reports whether an object has nothing to put to sleep, by the owner's version of the object.
func (a *Adapter) AlreadyAsleep(obj *workload.Object) bool {
	return a.Spec.AlreadyAsleep(ledger.NewView(a.Spec, obj).Original)
}

// AmountFault returns the reason why requests, limits and utilisations of an object cannot be read and written, or "".
func (a *Adapter) AmountFault(obj *workload.Object) string {
	return ledger.NewView(a.Spec, obj).AmountFault()
}

// ledgerPath is the path of the ledger.
var ledgerPath = "metadata.annotations." + strings.ReplaceAll(v1alpha1.AnnotationLedger, ".", `\.`)

// LedgerEditMeans returns the set of actions of an edit of the ledger by a different writer. With such an edit the
// writer can make Flyball restore values in any field that the adapter sets. If the ledger is unchanged or removed,
// nothing is restored, and the set is empty.
func LedgerEditMeans(before, after []byte) workload.Change {
	if !bytes.Contains(after, []byte(v1alpha1.AnnotationLedger)) {
		return 0
	}
	if now := rawjson.GetBytes(after, ledgerPath).Str; now == "" || now == rawjson.GetBytes(before, ledgerPath).Str {
		return 0
	}
	return workload.ChangeRollOut | workload.ChangeScale
}
