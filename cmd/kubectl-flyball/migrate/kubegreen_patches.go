package migrate

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
)

// operations returns the operations of a JSON patch that is written as YAML text.
func operations(p rawjson.Value) []rawjson.Value {
	raw, err := yaml.YAMLToJSON([]byte(p.Get("patch").Str))
	if err != nil {
		return nil
	}
	return rawjson.ParseBytes(raw).Array()
}

// convertGreenPatch converts one patch of a SleepInfo. If the adapter of the kind does the same as the patch, it adds
// the kind to the selection. If the kind has no adapter, it adds an Adapter.
func convertGreenPatch(in *Input, s Object, p rawjson.Value, sel *sleepSelection, out *Output) {
	gk := schema.GroupKind{Group: p.Get("target.group").Str, Kind: p.Get("target.kind").Str}
	a, known := libraryAdapter(gk)
	ops := operations(p)
	if len(ops) == 0 || known && len(ops) > 1 || slices.ContainsFunc(ops, isOther) {
		out.Leave(s, "its patch of %s does more than set or remove fields, or sets several of a kind that has an adapter here: asleepAs "+
			"cannot set any field", gk)
		sel.kinds = without(sel.kinds, gk)
		return
	}
	pointer, value := ops[0].Get("path").Str, valueOf(ops[0])
	switch {
	case known && sleepsBy(a, pointer, value):
		sel.kinds = append(without(sel.kinds, gk), gk)
	case known && counts(a, pointer, value):
		sel.kinds = append(without(sel.kinds, gk), gk)
		sel.counts[gk], _ = Count(value)
	case known:
		out.Leave(s, "its patch of %s sets %s to %s: objects of that kind have an adapter here, which puts them to sleep another way", gk,
			pointer, value)
		sel.kinds = without(sel.kinds, gk)
	default:
		var set []v1alpha1.Write
		for _, op := range ops {
			where, ok := pathOf(op.Get("path").Str)
			if !ok {
				out.Leave(s, "its patch of %s sets %s, which goes through a list: write an Adapter (kubectl flyball adapter new)", gk,
					op.Get("path").Str)
				return
			}
			set = append(set, v1alpha1.Write{Path: where, Value: apiextensionsv1.JSON{Raw: []byte(valueOf(op))}})
		}
		sel.kinds = append(sel.kinds, gk)
		emitGreenAdapter(in, s, gk, set, out)
	}
}

// isOther reports whether an operation does more than set or remove a field.
func isOther(op rawjson.Value) bool {
	return !slices.Contains([]string{"add", "replace", "remove"}, op.Get("op").Str)
}

// valueOf returns the JSON text of the value that an operation sets.
func valueOf(op rawjson.Value) string {
	if op.Get("op").Str == "remove" {
		return "null"
	}
	return op.Get("value").Raw
}

func without(kinds []schema.GroupKind, gk schema.GroupKind) []schema.GroupKind {
	return slices.DeleteFunc(kinds, func(k schema.GroupKind) bool { return k == gk })
}

func libraryAdapter(gk schema.GroupKind) (v1alpha1.Adapter, bool) {
	library, err := adapters.All()
	if err != nil {
		return v1alpha1.Adapter{}, false
	}
	for i := range library {
		if library[i].Spec.Target.Group == gk.Group && library[i].Spec.Target.Kind == gk.Kind {
			return library[i], true
		}
	}
	return v1alpha1.Adapter{}, false
}

// sleepsBy reports whether an adapter puts objects to sleep by setting only the given field to the given value.
func sleepsBy(a v1alpha1.Adapter, pointer, value string) bool {
	for _, v := range a.Spec.Suspend {
		if len(v.Set) == 1 && pointerOf(v.Set[0].Path) == pointer && path.Equal(v.Set[0].Value.Raw, []byte(value)) {
			return true
		}
	}
	return len(a.Spec.Suspend) == 0 && len(a.Spec.Scale) == 1 && pointerOf(a.Spec.Scale[0].Replicas) == pointer &&
		value == Number(a.Spec.Scale[0].Minimum)
}

// counts reports whether a patch sets the only replica count of an adapter.
func counts(a v1alpha1.Adapter, pointer, value string) bool {
	_, ok := Count(value)
	return ok && len(a.Spec.Scale) == 1 && pointerOf(a.Spec.Scale[0].Replicas) == pointer
}

func pointerOf(text v1alpha1.Path) string {
	p, err := path.Parse(string(text))
	if err != nil {
		return ""
	}
	pointer, err := p.Pointer()
	if err != nil {
		return ""
	}
	return string(pointer)
}

// pathOf returns a JSON pointer as a path of an adapter. It returns false if the pointer goes through a list.
func pathOf(pointer string) (v1alpha1.Path, bool) {
	p, err := path.ParsePointer(pointer)
	if err != nil {
		return "", false
	}
	for _, t := range p.Tokens() {
		if t == "-" || strings.Trim(t, "0123456789") == "" {
			return "", false
		}
	}
	return v1alpha1.Path(p.Path().String()), true
}

func emitGreenAdapter(in *Input, s Object, gk schema.GroupKind, set []v1alpha1.Write, out *Output) {
	version := "v1"
	objects := in.Of(gk)
	if len(objects) > 0 {
		gv, _ := schema.ParseGroupVersion(objects[0].Get("apiVersion").Str) // cannot fail: the object was found by its group
		version = gv.Version
	}
	plural, _ := apimeta.UnsafeGuessKindToResource(gk.WithVersion(version))
	a := &v1alpha1.Adapter{ObjectMeta: Meta("", plural.GroupResource().String())}
	if slices.ContainsFunc(out.Emitted, func(e *Emitted) bool { return e.Object.GetName() == a.Name }) {
		return // another SleepInfo has already added this Adapter
	}
	a.Spec.Target = v1alpha1.AdapterTarget{Group: gk.Group, Kind: gk.Kind, Versions: []string{version}}
	a.Spec.Suspend = []v1alpha1.Variant{{Set: set}}
	e := out.Emit(a, s)
	e.Note("the plural in its name is a guess: kubectl flyball adapter check FILE says whether it is served, and adapter rbac FILE " +
		"prints the rights that it takes")
	if len(objects) == 0 {
		e.Note("the version %s is a guess too", version)
	}
}
