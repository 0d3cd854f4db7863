package admission_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	reviews "flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/policy/kinds"
)

type adapted []string

func (a adapted) EachAdapter(yield func(schema.GroupResource, *adapter.Adapter) bool) {
	for _, resource := range a {
		spec := v1alpha1.AdapterSpec{
			Target: v1alpha1.AdapterTarget{Group: "example.com", Kind: strings.ToUpper(resource), Versions: []string{"v1"}},
			Scale:  []v1alpha1.ScaleComponent{{Name: "main", Replicas: ".spec.n"}},
		}
		gr := schema.GroupResource{Group: "example.com", Resource: resource}
		compiled, errs := adapter.Compile(gr.String(), spec, adapter.Keys{})
		if len(errs) > 0 {
			panic(errs.ToAggregate())
		}
		if !yield(gr, compiled) {
			return
		}
	}
}

type resources func(schema.GroupKind) (string, error)

func (f resources) Resource(_ context.Context, kind schema.GroupKind) (string, error) { return f(kind) }

func everything(schema.GroupKind) (string, error) { return "things", nil }

// askAuthors validates a schedule without kinds for a user who creates it, with the authors' checks in front of the
// validator.
func askAuthors(authors *rights.Authors, change ...func(*reviews.Request)) error {
	row, _ := kinds.Find("Schedule")
	loaded := make(chan struct{})
	close(loaded)
	if authors.Loaded == nil {
		authors.Loaded = loaded
	}
	kind := authors.Ask(reviews.OwnKind{Kind: row.Name, Resource: row.Resource, Validator: reviews.ValidatorFunc(
		func(context.Context, reviews.Request) ([]string, field.ErrorList, error) { return nil, nil, nil })}, row)
	s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights"}}
	s.Spec.Upscale, s.Spec.Downscale = "0 8 * * *", "0 20 * * *"
	req := reviews.Request{Operation: admissionv1.Create, Kind: v1alpha1.GroupVersion.WithKind(row.Name), Namespace: s.Namespace,
		Name: s.Name,
		New:  s, SpecChanged: true, User: authenticationv1.UserInfo{Username: "alice"}}
	for _, c := range change {
		c(&req)
	}
	_, errs, err := kind.Validator.Validate(context.Background(), req)
	if len(errs) > 0 {
		return errs.ToAggregate()
	}
	return err
}

func answering(allowed bool) reviewer {
	return func(_ context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
		review.Status.Allowed = allowed
		return review, nil
	}
}

// A check that fails is an error that suggests a retry, and not a lack of rights. The request is refused.
func TestAuthorsFailClosed(t *testing.T) {
	away := errors.New("the API server is away")
	failing := reviewer(func(context.Context, *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
		return nil, away
	})
	hanging := reviewer(func(ctx context.Context, _ *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 4*time.Second {
			return nil, errors.New("may hang for longer than the API server waits")
		}
		return nil, context.DeadlineExceeded
	})
	for _, tc := range []struct {
		reason  string
		authors rights.Authors
		want    error
	}{
		{"the reviews fail", rights.Authors{Reviews: failing, Resources: resources(everything)}, away},
		{"the reviews hang", rights.Authors{Reviews: hanging, Resources: resources(everything)}, context.DeadlineExceeded},
		{"discovery fails", rights.Authors{Reviews: answering(false),
			Resources: resources(func(schema.GroupKind) (string, error) { return "", away })}, away},
	} {
		tc.authors.Adapted = adapted{"foos", "bars"}
		err := askAuthors(&tc.authors)
		if !errors.Is(err, tc.want) || apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "nothing is changed, try again") {
			t.Errorf("%s: %v", tc.reason, err)
		}
	}
	never := &rights.Authors{Adapted: adapted{"foos"}, Reviews: answering(true), Resources: resources(everything), Loaded: make(chan struct{})}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	row, _ := kinds.Find("Schedule")
	inner := reviews.OwnKind{Validator: reviews.ValidatorFunc(func(context.Context, reviews.Request) ([]string, field.ErrorList, error) {
		return nil,
			nil, nil
	})}
	_, _, err := never.Ask(inner, row).Validator.Validate(ended,
		reviews.Request{Operation: admissionv1.Create, New: row.New(), SpecChanged: true})
	if err == nil || !strings.Contains(err.Error(), "have not been read yet") {
		t.Errorf("while the adapters are not known: %v", err)
	}
}

