package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path"
)

// maxLost is the largest number of lost fields in a message.
const maxLost = 10

// Lossless returns the version in which an adapter reads and writes a served kind, and the fields that its writes lose;
// empty: no field is lost.
//
// If a CustomResourceDefinition has no conversion webhook, the API server removes, at each write, all fields that are
// missing in the schema of the request's version, even fields that the write does not change. So if fields would be
// lost, Lossless returns the stored version, provided that the API server serves it with all paths of the adapter. A
// conversion webhook has to keep such fields itself. A refused read is an error, but a missing right to read definitions
// is a lost field.
func (c *Inspector) Lossless(ctx context.Context, served Served, a *adapter.Adapter) (best Served, loses string, err error) {
	if !strings.Contains(served.GVK.Group, ".") { // built-in kinds have no CustomResourceDefinition
		return served, "", nil
	}
	crd, err := c.definition(ctx, served.GVR.GroupResource().String(), served.GVK.Group)
	if apierrors.IsForbidden(err) {
		return served, fmt.Sprintf("whether writes lose fields is not known: %v", err), nil
	}
	if err != nil || crd == nil {
		return served, "", err
	}
	stored, lost := lostBy(crd, served.GVK.Version)
	if len(lost) == 0 {
		return served, "", nil
	}
	best, why, err := c.storedAs(ctx, served, a, stored)
	if err != nil {
		return served, "", fmt.Errorf("look whether %s can be spoken: %w", stored, err)
	}
	if why == "" {
		return best, "", nil
	}
	if len(lost) > maxLost {
		lost = append(lost[:maxLost:maxLost], fmt.Sprintf("%d more", len(lost)-maxLost))
	}
	return served, fmt.Sprintf("each write through %s removes fields that only the stored version %s has: %s. %s",
		served.GVK.Version, stored, strings.Join(lost, ", "), why), nil
}

// storedAs returns how the stored version is served, or why an adapter cannot use it.
func (c *Inspector) storedAs(ctx context.Context, served Served, a *adapter.Adapter, stored string) (best Served, why string, err error) {
	best, err = c.servedAs(ctx, served.GVK.GroupKind().WithVersion(stored))
	switch {
	case err != nil:
		return served, "", err
	case !best.Found:
		return served, fmt.Sprintf("It is not served: set served: true for %s", stored), nil
	case a.UsesScale() && !best.HasScale:
		return served, fmt.Sprintf("The adapter cannot use %[1]s, because %[1]s has no /scale", stored), nil
	}
	report, err := c.MatchSchema(ctx, best.GVK, a.Uses())
	if err != nil {
		return served, "", err
	}
	if report.Matched() {
		return best, "", nil
	}
	return served, fmt.Sprintf("The adapter cannot speak %s: %s", stored, report.Missing[0]), nil
}

// lostBy returns the stored version, and the fields that a write through a different version removes.
func lostBy(crd *apiextensionsv1.CustomResourceDefinition, version string) (stored string, lost []string) {
	if c := crd.Spec.Conversion; crd.Spec.PreserveUnknownFields || c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		return "", nil
	}
	var spoken, storage *apiextensionsv1.JSONSchemaProps
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Schema == nil {
			continue
		}
		if v.Name == version {
			spoken = v.Schema.OpenAPIV3Schema
		}
		if v.Storage {
			stored, storage = v.Name, v.Schema.OpenAPIV3Schema
		}
	}
	if stored == version || spoken == nil || storage == nil {
		return stored, nil
	}
	return stored, missingFrom(*spoken, *storage, path.Path{})
}

// missingFrom returns the fields of the schema stored that the schema spoken does not keep. at is the path of both
// schemas.
func missingFrom(spoken, stored apiextensionsv1.JSONSchemaProps, at path.Path) (lost []string) {
	open := spoken.XPreserveUnknownFields != nil && *spoken.XPreserveUnknownFields
	if !open && stored.XPreserveUnknownFields != nil && *stored.XPreserveUnknownFields {
		return []string{at.String()}
	}
	for _, name := range slices.Sorted(maps.Keys(stored.Properties)) {
		if at.Len() == 0 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			continue
		}
		inner, known := spoken.Properties[name]
		if values := spoken.AdditionalProperties; !known && values != nil {
			if values.Schema == nil {
				continue
			}
			inner, known = *values.Schema, true
		}
		switch {
		case known:
			lost = append(lost, missingFrom(inner, stored.Properties[name], at.Field(name))...)
		case !open:
			lost = append(lost, at.Field(name).String())
		}
	}
	each := join(at, path.Step{Kind: path.Wildcard})
	if stored.Items != nil && stored.Items.Schema != nil && spoken.Items != nil && spoken.Items.Schema != nil {
		lost = append(lost, missingFrom(*spoken.Items.Schema, *stored.Items.Schema, each)...)
	}
	if stored.AdditionalProperties != nil && stored.AdditionalProperties.Schema != nil {
		switch values := spoken.AdditionalProperties; {
		case values != nil && values.Schema != nil:
			lost = append(lost, missingFrom(*values.Schema, *stored.AdditionalProperties.Schema, each)...)
		case values == nil && !open:
			lost = append(lost, each.String())
		}
	}
	return lost
}
