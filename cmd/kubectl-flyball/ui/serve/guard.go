package serve

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// csp allows the style sheet and the script of this server, requests to it, and nothing else.
const csp = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// entered leads to the first page. A redirect would not do: after a link in another site's page, browsers send no SameSite=Strict
// cookie with it.
const entered = `<!doctype html><meta http-equiv="refresh" content="0; url=/"><title>Flyball</title><a href="/">Flyball</a>`

// guard lets a request pass if it comes from the browser of the person who started the server.
//
// A page of another site can send requests to a loopback address. Such a request has the site's name as Host after a DNS
// rebinding, a foreign Origin or Sec-Fetch-Site otherwise, and never the cookie, which is SameSite=Strict. Browsers send a cookie
// of 127.0.0.1 to every port of it, so its name has the port, and its value is of this process alone.
type guard struct {
	port   string
	cookie string
	// form is in each form of the pages, and no other site can read it there.
	form string

	mu sync.Mutex
	// token is empty after its first use.
	token string
}

func newGuard(port string) *guard {
	return &guard{port: port, cookie: secret(), form: secret(), token: secret()}
}

// secret returns 256 random bits.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (g *guard) cookieName() string { return "flyball-" + g.port }

// take uses the token up, if the text is the token.
func (g *guard) take(text string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == "" || subtle.ConstantTimeCompare([]byte(text), []byte(g.token)) != 1 {
		return false
	}
	g.token = ""
	return true
}

// isOwnHost reports whether a Host names this server as a loopback address.
func (g *guard) isOwnHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	return err == nil && port == g.port && (name == "127.0.0.1" || name == "::1" || strings.EqualFold(name, "localhost"))
}

// refusal returns the reason why a request is refused before its cookie is read, or "".
func (g *guard) refusal(r *http.Request) string {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	switch {
	case !g.isOwnHost(r.Host):
		return "this server answers only to its loopback address"
	case origin != "" && origin != "http://"+r.Host, site != "" && site != "same-origin" && site != "none" && !isEntry(r):
		return "the request comes from another site"
	case r.Method == http.MethodPost && origin == "":
		return "a form needs an Origin"
	}
	return ""
}

// isEntry reports whether a request brings a token. A link with the token may stand in any terminal or page.
func isEntry(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/" && r.URL.Query().Has("token")
}

// wrap returns a handler behind the guard.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{"Content-Security-Policy": csp, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "same-origin",
			"Cache-Control":   "no-store", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"X-Frame-Options": "DENY"} {
			w.Header().Set(name, value)
		}
		if why := g.refusal(r); why != "" {
			http.Error(w, "Refused: "+why+".", http.StatusForbidden)
			return
		}
		if isEntry(r) && g.take(r.URL.Query().Get("token")) {
			http.SetCookie(w, &http.Cookie{Name: g.cookieName(), Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, entered)
			return
		}
		if !g.knows(r) {
			http.Error(w,
				"This page opens with the address that kubectl flyball ui has printed. An address works once: start the command again for another.",
				http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnForm reports whether the token of a form is that of this process.
func (g *guard) isOwnForm(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.form)) == 1
}

// knows reports whether a request has the cookie of this process.
func (g *guard) knows(r *http.Request) bool {
	for _, c := range r.CookiesNamed(g.cookieName()) {
		if subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.cookie)) == 1 {
			return true
		}
	}
	return false
}
