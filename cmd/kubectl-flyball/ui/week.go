package ui

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
)

// errOver says that the chosen time is over. The page has the whole sentence.
var errOver = errors.New("the time is over")

// week shows the week. Simulating the week of thousands of targets takes seconds, so a browser gets the present states
// first, and the rest of the same page when it is made.
func (s *Server) week(w http.ResponseWriter, r *http.Request) {
	q, err := s.choose(r)
	if err == nil {
		var o page.Input
		if o, err = q.options(); err == nil && !o.To.After(o.Now) {
			err = errOver
		}
	}
	if err != nil {
		s.view("/")(w, r) // a wrong choice is an error with its own status
		return
	}
	world, version, err := s.current(r.Context())
	if err != nil || len(world.Objects) <= page.FoldAbove || s.hasReport(version, q.key()) {
		s.view("/")(w, r)
		return
	}
	var part bytes.Buffer
	if err := q.early(r, world, &part); err != nil {
		s.view("/")(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(part.Bytes())
	_ = http.NewResponseController(w).Flush() // without it the page comes as a whole
	part.Reset()
	found, err := s.follow(w, r, q, world, version)
	if err == nil {
		err = found.Rest(&part, q.frame(r, "/"), page.Zones(world))
	}
	if err != nil {
		part.Reset()
		_ = page.FaultRest(&part, err.Error())
	}
	_, _ = w.Write(part.Bytes())
}

// sayEvery is the pause between two lines about the progress of a simulation.
const sayEvery = 300 * time.Millisecond

// follow returns the report for the choices of a request. While the report is being made, also by another request, follow
// writes how far the simulation is.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, q request, world *source.World, version string) (*page.Report, error) {
	var found *page.Report
	done := make(chan error, 1)
	go func() {
		var err error
		found, err = s.report(r.Context(), world, version, q)
		done <- err
	}()
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	for last := int64(0); ; {
		select {
		case err := <-done:
			return found, err
		case <-tick.C:
		}
		if at := s.simulated.Load(); at != last && at != 0 {
			last = at
			_ = page.Progress(w, time.Unix(at, 0), q.frame(r, "/"))
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// early writes the first part of the page. It simulates no more than the present instant.
func (q request) early(r *http.Request, world *source.World, out io.Writer) error {
	now := q.Now().Truncate(time.Second)
	k, err := page.WeekOf(r.Context(), world, page.WeekOptions{From: now, To: now.Add(time.Second), Now: now, Zone: q.zone,
		Namespace: q.Namespace})
	if err != nil {
		return err
	}
	return page.Early(out, k, q.frame(r, "/"))
}
