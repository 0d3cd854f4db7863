package admission_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/engine/admission/rights"
)

type reviewer func(ctx context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error)

func (f reviewer) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview,
	_ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	return f(ctx, review)
}

// mayPatch returns the question whether a user may patch a resource of apps in a namespace.
func mayPatch(user, resource, namespace string, groups ...string) *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "patch", Group: "apps", Resource: resource, Namespace: namespace}}}
}

func TestAnswersAreRemembered(t *testing.T) {
	var asked atomic.Int64
	real := kubernetes.NewForConfigOrDie(api.Config()).AuthorizationV1().SubjectAccessReviews()
	counting := reviewer(func(ctx context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
		asked.Add(1)
		return real.Create(ctx, review, metav1.CreateOptions{})
	})
	now := clocktesting.NewFakePassiveClock(time.Now())
	reviews := rights.NewReviews(counting, now)
	later := func(d time.Duration) { now.SetTime(now.Now().Add(d)) }
	for _, step := range []struct {
		reason string
		after  time.Duration
		review *authorizationv1.SubjectAccessReview
		want   bool
		asks   int64
	}{
		{"first", 0, mayPatch("zoe", "deployments", "default", "sre"), true, 1},
		{"the same", 4 * time.Second, mayPatch("zoe", "deployments", "default", "sre"), true, 0},
		{"without the group", 0, mayPatch("zoe", "deployments", "default"), false, 1},
		{"the same denial", 900 * time.Millisecond, mayPatch("zoe", "deployments", "default"), false, 0},
		{"another user", 0, mayPatch("zac", "deployments", "default", "sre"), true, 1},
		{"another resource", 0, mayPatch("zoe", "daemonsets", "default", "sre"), false, 1},
		{"another namespace", 0, mayPatch("zoe", "deployments", "elsewhere", "sre"), true, 1},
		{"all namespaces", 0, mayPatch("zoe", "deployments", "", "sre"), true, 1},
		{"a denial, a second later", 200 * time.Millisecond, mayPatch("zoe", "deployments", "default"), false, 1},
		{"the first, after five seconds", 0, mayPatch("zoe", "deployments", "default", "sre"), true, 1},
	} {
		later(step.after)
		before := asked.Load()
		answer, err := reviews.Create(t.Context(), step.review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := asked.Load() - before; answer.Status.Allowed != step.want || got != step.asks {
			t.Errorf("%s: allowed %t after %d questions, want %t after %d", step.reason, answer.Status.Allowed, got, step.want, step.asks)
		}
	}
}

func TestFailuresAreNotRemembered(t *testing.T) {
	fail := errors.New("the API server is away")
	calls := 0
	reviews := rights.NewReviews(reviewer(func(_ context.Context,
		review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
		if calls++; calls == 1 {
			return nil, fail
		}
		review.Status.Allowed = true
		return review, nil
	}), clocktesting.NewFakePassiveClock(time.Now()))
	if _, err := reviews.Create(t.Context(), mayPatch("zoe", "deployments", ""), metav1.CreateOptions{}); !errors.Is(err, fail) {
		t.Errorf("got %v, want %v", err, fail)
	}
	if answer, err := reviews.Create(t.Context(), mayPatch("zoe", "deployments", ""), metav1.CreateOptions{}); err != nil ||
		!answer.Status.Allowed {
		t.Errorf("after a failure: %v, %v", answer, err)
	}
}

// Many parallel checks reach the API server a few at a time, and a waiting check ends with its request.
func TestQuestionsAreBounded(t *testing.T) {
	var mu sync.Mutex
	running, most := 0, 0
	open, full := make(chan struct{}), make(chan struct{}, 200)
	reviews := rights.NewReviews(reviewer(func(_ context.Context,
		review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		full <- struct{}{}
		<-open
		mu.Lock()
		running--
		mu.Unlock()
		return review, nil
	}), clocktesting.NewFakePassiveClock(time.Now()))
	var all errgroup.Group
	for i := range 100 {
		all.Go(func() error {
			_, err := reviews.Create(context.Background(), mayPatch(fmt.Sprint("user", i), "deployments", ""), metav1.CreateOptions{})
			return err
		})
	}
	for range 32 {
		<-full
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reviews.Create(ended, mayPatch("late", "deployments", ""), metav1.CreateOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a check after the end of its request: %v", err)
	}
	close(open)
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if most != 32 {
		t.Errorf("%d were asked side by side, want 32", most)
	}
}