// A policy that does not compile is refused before any right is checked, because its rights are unknown.
func TestInvalidPolicyIsRefusedBeforeRightsAreChecked(t *testing.T) {
	asked := false
	authors := &rights.Authors{Adapted: adapted{"foos"}, Resources: resources(everything), Reviews: reviewer(
		func(_ context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
			asked, review.Status.Allowed = true, true
			return review, nil
		})}
	err := askAuthors(authors, func(r *reviews.Request) { r.New.(*v1alpha1.Schedule).Spec.TimeZone = "Nowhere/Land" })
	if err == nil || !strings.Contains(err.Error(), "spec.timeZone") || asked {
		t.Errorf("asked: %t, answer %v", asked, err)
	}
}

// A refusal lists ten kinds in order and counts the rest. Its size does not depend on the user's name.
func TestRefusalsOfAuthorsAreBounded(t *testing.T) {
	var many adapted
	for c := 'a'; c <= 'z'; c++ {
		many = append(many, string(c)+"s")
	}
	err := askAuthors(&rights.Authors{Adapted: many, Reviews: answering(false), Resources: resources(everything)}, func(r *reviews.Request) {
		r.User.Username = strings.Repeat("x", 10000) + "\n\u202e"
	})
	if !apierrors.IsForbidden(err) || len(err.Error()) > 4500 || strings.ContainsAny(err.Error(), "\n\u202e") {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
	if want := "may not patch as.example.com, bs.example.com, cs.example.com, ds.example.com, es.example.com, " +
		"fs.example.com, gs.example.com, hs.example.com, is.example.com, js.example.com, and 16 more in namespace shop"; !strings.Contains(
		err.Error(), want) {
		t.Errorf("%v\nhas no %s", err, want)
	}
}

// A right is checked for the user exactly as the API server described the user.
func TestRightsAreCheckedForFullUserInfo(t *testing.T) {
	var got authorizationv1.SubjectAccessReviewSpec
	authors := &rights.Authors{Adapted: adapted{"foos"}, Resources: resources(everything), Reviews: reviewer(
		func(_ context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
			got = review.Spec
			review.Status.Allowed = true
			return review, nil
		})}
	err := askAuthors(authors, func(r *reviews.Request) {
		r.User = authenticationv1.UserInfo{Username: "alice", UID: "1", Groups: []string{"a"},
			Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}
	})
	if err != nil || got.User != "alice" || got.UID != "1" || got.Groups[0] != "a" || got.Extra["k"][0] != "v" ||
		*got.ResourceAttributes != (authorizationv1.ResourceAttributes{Verb: "patch", Group: "example.com", Resource: "foos",
			Namespace: "shop"}) {
		t.Errorf("asked %+v of %+v: %v", got.ResourceAttributes, got, err)
	}
}

// Neither an edit that leaves the spec unchanged nor a deletion needs rights. The validator behind runs in both cases.
func TestMetadataEditsNeedNoRights(t *testing.T) {
	none := &rights.Authors{Reviews: answering(false), Resources: resources(everything), Adapted: adapted{"foos"}}
	if err := askAuthors(none, func(r *reviews.Request) {
		r.Operation, r.Old, r.SpecChanged = admissionv1.Update, r.New.DeepCopyObject(), false
	}); err != nil {
		t.Errorf("an edit of metadata: %v", err)
	}
	if err := askAuthors(none, func(r *reviews.Request) { r.Operation, r.Old, r.New = admissionv1.Delete, r.New, nil }); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	if err := askAuthors(none, func(r *reviews.Request) {
		old := r.New.DeepCopyObject().(*v1alpha1.Schedule)
		old.Spec.Suspend = true
		r.Operation, r.Old = admissionv1.Update, runtime.Object(old)
	}); !apierrors.IsForbidden(err) {
		t.Errorf("one that goes on: %v", err)
	}
}
