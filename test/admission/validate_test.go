package admission_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	reviews "flyball.dev/flyball/engine/admission/review"
)

const goodSpec = `
target: {group: apps, kind: Deployment, versions: [v1]}
scale: [{name: main, replicas: .spec.replicas, default: 1}]
`

// causes returns the fields in an answer of the API server.
func causes(err error) []string {
	var fields []string
	if known := apierrors.APIStatus(nil); errors.As(err, &known) && known.Status().Details != nil {
		for _, cause := range known.Status().Details.Causes {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

func TestInvalidAdaptersAreRefused(t *testing.T) {
	start(t, options(t, adapters(t)))
	active(t)
	const scaled = `{target: {group: apps, kind: Deployment, versions: [v1]}, scale: [{name: main, replicas: .spec.replicas, via: Scale}]}`
	const rollout = `{target: {group: argoproj.io, kind: Rollout, versions: [v1alpha1]}, scale: [{name: main, replicas: .spec.replicas}]}`
	tests := []struct {
		reason, user, name, spec string
		fields                   []string
		want                     string // part of the message, or "" if the request is allowed
	}{
		{reason: "a user with patch on the kind everywhere", user: "sre", name: "deployments.apps", spec: goodSpec},
		{reason: "a user with all rights", user: "admin", name: "deployments.apps", spec: scaled},
		{
			reason: "a user without patch on the kind", user: "alice", name: "deployments.apps", spec: goodSpec,
			want: `adapters.flyball.dev "deployments.apps" is forbidden: user "alice" must be allowed to patch deployments.apps in all namespaces`,
		},
		{
			reason: "a user with patch on the kind in one namespace", user: "bob", name: "deployments.apps", spec: goodSpec,
			want: `user "bob" must be allowed to patch deployments.apps in all namespaces`,
		},
		{
			reason: "via /scale, a user with patch on the object only", user: "sre", name: "deployments.apps", spec: scaled,
			want: `must be allowed to patch deployments/scale.apps in all namespaces`,
		},
		{
			reason: "the name of another kind", user: "sre", name: "statefulsets.apps", spec: goodSpec,
			fields: []string{"metadata.name"}, want: "must be deployments.apps, the plural name and the group of Deployment",
		},
		{
			reason: "a path that is not one; the field is named", user: "sre", name: "deployments.apps",
			spec: `{target: {group: apps, kind: Deployment, versions: [v1]}, scale: [{name: main, replicas: spec.replicas}, {name: main, ` +
				`replicas: .spec.other}]}`,
			fields: []string{"spec.scale[0].replicas", "spec.scale[1].name"}, want: "a path starts with . or [",
		},
		{reason: "a kind not served yet, a user with patch on the resource in the name", user: "sre", name: "rollouts.argoproj.io",
			spec: rollout},
		{
			reason: "a kind not served yet, a user without that right", user: "alice", name: "rollouts.argoproj.io", spec: rollout,
			want: `user "alice" must be allowed to patch rollouts.argoproj.io in all namespaces`,
		},
		{
			reason: "a kind that is not served yet, under a name without its group", user: "admin", name: "rollouts.example.com", spec: rollout,
			fields: []string{"metadata.name"}, want: "must be <plural>.argoproj.io, with the plural name of Rollout",
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			err := as(t, tt.user).Create(t.Context(), read(t, tt.name, tt.spec), client.DryRunAll)
			if tt.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("answer: %v\nwant: %s", err, tt.want)
			}
			if diff := cmp.Diff(tt.fields, causes(err)); diff != "" {
				t.Errorf("fields named (-want +got):\n%s", diff)
			}
			if (len(tt.fields) > 0) != apierrors.IsInvalid(err) || (len(tt.fields) == 0) != apierrors.IsForbidden(err) {
				t.Errorf("reason %s: want Invalid where fields are named, else Forbidden", apierrors.ReasonForError(err))
			}
		})
	}
}

// Edits of metadata and status need no rights on the kind, but edits of the spec do. Any writer of adapters can remove
// a finalizer from a deleted adapter, even while no server runs.
func TestAdapterEdits(t *testing.T) {
	_, stop := start(t, options(t, adapters(t)))
	active(t)
	admin, alice := as(t, "admin"), as(t, "alice")
	made := read(t, "deployments.apps", goodSpec)
	made.Finalizers = []string{v1alpha1.FinalizerRestore}
	if err := admin.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	edit := func(change func(*v1alpha1.Adapter)) error {
		t.Helper()
		live := &v1alpha1.Adapter{}
		if err := admin.Get(t.Context(), client.ObjectKey{Name: made.Name}, live); err != nil {
			t.Fatal(err)
		}
		change(live)
		return alice.Update(t.Context(), live)
	}
	if err := edit(func(a *v1alpha1.Adapter) { a.Labels = map[string]string{"a": "b"} }); err != nil {
		t.Errorf("a label: %v", err)
	}
	if err := edit(func(a *v1alpha1.Adapter) { a.Spec.Scale[0].Minimum = 1 }); !apierrors.IsForbidden(err) {
		t.Errorf("an edit of the spec: %v, want Forbidden", err)
	}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: made.Name}, made); err != nil {
		t.Fatal(err)
	}
	made.Status.Version = "v1"
	if err := alice.Status().Update(t.Context(), made); err != nil {
		t.Errorf("the status: %v", err)
	}
	if err := alice.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if err := edit(func(a *v1alpha1.Adapter) { a.Spec.Scale[0].Minimum = 1 }); !apierrors.IsForbidden(err) {
		t.Errorf("an edit of the spec of a deleted adapter: %v, want Forbidden", err)
	}
	stop()
	if err := edit(func(a *v1alpha1.Adapter) { a.Labels = nil; a.Finalizers = append(a.Finalizers, "example.com/x") }); err == nil {
		t.Error("a finalizer was added to a deleted adapter")
	}
	if err := admin.Create(t.Context(), read(t, "statefulsets.apps", goodSpec), client.DryRunAll); err == nil {
		t.Error("an adapter is let through while nobody can judge it")
	}
	if err := edit(func(a *v1alpha1.Adapter) { a.Finalizers = nil }); err != nil {
		t.Errorf("the removal of the finalizer: %v", err)
	}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: made.Name}, made); !apierrors.IsNotFound(err) {
		t.Errorf("after the removal of its finalizer: %v, want it gone", err)
	}
}

