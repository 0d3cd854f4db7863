package ui

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

// csp is the Content-Security-Policy. It allows only the style sheet and the script of this server, and requests to
// this server.
const csp = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// entered is a page that leads to the first page. A redirect would not work: if the link with the token is in a page of
// another site, browsers send no SameSite=Strict cookie with the redirected request.
const entered = `<!doctype html><meta http-equiv="refresh" content="0; url=/"><title>Flyball</title><a href="/">Flyball</a>`

// access lets a request pass if it comes from the browser of the person who started the server.
//
// A page of another site can make a browser send requests to a loopback address. After a DNS rebinding, such a request
// has the site's name as Host. Otherwise it has a foreign Origin or Sec-Fetch-Site. It never has the cookie, because
// the cookie is SameSite=Strict. Browsers send a cookie of 127.0.0.1 to every port of this address. So the cookie's
// name contains the port, and its value is known only to this process.
type access struct {
	port   string
	cookie string

	mu sync.Mutex
	// token is the token that lets a browser in. It is empty after its first use.
	token string
}

func newGuard(port string) *access {
	return &access{port: port, cookie: secret(), token: secret()}
}

// secret returns 256 random bits.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (g *access) cookieName() string { return "flyball-" + g.port }

// take reports whether a text is the token. If it is, the token cannot be used again.
func (g *access) take(text string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == "" || subtle.ConstantTimeCompare([]byte(text), []byte(g.token)) != 1 {
		return false
	}
	g.token = ""
	return true
}

// isOwnHost reports whether the header Host names this server by a loopback address.
func (g *access) isOwnHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	return err == nil && port == g.port && (name == "127.0.0.1" || name == "::1" || strings.EqualFold(name, "localhost"))
}

// refusal returns the reason why a request is refused, regardless of its cookie. It returns "" if the request is not
// refused.
func (g *access) refusal(r *http.Request) string {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	switch {
	case !g.isOwnHost(r.Host):
		return "this server answers only to its loopback address"
	case origin != "" && origin != "http://"+r.Host, site != "" && site != "same-origin" && site != "none" && !g.isEntry(r):
		return "the request comes from another site"
	case r.Method == http.MethodPost && origin == "":
		return "a form needs an Origin"
	}
	return ""
}

// isEntry reports whether a request has a token in its address and no cookie of this server. Such a request may come from
// another site, because the link may stand in any terminal or page. A browser with the cookie has entered already.
func (g *access) isEntry(r *http.Request) bool {
	_, err := r.Cookie(g.cookieName())
	return err != nil && r.Method == http.MethodGet && r.URL.Path == "/" && r.URL.Query().Has("token")
}

// setHeaders sets the headers by which a browser protects the pages.
func setHeaders(w http.ResponseWriter) {
	for name, value := range map[string]string{"Content-Security-Policy": csp, "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "same-origin",
		"Cache-Control":   "no-store", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"X-Frame-Options": "DENY"} {
		w.Header().Set(name, value)
	}
}

// wrap returns a handler that passes a request on only if the guard lets it pass.
func (g *access) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w)
		if why := g.refusal(r); why != "" {
			http.Error(w, "Refused: "+why+".", http.StatusForbidden)
			return
		}
		if g.isEntry(r) && g.take(r.URL.Query().Get("token")) {
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

// knows reports whether a request has the cookie of this process.
func (g *access) knows(r *http.Request) bool {
	for _, c := range r.CookiesNamed(g.cookieName()) {
		if subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.cookie)) == 1 {
			return true
		}
	}
	return false
}
