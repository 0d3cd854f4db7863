package ui

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/cani"
	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/timeline"
)

func (s *Server) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", s.week)
	for _, path := range []string{"/policies", "/freezes", "/savings", "/health"} {
		mux.HandleFunc("GET "+path, s.view(path))
	}
	mux.HandleFunc("GET /tuning", s.tuning)
	mux.HandleFunc("GET /target/{kind}/{namespace}/{name}", s.target)
	mux.HandleFunc("GET /policy/{kind}/{namespace}/{name}", s.policy)
	if s.Cluster != nil {
		mux.HandleFunc("POST /act", s.act)
	}
	mux.HandleFunc("GET /preview", s.preview)
	mux.HandleFunc("POST /preview", s.preview)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /style.css", asset("text/css; charset=utf-8", page.Style()))
	mux.HandleFunc("GET /page.js", asset("text/javascript; charset=utf-8", page.Script()))
}

// onPage is an error that the rendered page shows itself.
type onPage struct{ error }

func (e onPage) Unwrap() error { return e.error }

func asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}
}

// request has the choices of an HTTP request.
type request struct {
	*Server
	query page.Query
	zone  *time.Location
}

// choices are the URL parameters that links keep.
var choices = []string{"zone", "from", "span", "q", "group", "ahead"}

// choose reads the URL parameters listed in choices, such as the time zone and the search text.
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
		q.zone, err = printer.ParseZone(name)
	}
	return q, err
}

// render renders a page of a world.
type render func(ctx context.Context, q request, world *source.World, version string, out io.Writer) error

// answer renders a page into memory, and then writes it. For an error it writes a page with the error.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, render render) {
	var made bytes.Buffer
	err := s.render(r, &made, render)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if onPage := (onPage{}); errors.As(err, &onPage) {
		w.WriteHeader(statusOf(onPage.error))
		err = nil
	}
	if err != nil {
		fault(w, err, r.Method == http.MethodPost)
		return
	}
	_, _ = w.Write(made.Bytes())
}

// fault writes a page with an error. If still is true, the page does not follow changes.
func fault(w http.ResponseWriter, err error, still bool) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(statusOf(err))
	_ = page.Fault(w, err.Error(), still)
}

// errForeignForm is the error for a form that does not come from this process.
var errForeignForm = errors.New("the form is not of this page, or of an earlier run of kubectl flyball ui: open the page again")

func (s *Server) render(r *http.Request, out io.Writer, render render) error {
	q, err := s.choose(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("read the form: %w", err)
	}
	if r.Method == http.MethodPost && subtle.ConstantTimeCompare([]byte(r.PostForm.Get("token")), []byte(s.form)) != 1 {
		return errForeignForm
	}
	world, version, err := s.current(r.Context())
	if err != nil {
		return err
	}
	return render(r.Context(), q, world, version, out)
}

// statusOf returns the HTTP status for an error.
func statusOf(err error) int {
	if missing := source.MissingRights(nil); errors.As(err, &missing) || errors.Is(err, errForeignForm) {
		return http.StatusForbidden
	}
	if busy := (*review.Fault)(nil); errors.As(err, &busy) {
		return busy.Code
	}
	return http.StatusUnprocessableEntity
}

// frame returns the frame of a page. The parameter nav is the selected entry of the navigation.
func (q request) frame(r *http.Request, nav string) page.Frame {
	return page.Frame{Nav: nav, Page: r.URL.EscapedPath(), Zone: q.zone, Query: q.query, Token: q.form, Place: q.place()}
}

// options returns the options of the report for the choices.
func (q request) options() (page.Input, error) {
	now := q.Now().Truncate(time.Second)
	o := page.Input{Now: now, From: timeline.Midnight(now, 0, q.zone), Zone: q.zone, Namespace: q.Namespace, Live: q.Live, Rates: q.Rates,
		Progress: func(at time.Time) { q.simulated.Store(at.Unix()) }}
	if text := q.query["from"]; text != "" {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return o, fmt.Errorf("read the day %q: give one such as 2037-05-11", text)
		}
		o.From = timeline.Midnight(time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, q.zone), 0, q.zone)
	}
	switch q.query["span"] {
	case "day":
		o.To = timeline.Midnight(o.From, 1, q.zone)
	case "month":
		y, m, d := o.From.In(q.zone).Date()
		o.To = timeline.Midnight(time.Date(y, m+1, d, 12, 0, 0, 0, q.zone), 0, q.zone)
	default:
		o.To = timeline.Midnight(o.From, 7, q.zone)
	}
	o.FreezesTo = o.From.AddDate(0, 0, 90)
	return o, nil
}

