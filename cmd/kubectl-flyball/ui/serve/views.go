package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/week"
)

func (s *Server) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", s.view("/"))
	for _, path := range []string{"/policies", "/freezes", "/savings", "/health"} {
		mux.HandleFunc("GET "+path, s.view(path))
	}
	mux.HandleFunc("GET /target/{kind}/{namespace}/{name}", s.target)
	mux.HandleFunc("GET /preview", s.preview)
	mux.HandleFunc("POST /preview", s.preview)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /style.css", asset("text/css; charset=utf-8", page.Style()))
	mux.HandleFunc("GET /page.js", asset("text/javascript; charset=utf-8", page.Script()))
}

func asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}
}

// request is a request with its choices.
type request struct {
	*Server
	query page.Query
	zone  *time.Location
}

// choices are the parameters that links keep.
var choices = []string{"zone", "from", "span", "q", "group"}

// read returns the choices of a request.
func (s *Server) choose(r *http.Request) (request, error) {
	q := request{s, page.Query{}, s.Zone}
	values := r.URL.Query()
	for _, name := range choices {
		if v := values.Get(name); v != "" {
			q.query[name] = v
		}
	}
	var err error
	if name := q.query["zone"]; name != "" {
		q.zone, err = instant.Zone(name)
	}
	return q, err
}

// answer renders a page into memory, and then writes it. An error becomes a page.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, render func(context.Context, request, *source.World, io.Writer) error) {
	var made bytes.Buffer
	q, err := s.choose(r)
	if fault := r.ParseForm(); err == nil && fault != nil { // before the world is taken, because a slow client sends its form slowly
		err = fmt.Errorf("read the form: %w", fault)
	}
	if err == nil {
		err = s.with(r.Context(), func(world *source.World, _ string) error { return render(r.Context(), q, world, &made) })
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err != nil {
		made.Reset()
		w.WriteHeader(statusOf(err))
		err = page.Fault(&made, err.Error())
	}
	if err == nil {
		_, _ = w.Write(made.Bytes())
	}
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	if missing := source.MissingRights(nil); errors.As(err, &missing) {
		return http.StatusForbidden
	}
	return http.StatusUnprocessableEntity
}

// report returns the report of the choices.
func (q request) report(ctx context.Context, w *source.World) (*page.Report, error) {
	now := q.Now().Truncate(time.Second)
	o := page.Options{Now: now, From: week.Midnight(now, q.zone), Zone: q.zone, Namespace: q.Namespace, Live: q.Live, Rates: q.Rates}
	if text := q.query["from"]; text != "" {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, fmt.Errorf("read the day %q: give one such as 2037-05-11", text)
		}
		o.From = week.Midnight(time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, q.zone), q.zone)
	}
	local := o.From.In(q.zone)
	switch q.query["span"] {
	case "day":
		o.To = local.AddDate(0, 0, 1)
	case "month":
		o.To = local.AddDate(0, 1, 0)
	default:
		o.To = local.AddDate(0, 0, 7)
	}
	o.FreezesTo = o.From.AddDate(0, 0, 90)
	return page.Of(ctx, w, o)
}

// view returns the handler of a view of the report.
func (s *Server) view(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, func(ctx context.Context, q request, world *source.World, out io.Writer) error {
			found, err := s.report(ctx, world, q)
			if err != nil {
				return err
			}
			return found.View(out, path, q.query, page.Zones(world))
		})
	}
}

// target explains one target. Its namespace is - for a cluster-scoped one.
func (s *Server) target(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, func(ctx context.Context, q request, world *source.World, out io.Writer) error {
		namespace := strings.TrimPrefix(r.PathValue("namespace"), "-")
		target, err := world.FindTarget(r.PathValue("kind")+"/"+r.PathValue("name"), namespace)
		if err != nil {
			return err
		}
		user, err := s.User(ctx)
		if err != nil {
			return err
		}
		now := s.Now().Truncate(time.Second)
		story, err := explain.Of(ctx, world, target, explain.Options{At: now, Now: now, Zone: q.zone, User: user,
			FlyballNamespace: s.FlyballNamespace})
		if err != nil {
			return err
		}
		return page.Target(out, story, q.zone, q.query)
	})
}

// preview shows the difference that a policy would make. It applies nothing.
func (s *Server) preview(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, func(ctx context.Context, q request, world *source.World, out io.Writer) error {
		text := r.PostForm.Get("manifest")
		if strings.TrimSpace(text) == "" {
			return page.Preview(out, text, nil, q.zone, q.query)
		}
		edit, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(text), Namespace: s.Namespace,
			FlyballNamespace: s.FlyballNamespace}.Read()
		if err != nil {
			return err
		}
		if !edit.Edits() {
			return errors.New("there is no policy, calendar or adapter in the text")
		}
		edited, err := world.Overlay(edit)
		if err != nil {
			return err
		}
		now := s.Now().Truncate(time.Second)
		o := plan.Options{From: now, To: now.AddDate(0, 0, 7), Now: now, Zone: q.zone}
		before, err := plan.Make(ctx, world, o)
		if err != nil {
			return err
		}
		after, err := plan.Make(ctx, edited, o)
		if err != nil {
			return err
		}
		return page.Preview(out, text, plan.Compare(before, after), q.zone, q.query)
	})
}
