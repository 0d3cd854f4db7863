package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"sync"
	"time"
	"unicode"

	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/status"
)

//go:embed templates/*.html
var sources embed.FS

//go:embed style.css
var style string

// Style returns the style sheet of the pages.
func Style() string { return style }

// view is the input of a template.
type view struct {
	Title string
	Zone  *time.Location
	// Inline is true for a page that is a file on its own. Such a file contains the style sheet and has no links to a
	// server.
	Inline bool
	// Nav is the address of the view. Query has the choices that the links of the view keep. Both are empty in a file on
	// its own.
	Nav   string
	Query Query
	// Page is the address of the page, to which forms return. Token is a hidden field of each form that is sent by POST.
	Page  string
	Token string
	// Zones are the time zones of policies.
	Zones []string
	// Place is named at the top of the page. It is nil in a file on its own and on a page with an error.
	Place *Place
	Body  any
}

// Style returns the style sheet for a file on its own.
func (v *view) Style() template.CSS { return template.CSS(style) } //nolint:gosec // embedded here, and not from a cluster

// CSP returns the Content-Security-Policy of a file on its own. It allows only this style sheet.
func (v *view) CSP() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// When formats an instant in the time zone of the page.
func (v *view) When(t time.Time) string { return printer.InstantText(t, v.Zone) }

// Link returns an address that keeps the choices. In a file on its own it returns "".
func (v *view) Link(path string, pairs ...string) string {
	if v.Inline {
		return ""
	}
	return v.Query.link(path, pairs...)
}

var functions = template.FuncMap{
	"listed": listed, "states": BarStates, "count": count, "grouped": grouped, "policyID": policyID, "brief": plan.Brief,
	"counts": status.Counts, "slug": slug,
	"amount": amount,
}

// templates returns the parsed templates. They are parsed at the first page, because most verbs show none, and parsing takes memory.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(sources, "templates/*.html"))
})

func execute(out io.Writer, name string, v *view) error {
	var made bytes.Buffer
	if err := templates().ExecuteTemplate(&made, name, v); err != nil {
		return fmt.Errorf("render the page %s: %w", name, err)
	}
	_, err := out.Write(bytes.Map(visible, made.Bytes()))
	return err
}

// visible replaces characters that hide text or change its direction. html/template does not escape them, and the pages
// themselves have none.
func visible(r rune) rune {
	if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
		return unicode.ReplacementChar
	}
	return r
}

// amount formats a number for people: with one decimal below ten, and else whole, with commas between thousands.
func amount(f float64) string {
	if math.Abs(f) < 9.95 {
		return fmt.Sprintf("%.1f", f)
	}
	return grouped(int(math.RoundToEven(f)))
}
