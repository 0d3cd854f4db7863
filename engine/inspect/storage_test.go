package inspect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// The adapter uses the version v1, and the stored version is v2.
func TestLostBy(t *testing.T) {
	for _, tc := range []struct{ reason, v1, v2, conversion, want string }{
		{"the same", `{spec: {type: object, properties: {a: {type: string}}}}`, `{spec: {type: object, properties: {a: {type: string}}}}`, "",
			""},
		{"more in the spoken one", `{a: {}, b: {}}`, `{a: {}}`, "", ""},
		{"a field at the top, in an object, in a list", `{spec: {properties: {list: {items: {properties: {a: {}}}}}}}`,
			`{spec: {properties: {c: {}, list: {items: {properties: {a: {}, b: {}}}}}}, data: {}}`, "", ".data .spec.c .spec.list[*].b"},
		{"the values of a map", `{map: {additionalProperties: {properties: {a: {}}}}}`,
			`{map: {additionalProperties: {properties: {a: {}, b: {}}}}}`, "", ".map[*].b"},
		{"a map that the spoken one does not have", `{map: {properties: {a: {}}}}`, `{map: {additionalProperties: {type: string}}}`, "",
			".map[*]"},
		{"fields that a map keeps", `{map: {additionalProperties: true}}`, `{map: {properties: {a: {}}}}`, "", ""},
		{"fields that the spoken one leaves open", `{spec: {x-kubernetes-preserve-unknown-fields: true}}`, `{spec: {properties: {a: {}}}}`, "",
			""},
		{"fields that only the stored one leaves open", `{spec: {properties: {a: {}}}}`, `{spec: {x-kubernetes-preserve-unknown-fields: true}}`,
			"", ".spec"},
		{"what every object has", `{spec: {}}`, `{apiVersion: {}, kind: {}, metadata: {}, spec: {}}`, "", ""},
		{"a webhook converts", `{}`, `{spec: {}}`, "conversion: {strategy: Webhook}", ""},
		{"nothing is ever taken out", `{}`, `{spec: {}}`, "preserveUnknownFields: true", ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			var crd apiextensionsv1.CustomResourceDefinition
			text := "spec:\n  versions:\n  - {name: v1, schema: {openAPIV3Schema: {properties: " + tc.v1 + "}}}\n" +
				"  - {name: v2, storage: true, schema: {openAPIV3Schema: {properties: " + tc.v2 + "}}}\n  " + tc.conversion
			if err := yaml.Unmarshal([]byte(text), &crd); err != nil {
				t.Fatal(err)
			}
			_, lost := lostBy(&crd, "v1")
			if diff := cmp.Diff(tc.want, strings.Join(lost, " ")); diff != "" {
				t.Error(diff)
			}
			if _, lost := lostBy(&crd, "v2"); len(lost) > 0 {
				t.Errorf("the stored version loses %v", lost)
			}
		})
	}
}