// report returns the report for the choices.
func (q request) report(ctx context.Context, w *source.World) (*page.Report, error) {
	o, err := q.options()
	if err != nil {
		return nil, err
	}
	return page.Of(ctx, w, o)
}

// view returns the handler of a view of the report.
func (s *Server) view(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, func(ctx context.Context, q request, world *source.World, version string, out io.Writer) error {
			found, err := s.report(ctx, world, version, q)
			if err != nil {
				return err
			}
			if days := page.Aheads[q.query["ahead"]]; path == "/freezes" && days > 0 {
				if found, err = found.WithFreezes(world, found.At.AddDate(0, 0, days)); err != nil {
					return err
				}
			}
			var verdict *page.Verdict
			if path == "/freezes" && r.URL.Query().Has("object") {
				verdict = q.verdict(ctx, world, r.URL.Query())
			}
			return found.View(out, q.frame(r, path), page.Zones(world), verdict)
		})
	}
}

// questions are the URL parameters of the form that asks whether a change is allowed.
var questions = []string{"may", "object", "in", "at", "as", "groups"}

// verdict answers the question whether a change is allowed. It uses the code of can-i.
func (q request) verdict(ctx context.Context, world *source.World, form url.Values) *page.Verdict {
	for _, name := range questions {
		if v := form.Get(name); v != "" {
			q.query[name] = v
		}
	}
	v, err := q.judge(ctx, world, form)
	if err != nil {
		return &page.Verdict{Fault: err.Error()}
	}
	return v
}

func (q request) judge(ctx context.Context, world *source.World, form url.Values) (*page.Verdict, error) {
	namespace := cmp.Or(form.Get("in"), q.Namespace)
	at, err := printer.ParseInstant(cmp.Or(form.Get("at"), "now"), q.Now().Truncate(time.Second), q.zone)
	if err != nil {
		return nil, err
	}
	user, err := q.User(ctx)
	if err != nil {
		return nil, err
	}
	words := []string{"can-i", form.Get("may"), form.Get("object")}
	if form.Get("at") != "" {
		words = append(words, "--at", at.UTC().Format(time.RFC3339))
	}
	if name := form.Get("as"); name != "" {
		words = append(words, "--as", name)
		var groups []string
		if text := form.Get("groups"); text != "" {
			for _, group := range strings.Split(text, ",") {
				groups = append(groups, strings.TrimSpace(group))
				words = append(words, "--as-group", strings.TrimSpace(group))
			}
		}
		user = evaluate.Impersonated(name, groups...)
	}
	changes, err := cani.Actions(strings.Split(form.Get("may"), ","))
	if err != nil {
		return nil, err
	}
	target, err := world.FindTarget(form.Get("object"), namespace)
	if err != nil {
		return nil, err
	}
	memory, err := world.Memory()
	if err != nil {
		return nil, err
	}
	answers, err := cani.Judge(ctx, cani.NewEvaluator(memory, q.FlyballNamespace), world, []source.Target{target}, changes, user, at)
	if err != nil {
		return nil, err
	}
	all := cani.All(answers, q.zone)
	v := &page.Verdict{Allowed: all.Allowed, Command: page.Command(target.Namespace, words...), Unseen: world.Unseen.Note()}
	var text strings.Builder
	err = printer.Print(&text, all, printer.Table, false)
	v.Text = text.String()
	return v, err
}

// namespaceOf returns the namespace in an address. In the address of a cluster-scoped object it is -, and namespaceOf
// returns "".
func namespaceOf(r *http.Request) string { return strings.TrimPrefix(r.PathValue("namespace"), "-") }

// target explains one target.
func (s *Server) target(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, func(ctx context.Context, q request, world *source.World, _ string, out io.Writer) error {
		target, err := world.FindTarget(r.PathValue("kind")+"/"+r.PathValue("name"), namespaceOf(r))
		if err != nil {
			return err
		}
		user, err := s.User(ctx)
		if err != nil {
			return err
		}
		now := s.Now().Truncate(time.Second)
		story, err := explain.Of(ctx, world, target, explain.Input{At: now, Now: now, Zone: q.zone, User: user,
			FlyballNamespace: s.FlyballNamespace})
		if err != nil {
			return err
		}
		offers, err := s.offers(world, func(f page.Offering) (*page.Offers, error) { return f.OfTarget(ctx, target, story) })
		if err != nil {
			return err
		}
		near, err := explain.Around(world, target.Ref, now)
		if err != nil {
			return err
		}
		from := timeline.Midnight(now, 0, q.zone)
		days, err := page.WeekOf(ctx, near, page.WeekOptions{From: from, To: timeline.Midnight(now, 7, q.zone), Now: now, Zone: q.zone,
			Namespace: target.Namespace})
		if err != nil {
			return err
		}
		return page.Target(out, target.Ref, story, days, offers, q.frame(r, "/"))
	})
}

