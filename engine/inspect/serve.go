package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsGone reports whether no object of the kind can exist. It is false if discovery fails, or if the kind is served only
// in other versions.
func (a Absence) IsGone() bool { return a == GroupNotServed || a == KindNotServed }

// Absence is the reason why a kind cannot be used. It is a condition reason.
type Absence string

// Absences.
const (
	// GroupNotServed: the API server does not serve the group.
	GroupNotServed Absence = "GroupNotServed"
	// KindNotServed: the group is served, but no version of it has the kind.
	KindNotServed Absence = "KindNotServed"
	// NothingServed: the kind has a CustomResourceDefinition, but is served in no version. Its objects still exist.
	// Only ServeDefined returns this reason.
	NothingServed Absence = "NothingServed"
	// VersionNotServed: the kind is served, but in none of the given versions.
	VersionNotServed Absence = "VersionNotServed"
)

// Served is how the API server serves a kind.
type Served struct {
	// Found is true if one of the given versions is served; otherwise Absence and Message have the reason.
	Found bool
	// GVK is the kind in the first of the given versions that is served.
	GVK schema.GroupVersionKind
	// GVR is the resource, with the plural name as in RBAC rules. It is also set for VersionNotServed and
	// NothingServed, but without a version, because the plural name is the same in every version.
	GVR schema.GroupVersionResource
	// HasScale is true if the version has the subresource.
	HasScale bool
	// Absence is empty if Found.
	Absence Absence
	// Message describes the result for users: "apps/v1 serves Deployment as deployments, with /scale".
	Message string
}

// Serve returns the first of the given versions in which the kind is served. If the kind is not served, that is a
// normal answer; an error means that the server could not be asked. Nothing is cached: Serve sends one request for each
// version up to the first served version.
func (c *Inspector) Serve(ctx context.Context, group, kind string, versions []string) (Served, error) {
	for _, version := range versions {
		served, err := c.servedAs(ctx, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
		if err != nil || served.Found {
			return served, err
		}
	}
	return c.absent(ctx, schema.GroupKind{Group: group, Kind: kind}, versions)
}

// Resource returns the plural name of a kind, in any served version; empty: not served. An error is that of the API server.
func (c *Inspector) Resource(ctx context.Context, kind schema.GroupKind) (plural string, err error) {
	served, err := c.absent(ctx, kind, nil)
	return served.GVR.Resource, err
}

// servedAs checks one version. A version that does not exist serves no kind.
func (c *Inspector) servedAs(ctx context.Context, gvk schema.GroupVersionKind) (Served, error) {
	list, err := c.discovery.ServerResourcesForGroupVersionWithContext(ctx, gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return Served{}, nil
	}
	if err != nil {
		return Served{}, fmt.Errorf("discover the resources of %s: %w", gvk.GroupVersion(), err)
	}
	i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == gvk.Kind && !strings.Contains(r.Name, "/")
	})
	if i < 0 {
		return Served{}, nil
	}
	name := list.APIResources[i].Name
	served := Served{
		Found:    true,
		GVK:      gvk,
		GVR:      gvk.GroupVersion().WithResource(name),
		HasScale: slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name+"/scale" }),
		Message:  fmt.Sprintf("%s serves %s as %s", gvk.GroupVersion(), gvk.Kind, name),
	}
	if served.HasScale {
		served.Message += ", with /scale"
	}
	return served, nil
}

// absent returns the reason why none of the versions serves the kind.
func (c *Inspector) absent(ctx context.Context, kind schema.GroupKind, versions []string) (Served, error) {
	served, err := c.versions(ctx, kind.Group)
	if err != nil {
		return Served{}, err
	}
	if len(served) == 0 {
		return Served{
			Absence: GroupNotServed,
			Message: fmt.Sprintf("the API server does not serve the group %s: install %s first", kind.Group, kind.Kind),
		}, nil
	}
	answer := Served{Absence: KindNotServed}
	var offered []string
	for _, version := range served {
		other, err := c.servedAs(ctx, kind.WithVersion(version))
		if err != nil {
			return Served{}, err
		}
		if other.Found {
			answer.Absence = VersionNotServed
			offered = append(offered, version)
			answer.GVR = other.GVR.GroupResource().WithVersion("")
		}
	}
	if answer.Absence == VersionNotServed {
		answer.Message = fmt.Sprintf("%s is served as %s, not as %s: add a served version to spec.target.versions",
			kind, strings.Join(offered, ", "), strings.Join(versions, ", "))
		return answer, nil
	}
	answer.Message = fmt.Sprintf("%s is served, but without the kind %s: install it first",
		groupName(kind.Group), kind.Kind)
	return answer, nil
}

func groupName(group string) string {
	if group == "" {
		return "the core group"
	}
	return "the group " + group
}

// versions returns the served versions of one group, the preferred version first; no version: the group is not served.
// It requests only the document of the group.
func (c *Inspector) versions(ctx context.Context, group string) ([]string, error) {
	if group == "" {
		return []string{"v1"}, nil
	}
	var answer metav1.APIGroup
	err := c.groups.Get().AbsPath("/apis/" + group).Do(ctx).Into(&answer)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("discover the group %s: %w", group, err)
	}
	versions := make([]string, 0, len(answer.Versions))
	for _, v := range answer.Versions {
		versions = append(versions, v.Version)
	}
	if i := slices.Index(versions, answer.PreferredVersion.Version); i > 0 {
		versions = slices.Insert(slices.Delete(versions, i, i+1), 0, answer.PreferredVersion.Version)
	}
	return versions, nil
}
