package reconcile

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// refusing is a component whose templates cannot be kept. It counts the checks of rights.
type refusing struct {
	noTemplates
	err  error
	asks int
}

func (r *refusing) Keep(context.Context, workload.Ref) (changed, missing bool, err error) {
	return false, true, r.err
}
func (r *refusing) Forbidden(*decide.Kind) { r.asks++ }

// A forbidden write for a template starts a check of rights, like any other forbidden write.
func TestAForbiddenTemplateWriteChecksRights(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web-0", errors.New("no create"))
	for _, test := range []struct {
		err  error
		asks int
	}{{fmt.Errorf("apply the template: %w", forbidden), 1}, {errors.New("no answer"), 0}} {
		s := newScene(t, noTemplates{})
		r := &refusing{err: test.err}
		s.templates, s.keeper = r, r
		if err := s.process(t.Context(), webs(0)); !errors.Is(err, test.err) || r.asks != test.asks {
			t.Errorf("%v: rights were looked at %d times, and the answer is %v", test.err, r.asks, err)
		}
	}
}