// policy explains one policy.
func (s *Server) policy(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, func(ctx context.Context, q request, world *source.World, _ string, out io.Writer) error {
		id, err := world.FindPolicy(r.PathValue("kind")+"/"+r.PathValue("name"), namespaceOf(r))
		if err != nil {
			return err
		}
		now := s.Now().Truncate(time.Second)
		story, err := explain.OfPolicy(world, id, explain.Input{At: now, Now: now, Zone: q.zone, FlyballNamespace: s.FlyballNamespace})
		if err != nil {
			return err
		}
		offers, err := s.offers(world, func(f page.Offering) (*page.Offers, error) { return f.OfPolicy(ctx, id) })
		if err != nil {
			return err
		}
		return page.Policy(out, story, offers, q.frame(r, "/policies"))
	})
}

// offers returns the actions of a page. It returns nil if the server has no actions.
func (s *Server) offers(w *source.World, of func(page.Offering) (*page.Offers, error)) (*page.Offers, error) {
	if s.Cluster == nil {
		return nil, nil
	}
	cluster, err := s.Cluster()
	if err != nil {
		return nil, err
	}
	return of(page.Offering{Asker: cluster, World: w, Now: s.Now().Truncate(time.Second), Namespace: s.Namespace})
}

// act makes a dry run of an action and shows its effect. Once the person has confirmed the action, act takes it.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, func(ctx context.Context, q request, world *source.World, _ string, out io.Writer) error {
		user, err := s.User(ctx)
		if err != nil {
			return err
		}
		cluster, err := s.Cluster()
		if err != nil {
			return err
		}
		in := page.ActionInput{World: world, User: user, Now: s.Now().Truncate(time.Second), Zone: q.zone, FlyballNamespace: s.FlyballNamespace,
			DryRun: r.PostForm.Get("confirmed") == ""}
		var action *page.Action
		if err := s.bounded(ctx, func(ctx context.Context) (err error) {
			action, err = page.ActionOf(ctx, in, r.PostForm)
			return err
		}); err != nil {
			return err
		}
		if err := action.Write(ctx, cluster.Client, s.Manager); err != nil {
			return err
		}
		if !in.DryRun {
			s.forget()
		}
		return page.Act(out, action, in.DryRun, r.PostForm.Get("page"), q.frame(r, ""))
	})
}

// preview shows the difference that a policy would make. It applies nothing.
func (s *Server) preview(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, func(ctx context.Context, q request, world *source.World, _ string, out io.Writer) error {
		text := strings.ReplaceAll(r.PostForm.Get("manifest"), "\r\n", "\n") // the line breaks of forms
		var difference *plan.Plan
		var problem error
		if strings.TrimSpace(text) != "" {
			problem = s.bounded(ctx, func(ctx context.Context) (err error) {
				difference, err = q.difference(ctx, world, text)
				return err
			})
		}
		if err := page.Preview(out, text, difference, problem, q.frame(r, "/preview")); err != nil || problem == nil {
			return err
		}
		return onPage{problem}
	})
}

// difference returns the difference that manifests would make in the coming seven days.
func (q request) difference(ctx context.Context, world *source.World, text string) (*plan.Plan, error) {
	edit, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(text), Namespace: q.Namespace,
		FlyballNamespace: q.FlyballNamespace, Now: q.Now()}.Read()
	if err != nil {
		return nil, err
	}
	if !edit.Edits() {
		return nil, errors.New("there is no policy, calendar or adapter in the text")
	}
	edited, err := world.Overlay(edit)
	if err != nil {
		return nil, err
	}
	now := q.Now().Truncate(time.Second)
	o := plan.Input{From: now, To: now.AddDate(0, 0, 7), Now: now, Zone: q.zone}
	before, err := plan.Make(ctx, world, o)
	if err != nil {
		return nil, err
	}
	after, err := plan.Make(ctx, edited, o)
	if err != nil {
		return nil, err
	}
	return plan.Compare(before, after), nil
}
