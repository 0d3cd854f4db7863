package ui

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// TestRefusedTokensNeverOpenPages checks the way of people to the pages of the cluster: requests without a token,
// from other sites and with refused
// tokens never open pages.
func TestRefusedTokensNeverOpenPages(t *testing.T) {
	opened := 0
	c := NewPeopleServer(func(r *http.Request) (*authenticationv1.UserInfo, error) {
		if r.Header.Get("Authorization") != "Bearer good" {
			return nil, errors.New("the token is not known")
		}
		return &authenticationv1.UserInfo{Username: "ada"}, nil
	}, func(string, string, *authenticationv1.UserInfo) (ServerOptions, error) {
		opened++
		return ServerOptions{}, errors.New("the cluster is away")
	}, func() time.Time { return noon })
	for name, test := range map[string]struct {
		request, origin, authorization string
		form                           url.Values
		code                           int
		location, want                 string
		opens                          int
	}{
		"no token":        {request: "GET /", code: http.StatusSeeOther, location: "/login"},
		"health":          {request: "GET /healthz", code: http.StatusOK, want: "ok"},
		"form":            {request: "GET /login", code: http.StatusOK, want: "Token of the cluster"},
		"another site":    {request: "GET /", origin: "https://other.example.com", code: http.StatusForbidden, want: "another site"},
		"another scheme":  {request: "GET /", origin: "http://pages", code: http.StatusForbidden, want: "another site"},
		"another method":  {request: "PUT /", code: http.StatusForbidden, want: "GET and POST only"},
		"form of no site": {request: "POST /login", code: http.StatusForbidden, want: "needs an Origin"},
		"no text of tokens": {request: "POST /login", origin: "https://pages", form: url.Values{"token": {"a b"}}, code: http.StatusBadRequest,
			want: "this is no token"},
		"long token": {request: "POST /login", origin: "https://pages", form: url.Values{"token": {strings.Repeat("a", maxCookie+1)}},
			code: http.StatusBadRequest, want: "too long for a cookie"},
		"unknown token": {request: "POST /login", origin: "https://pages", form: url.Values{"token": {"bad"}},
			code: http.StatusInternalServerError,
			want: "the token is not known"},
		"good token": {request: "POST /login", origin: "https://pages", form: url.Values{"token": {"good"}, "namespace": {"shop"}},
			code: http.StatusSeeOther, location: "/"},
		"leave":          {request: "POST /logout", origin: "https://pages", code: http.StatusSeeOther, location: "/login"},
		"refused header": {request: "GET /", authorization: "Bearer bad", code: http.StatusInternalServerError, want: "the token is not known"},
		"pages": {request: "GET /", authorization: "Bearer good", code: http.StatusUnprocessableEntity, want: "the cluster is away",
			opens: 1},
	} {
		t.Run(name, func(t *testing.T) {
			opened = 0
			method, path, _ := strings.Cut(test.request, " ")
			r := httptest.NewRequest(method, "https://pages"+path, strings.NewReader(test.form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for header, value := range map[string]string{"Origin": test.origin, "Authorization": test.authorization} {
				if value != "" {
					r.Header.Set(header, value)
				}
			}
			w := httptest.NewRecorder()
			c.ServeHTTP(w, r)
			if w.Code != test.code || w.Header().Get("Location") != test.location || !strings.Contains(w.Body.String(), test.want) ||
				opened != test.opens {
				t.Errorf("status %d, location %q, opened %d times: %.300s", w.Code, w.Header().Get("Location"), opened, w.Body)
			}
		})
	}
}
