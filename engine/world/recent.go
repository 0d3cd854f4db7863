package world

import (
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
)

// recent has the adapters that worlds in memory use, by name and keys, each in its last form. A verb makes several worlds of the same
// adapters, and compiling the library takes more time than the rest of most verbs.
var recent = struct {
	sync.Mutex
	all map[string]compiledSpec
}{all: map[string]compiledSpec{}}

type compiledSpec struct {
	spec    v1alpha1.AdapterSpec
	adapter *adapter.Adapter
}

// Compile returns the same as adapter.Compile, for worlds in memory. An adapter with the spec and the keys of the last call with its name
// is not compiled again.
func Compile(name string, spec v1alpha1.AdapterSpec, keys adapter.Keys) (*adapter.Adapter, field.ErrorList) {
	key := fmt.Sprintf("%s %#v", name, keys)
	recent.Lock()
	last := recent.all[key]
	recent.Unlock()
	if last.adapter != nil && reflect.DeepEqual(last.spec, spec) {
		return last.adapter, nil
	}
	own := *spec.DeepCopy() // the caller's objects may change later
	compiled, errs := adapter.Compile(name, own, keys)
	if len(errs) > 0 {
		return nil, errs
	}
	recent.Lock()
	defer recent.Unlock()
	recent.all[key] = compiledSpec{own, compiled}
	return compiled, nil
}
