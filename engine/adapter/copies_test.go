package adapter

import (
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// TestACopyIsNotWoken gives objects the ledger of another object, or of the template from which a controller created
// them. The template's author can put any ledger there, and does not know the UID of a later object.
func TestACopyIsNotWoken(t *testing.T) {
	const owned = `,"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Shop","name":"a","uid":"9"}]`
	controlled := strings.Replace(owned, `"uid"`, `"controller":true,"uid"`, 1)
	a := mustCompile(t, deploymentYAML, Keys{})
	e := entry("/spec/replicas", "3", "0")
	for _, c := range []struct {
		name   string
		on     workload.Origin
		spec   string
		copyOf string
		wakes  bool
		// owner is the metadata of the object's controller; empty: none.
		owner string
	}{
		{"its own", workload.Origin{Of: "Deployment/web", Namespace: "shop", UID: "1"}, `{"replicas":0}`, "", true, ""},
		{"its own, of an older version", workload.Origin{Of: "Deployment/web"}, `{"replicas":0}`, "", true, ""},
		{"its own, restored", workload.Origin{Of: "Deployment/web", Namespace: "shop", UID: "0"}, `{"replicas":0}`, "", true, ""},
		{"under another name", workload.Origin{Of: "Deployment/api", Namespace: "shop", UID: "1"}, `{"replicas":0}`, "Deployment shop/api", false,
			""},
		{"under another name, of an older version", workload.Origin{Of: "Deployment/api"}, `{"replicas":0}`, "Deployment api", false, ""},
		{"in another namespace", workload.Origin{Of: "Deployment/web", Namespace: "bank", UID: "1"}, `{"replicas":0}`, "Deployment bank/web",
			false, ""},
		{"a copy that was scaled by hand", workload.Origin{Of: "Deployment/api", Namespace: "shop", UID: "1"}, `{"replicas":2}`, "", false, ""},
		{"what a controller makes", workload.Origin{Of: "Rollout/web", Namespace: "shop", UID: "1"}, `{"replicas":0}`, "", false, ""},
		{"its own, under an owner", workload.Origin{Of: "Deployment/web", Namespace: "shop", UID: "1"}, `{"replicas":0}`, "", true, controlled},
		{"of a template, without a UID", workload.Origin{Of: "Deployment/web"}, `{"replicas":0}`, "an earlier Deployment web", false, controlled},
		{"of a template, that says nothing", workload.Origin{}, `{"replicas":0}`, "", false, controlled},
		{"of an earlier object under an owner", workload.Origin{Of: "Deployment/web", Namespace: "shop", UID: "0"}, `{"replicas":0}`,
			"an earlier Deployment shop/web", false, controlled},
		{"under an owner that does not control", workload.Origin{Of: "Deployment/web", Namespace: "shop", UID: "0"}, `{"replicas":0}`, "", true,
			owned},
	} {
		text, err := workload.Ledger{e}.Encode(c.on)
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(must(jsonpatch.MergePatch(object(c.spec, v1alpha1.AnnotationLedger, text), []byte(`{"metadata":{"uid":"1"`+c.owner+`}}`))))
		obj := projected(t, a, s.doc)
		if c.copyOf != "" {
			for what, plan := range map[string]workload.Plan{"a size": size(workload.SizeExactly, 5), "sleep": sleep(), "a hold": holding()} {
				if r := rendered(t, a, s.doc, plan); r.Patch != nil || r.Failure == "" {
					t.Errorf("%s: %s writes over the ledger that tells what there was: %s", c.name, what, r.Message)
				}
			}
		}
		r := s.settle(t, a, workload.Plan{})
		if obj.Notes().CopyOf != c.copyOf || (r.Failure != "") != (c.copyOf != "") {
			t.Errorf("%s: a copy of %q, want %q; %s", c.name, obj.Notes().CopyOf, c.copyOf, r.Failure)
		}
		if woken := s.value("/spec/replicas") == "3"; woken != c.wakes {
			t.Errorf("%s: woken: %t", c.name, woken)
		}
	}
}

// TestCopiedLedgerOfARemovedValue checks that an object without a field, or with a null, is a copy of an object from
// which
// Flyball removed this field.
func TestCopiedLedgerOfARemovedValue(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	text := must(workload.Ledger{entry("/spec/other", `{"a":1}`, "")}.Encode(workload.Origin{Of: "Deployment/api", Namespace: "shop",
		UID: "1"}))
	for spec, want := range map[string]string{`{}`: "Deployment shop/api", `{"other":null}`: "Deployment shop/api", `{"other":{}}`: ""} {
		if got := projected(t, a, object(spec, v1alpha1.AnnotationLedger, text)).Notes().CopyOf; got != want {
			t.Errorf("%s is a copy of %q, want %q", spec, got, want)
		}
	}
}
