package freezes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// storing is a client with at most one exception. It sends the creator in each write of the exception's status to
// wrote.
type storing struct {
	client.Client
	stored *v1alpha1.FreezeException
	wrote  chan string
}

func (s *storing) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.stored == nil || key.Name != s.stored.Name {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	s.stored.DeepCopyInto(into.(*v1alpha1.FreezeException))
	return nil
}

func (s *storing) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }

func (s *storing) Status() client.SubResourceWriter { return statusOf{s: s} }

type statusOf struct {
	client.SubResourceWriter
	s *storing
}

func (o statusOf) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	o.s.wrote <- obj.(*v1alpha1.FreezeException).Status.CreatedBy
	return nil
}

// The creator of an exception is written at once when the exception is seen, so the creator is not lost if the
// replica is killed later.
func TestTheCreatorOfAnExceptionIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := noting(t)
		made := &v1alpha1.FreezeException{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "hotfix", UID: types.UID("u-1")}}
		s := &storing{wrote: make(chan string, 1)}
		n.client = s
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- n.Start(ctx) }()
		kind, _ := kinds.Find("FreezeException")
		n.Guarded(rights.Guarded{Verb: rights.VerbExcept, What: "create", UID: "u-1", User: "alice", At: n.now(),
			Policy: workload.Policy{Kind: "FreezeException", Namespace: "shop", Name: "hotfix"}})
		synctest.Wait() // the Recorder has looked for the exception and has not found it
		time.Sleep(writeInterval / 5)
		s.stored = made
		begin := time.Now()
		n.world.Update(func(tx *world.Tx) { tx.SetPolicy(kind, made) })
		if user, took := <-s.wrote, time.Since(begin); user != "alice" || took > 0 {
			t.Errorf("%s is written after %v", user, took)
		}
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// A write without an answer does not delay other writes, neither in the same flush nor in the next flush. It is
// retried.
func TestAHangingWriteDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		objects := []client.Object{}
		for i := range 3 {
			objects = append(objects, &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("f%02d", i)}})
		}
		hangs := make(chan struct{})
		tries := 0
		c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(objects...).WithObjects(objects...).
			WithInterceptorFuncs(interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return nil },
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch,
					opts ...client.SubResourcePatchOption) error {
					if obj.GetName() == "f00" {
						if tries++; tries == 1 {
							<-hangs
							return context.DeadlineExceeded
						}
					}
					return c.SubResource(sub).Patch(ctx, obj, p, opts...)
				},
			}).Build()
		n, _ := noting(t)
		n.client = c
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- n.Start(ctx) }()
		denied := func() (all []int64) {
			for i := range 3 {
				var f v1alpha1.ClusterChangeFreeze
				if err := c.Get(t.Context(), client.ObjectKey{Name: fmt.Sprintf("f%02d", i)}, &f); err != nil {
					t.Fatal(err)
				}
				all = append(all, ptr.Deref(f.Status.Denied, v1alpha1.DeniedCounts{}).RollOut)
			}
			return all
		}
		judged := func(first, last int) {
			j := asked("web", "alice", denials(last))
			j.Verdict.Denials = j.Verdict.Denials[first:]
			n.Judged(j)
			time.Sleep(2 * writeInterval)
			synctest.Wait()
		}
		judged(0, 3)
		judged(1, 3)
		if got := denied(); !slices.Equal(got, []int64{0, 2, 2}) {
			t.Errorf("while a write hangs: %v denials are written", got)
		}
		close(hangs)
		time.Sleep(2 * writeInterval)
		synctest.Wait()
		if got := denied(); !slices.Equal(got, []int64{1, 2, 2}) {
			t.Errorf("afterwards: %v denials are written", got)
		}
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// The creator is never written into a new exception of the same name.
func TestTheCreatorIsNotWrittenIntoARecreatedException(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	exception := func(uid types.UID, by string) *v1alpha1.FreezeException {
		return &v1alpha1.FreezeException{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "hotfix", UID: uid},
			Status: v1alpha1.ExceptionStatus{CreatedBy: by}}
	}
	replaced := false
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.FreezeException{}).WithObjects(exception("u-1", "")).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object,
			p client.Patch, opts ...client.SubResourcePatchOption) error {
			if !replaced {
				replaced = true
				other := exception("u-2", "eve")
				if err := errors.Join(c.Delete(ctx, exception("u-1", "")), c.Create(ctx, other.DeepCopy()), setCreator(ctx, c, "eve")); err != nil {
					t.Fatal(err)
				}
			}
			return c.SubResource(sub).Patch(ctx, obj, p, opts...)
		}}).Build()
	n, _ := noting(t)
	n.client = c
	n.creators["u-1"] = creator{exception: workload.Policy{Kind: "FreezeException", Namespace: "shop", Name: "hotfix"}, user: "alice",
		at: n.now()}
	for range 2 {
		n.recordCreators(t.Context())
		n.crew.Wait()
	}
	var is v1alpha1.FreezeException
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "hotfix"}, &is); err != nil {
		t.Fatal(err)
	}
	if !replaced || is.UID != "u-2" || is.Status.CreatedBy != "eve" {
		t.Errorf("replaced %t: the exception of eve, %s, says that %s made it", replaced, is.UID, is.Status.CreatedBy)
	}
}

func setCreator(ctx context.Context, c client.Client, by string) error {
	var e v1alpha1.FreezeException
	if err := c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "hotfix"}, &e); err != nil {
		return err
	}
	e.Status.CreatedBy = by
	return c.Status().Update(ctx, &e)
}
