package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/week"
)

// week shows the week. Simulating the week of thousands of targets takes seconds, so a browser gets the present states
// first, and the rest of the same page when it is made.
func (s *Server) week(w http.ResponseWriter, r *http.Request) {
	q, err := s.choose(r)
	if err != nil || q.query["from"] != "" {
		s.view("/")(w, r) // a wrong choice is an error with its own status
		return
	}
	world, version, err := s.current(r.Context())
	if err != nil || len(world.Objects) <= page.FoldAbove || s.hasReport(version, q.key()) {
		s.view("/")(w, r)
		return
	}
	var part bytes.Buffer
	if err := q.early(r.Context(), world, &part); err != nil {
		s.view("/")(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(part.Bytes())
	_ = http.NewResponseController(w).Flush() // without it the page comes as a whole
	part.Reset()
	found, err := s.report(r.Context(), world, version, q)
	if err == nil {
		err = found.Rest(&part, q.query, page.Zones(world))
	}
	if err != nil {
		part.Reset()
		_ = page.FaultRest(&part, err.Error())
	}
	_, _ = w.Write(part.Bytes())
}

// early writes the first part of the page. It simulates no more than the present instant.
func (q request) early(ctx context.Context, world *source.World, out io.Writer) error {
	now := q.Now().Truncate(time.Second)
	k, err := week.Of(ctx, world, week.Options{From: now, To: now.Add(time.Second), Now: now, Zone: q.zone, Namespace: q.Namespace})
	if err != nil {
		return err
	}
	return page.Early(out, k, q.Namespace, q.query)
}
