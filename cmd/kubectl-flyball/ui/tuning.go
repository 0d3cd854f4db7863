package ui

import (
	"context"
	"io"
	"net/http"
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
)

// tuning shows the recommendations of Tortoises and, if there is a history of usage, the recommendation for one target.
func (s *Server) tuning(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, func(ctx context.Context, q request, world *source.World, _ string, out io.Writer) error {
		form := r.URL.Query()
		t := page.Tuning{World: world, HasHistory: s.Recommend != nil, Object: form.Get("object")}
		if t.HasHistory && t.Object != "" {
			if err := q.recommended(ctx, &t); err != nil {
				t.Fault = err.Error()
			}
		}
		return t.View(out, q.frame(r, "/tuning"))
	})
}

// recommended adds the recommendation for the target of the form.
func (q request) recommended(ctx context.Context, t *page.Tuning) error {
	kind, rest, _ := strings.Cut(t.Object, "/")
	namespace, name, namespaced := strings.Cut(rest, "/")
	if !namespaced {
		namespace, name = "", rest
	}
	target, err := t.World.FindTarget(kind+"/"+name, namespace)
	if err != nil {
		return err
	}
	return q.bounded(ctx, func(ctx context.Context) (err error) {
		t.Result, err = q.Recommend(ctx, t.World, target, q.zone)
		return err
	})
}
