package workload

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMetadataIsReadFromJSON(t *testing.T) {
	const full = `{"apiVersion":"v1","kind":"Pod","metadata":{
		"annotations":{"example.com/until":"2026-01-01T00:00:00Z","kubectl.kubernetes.io/last-applied-configuration":"{\"a\":1}","quo\"te":"x"},
		"creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"2026-02-02T03:04:05Z","generation":7,
		"labels":{"tier":"front","app":"w\u00e9b"},"managedFields":[{"manager":"x","fieldsV1":{"f:metadata":{"f:name":{}}}}],
		"name":"web-1","namespace":"shop","ownerReferences":[
			{"apiVersion":"v1","kind":"Other","name":"o","uid":"1"},
			{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"2","controller":true}],
		"resourceVersion":"42","uid":"u-1"},"spec":{"metadata":{"name":"not-this"}}}`
	for name, c := range map[string]struct {
		raw  string
		keys []string
		want *Object
		err  string
	}{
		"everything": {
			raw: full, keys: []string{"example.com/until", `quo"te`, "missing"},
			want: &Object{
				Namespace: "shop", Name: "web-1", UID: "u-1", ResourceVersion: "42", Generation: 7,
				Created: 1767323045, Deleting: true,
				Labels:         Pairs{{Key: "app", Value: "wéb"}, {Key: "tier", Value: "front"}},
				Annotations:    Pairs{{Key: "example.com/until", Value: "2026-01-01T00:00:00Z"}, {Key: `quo"te`, Value: "x"}},
				OwnerReference: &OwnerReference{GroupKind: schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, Name: "web"},
			},
		},
		"a core owner and no annotations": {
			raw: `{"metadata":{"name":"a","annotations":{"k":"v"},"labels":null,"creationTimestamp":null,"deletionTimestamp":null,
				"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","controller":true}]}}`,
			want: &Object{Name: "a", OwnerReference: &OwnerReference{GroupKind: schema.GroupKind{Kind: "Node"}, Name: "n"}},
		},
		"escapes": {
			raw:  `{"metadata":{"name":"w\u0065b","namespace":"a\/b","uid":"\"","resourceVersion":"1","annotations":{"k":"a\nb"}}}`,
			keys: []string{"k"},
			want: &Object{Name: "web", Namespace: "a/b", UID: `"`, ResourceVersion: "1", Annotations: Pairs{{Key: "k", Value: "a\nb"}}},
		},
		"little of its own": {
			raw:  `{"metadata":{"name":"a","resourceVersion":"1234567"}}`,
			want: &Object{Name: "a", ResourceVersion: "1234567"},
		},
		"a number for a text": {raw: `{"metadata":{"name":"a","uid":5,"generation":"x"}}`, err: "read .metadata.uid: want a string, got 5"},
		"a number for an instant": {raw: `{"metadata":{"name":"a","creationTimestamp":5}}`,
			err: "read .metadata.creationTimestamp: want a string, got 5"},
		"not JSON":        {raw: `{"metadata":`, err: "project the metadata: "},
		"no metadata":     {raw: `{"kind":"Pod"}`, err: "there is no .metadata object"},
		"not an instant":  {raw: `{"metadata":{"name":"a","creationTimestamp":"today"}}`, err: ".metadata.creationTimestamp"},
		"metadata a text": {raw: `{"metadata":"x"}`, err: "there is no .metadata object"},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(c.raw)
			got, err := NewMetadata(NewInterner(), c.keys...).Project(raw)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			clear(raw) // the caller's buffer serves the next object
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMetadataSharesTexts(t *testing.T) {
	p := NewMetadata(NewInterner(), "note")
	project := func(name string) *Object {
		o, err := p.Project([]byte(`{"metadata":{"name":"` + name + `","labels":{"tier":"front"},"annotations":{"note":"same"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	a, b := project("a"), project("b")
	for what, pair := range map[string][2]string{
		"label key":        {a.Labels[0].Key, b.Labels[0].Key},
		"label value":      {a.Labels[0].Value, b.Labels[0].Value},
		"annotation value": {a.Annotations[0].Value, b.Annotations[0].Value},
	} {
		if unsafe.StringData(pair[0]) != unsafe.StringData(pair[1]) {
			t.Errorf("each object has its own %s", what)
		}
	}
}

func TestMetadataPaths(t *testing.T) {
	m := NewMetadata(NewInterner(), "b", "a", "b")
	paths := m.Paths()
	if n := len(paths); n != len(metadataFields)+2 || paths[0].String() != ".metadata.name" ||
		paths[n-1].String() != ".metadata.annotations.b" {
		t.Errorf("paths %v", paths)
	}
}
