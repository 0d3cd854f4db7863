package scene

import (
	"net/http"
)

type RoundTripper func(*http.Request) (*http.Response, error)

func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