// This is the contract of validators: the content of their requests and the effect of their answers.
func TestValidatorContract(t *testing.T) {
	var verdict atomic.Pointer[reviews.ValidatorFunc]
	set := func(f reviews.ValidatorFunc) { verdict.Store(&f) }
	set(func(context.Context, reviews.Request) ([]string, field.ErrorList, error) { return nil, nil, nil })
	calendars := reviews.OwnKind{Kind: "Calendar", Resource: "calendars", Validator: reviews.ValidatorFunc(
		func(ctx context.Context, req reviews.Request) ([]string, field.ErrorList, error) {
			return (*verdict.Load())(ctx, req)
		})}
	start(t, options(t, adapters(t), calendars))
	active(t)
	alice := as(t, "alice")
	calendar := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "holidays"}}
	calendar.Spec.Dates = []v1alpha1.CalendarDate{{Date: "2026-12-25"}}

	var seen atomic.Pointer[reviews.Request]
	set(func(_ context.Context, req reviews.Request) ([]string, field.ErrorList, error) {
		seen.Store(&req)
		return nil, nil, nil
	})
	if err := alice.Create(t.Context(), calendar); err != nil {
		t.Fatal(err)
	}
	told := seen.Load()
	got := fmt.Sprintf("%s %s %s by %s, old %v, spec changed %v", told.Operation, told.Kind.Kind, told.New.(*v1alpha1.Calendar).Name,
		told.User.Username, told.Old, told.SpecChanged)
	if want := "CREATE Calendar holidays by alice, old <nil>, spec changed true"; got != want {
		t.Errorf("the request is %s, want %s", got, want)
	}

	at := field.NewPath("spec", "dates").Index(0)
	set(func(context.Context, reviews.Request) ([]string, field.ErrorList, error) {
		return nil, field.ErrorList{field.Invalid(at, "x", "is wrong"), field.Required(field.NewPath("spec", "timeZone"), "")}, nil
	})
	calendar.Labels = map[string]string{"a": "b"}
	if err := alice.Update(t.Context(), calendar); err != nil {
		t.Errorf("a label on an object whose spec a stricter release refuses: %v", err)
	}
	calendar.Spec.Dates[0].Name = "Christmas"
	err := alice.Update(t.Context(), calendar)
	if diff := cmp.Diff([]string{"spec.dates[0]", "spec.timeZone"}, causes(err)); diff != "" || !apierrors.IsInvalid(err) {
		t.Errorf("a change of the spec: %v; fields (-want +got):\n%s", err, diff)
	}

	set(func(context.Context, reviews.Request) ([]string, field.ErrorList, error) {
		return nil, nil, errors.New("the lights went out")
	})
	if err := alice.Update(t.Context(), calendar); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "the lights went out") {
		t.Errorf("an error of the validator: %v, want an internal error", err)
	}
	set(func(context.Context, reviews.Request) ([]string, field.ErrorList, error) { panic("at the disco") })
	if err := alice.Update(t.Context(), calendar); err == nil {
		t.Error("a panic lets the request through")
	}
	if err := alice.Delete(t.Context(), calendar); err != nil {
		t.Errorf("a deletion, which is not sent to this validator: %v", err)
	}
}
