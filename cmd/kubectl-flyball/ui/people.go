package ui

import (
	"context"
	"crypto/tls"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/engine/admission/review"
)

// maxCookie is the largest length of a token that is kept in a cookie. Browsers drop longer cookies.
const maxCookie = 3800

type (
	// Admit returns the user of the token in the header Authorization of a request.
	Admit func(*http.Request) (*authenticationv1.UserInfo, error)
	// Open returns the options of the pages of a user in a namespace; an empty namespace means all. They use the token and
	// no other credential.
	Open func(token, namespace string, user *authenticationv1.UserInfo) (ServerOptions, error)
)

// PeopleServer serves the pages to many people. Each person has a token of the cluster, from a proxy in the header
// Authorization or from a form in a cookie. Everything is read and written with this token, so the API server decides
// about everything. The server itself has no rights that a page could use.
type PeopleServer struct {
	authenticate Admit
	worlds       *worlds
}

// NewPeopleServer returns a server for many people. The parameter now is the clock of idle people.
func NewPeopleServer(admit Admit, open Open, now func() time.Time) *PeopleServer {
	return &PeopleServer{admit, newWorlds(open, now)}
}

// The names begin with __Host-, so browsers take the cookies only from this host, over TLS, and send them nowhere else.
const (
	tokenCookie     = "__Host-flyball-token"
	namespaceCookie = "__Host-flyball-namespace"
)

// tokenForm is the form of bearer tokens (RFC 6750), which needs no escape in a cookie.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// ServeHTTP implements http.Handler.
func (c *PeopleServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w)
	if why := foreign(r); why != "" {
		http.Error(w, "Refused: "+why+".", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	switch r.Method + " " + r.URL.Path {
	case "GET /healthz":
		_, _ = w.Write([]byte("ok\n"))
	case "GET /style.css":
		asset("text/css; charset=utf-8", page.Style())(w, r)
	case "GET /page.js":
		asset("text/javascript; charset=utf-8", page.Script())(w, r)
	case "GET /login":
		c.login(w, http.StatusOK, "")
	case "POST /login":
		c.enter(w, r)
	case "POST /logout":
		forgetCookie(w, tokenCookie)
		http.Redirect(w, r, "/login", http.StatusSeeOther)
	default:
		c.pages(w, r)
	}
}

// foreign returns the reason why a request of another site is refused, or "". A link of another site may lead to a page.
func foreign(r *http.Request) string {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	link := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return "the pages know GET and POST only"
	case r.Method == http.MethodPost && origin == "":
		return "a form needs an Origin"
	case origin != "" && origin != "https://"+r.Host, site != "" && site != "same-origin" && site != "none" && !link:
		return "the request comes from another site"
	}
	return ""
}

// pages serves a page with the token of a request.
func (c *PeopleServer) pages(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Get("Authorization")
	if cookie, err := r.Cookie(tokenCookie); err == nil && header == "" && tokenForm.MatchString(cookie.Value) {
		header = "Bearer " + cookie.Value
	}
	if header == "" {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	user, token, err := c.admit(r, header)
	if err != nil {
		if review.CodeOf(err) == http.StatusUnauthorized {
			forgetCookie(w, tokenCookie) // after any other error the token may still be good
		}
		c.login(w, review.CodeOf(err), err.Error())
		return
	}
	if r.URL.Path == "/" && r.URL.Query().Has("namespace") && isOwn(r) {
		chooseNamespace(w, r.URL.Query().Get("namespace"))
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	namespace := ""
	if cookie, err := r.Cookie(namespaceCookie); err == nil && len(validation.IsDNS1123Label(cookie.Value)) == 0 {
		namespace = cookie.Value
	}
	pages, err := c.worlds.pages(r.Context(), token, namespace, user)
	if err != nil {
		fault(w, err, r.Method == http.MethodPost)
		return
	}
	pages.ServeHTTP(w, r)
}

// isOwn reports whether a person typed the address of a request, or came from these pages. A link of another site may
// lead to a page, and changes nothing.
func isOwn(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "none" || site == "same-origin"
}

// admit returns the user and the token of the header Authorization.
func (c *PeopleServer) admit(r *http.Request, header string) (*authenticationv1.UserInfo, string, error) {
	asked := r.Clone(r.Context())
	asked.Header.Set("Authorization", header)
	user, err := c.authenticate(asked)
	if err != nil {
		return nil, "", err
	}
	return user, strings.TrimSpace(header[len("Bearer "):]), nil
}

// chooseNamespace limits the pages of a person to a namespace, or to none if there is no such name.
func chooseNamespace(w http.ResponseWriter, name string) {
	if len(validation.IsDNS1123Label(name)) > 0 {
		forgetCookie(w, namespaceCookie)
	} else {
		setCookie(w, namespaceCookie, name, 0)
	}
}

// enter keeps a pasted token in a cookie, if the API server knows it.
func (c *PeopleServer) enter(w http.ResponseWriter, r *http.Request) {
	token, namespace := r.PostFormValue("token"), r.PostFormValue("namespace")
	switch {
	case !tokenForm.MatchString(token):
		c.login(w, http.StatusBadRequest, "this is no token")
		return
	case len(token) > maxCookie:
		c.login(w, http.StatusBadRequest, "the token is too long for a cookie: put a proxy in front, which sends it")
		return
	}
	if _, _, err := c.admit(r, "Bearer "+token); err != nil {
		c.login(w, review.CodeOf(err), err.Error())
		return
	}
	setCookie(w, tokenCookie, token, 0)
	chooseNamespace(w, namespace)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func setCookie(w http.ResponseWriter, name, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
}

func forgetCookie(w http.ResponseWriter, name string) { setCookie(w, name, "", -1) }

var loginPage = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Flyball</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css"></head><body><main><h1>Flyball</h1>
{{with .}}<p role="alert">Not let in: {{.}}.</p>{{end}}
<form method="post" action="/login">
<p><label>Token of the cluster <input type="password" name="token" autocomplete="off" required></label></p>
<p><label>Namespace (empty: all) <input name="namespace"></label></p>
<p><button>Open the pages</button></p></form>
<p>The pages show and do only things that this token may do. To get one: <code>kubectl create token ACCOUNT</code></p>
</main></body></html>
`))

// login writes the form for a token, with the reason why the last token was refused.
func (c *PeopleServer) login(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = loginPage.Execute(w, why)
}

// Listen serves on a listener until the context ends. It reads the certificate again for each connection, because it is
// renewed.
func (c *PeopleServer) Listen(ctx context.Context, l net.Listener, certFile, keyFile string) error {
	server := newHTTPServer(ctx, c)
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		return &pair, err
	}}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.ServeTLS(l, "", ""); ctx.Err() == nil {
		return fmt.Errorf("serve the pages: %w", err)
	}
	return nil
}
