package review

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	admissionv1 "k8s.io/api/admission/v1"
)

const judgePath = "/judge"

// guarded is a server with limits. Its handler counts the admitted requests and answers with the given function.
type guarded struct {
	*httptest.Server
	limits *Limits
	passed atomic.Int32
}

func guard(t *testing.T, respond http.HandlerFunc) *guarded {
	t.Helper()
	s := &guarded{}
	s.limits = New(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.passed.Add(1)
		respond(w, req)
	}), testr.New(t))
	s.Server = httptest.NewServer(s.limits)
	t.Cleanup(s.Close)
	return s
}

func (s *guarded) post(t *testing.T, path string, body io.Reader) (reply, string) {
	t.Helper()
	resp, err := s.Client().Post(s.URL+path, "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Status, resp.Header}, string(text)
}

// reply is the head of an answer whose body was read.
type reply struct {
	StatusCode int
	Status     string
	Header     http.Header
}

// denied returns the reason of a denial. It returns an error for any other answer.
func denied(text string) (string, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(text), &review); err != nil {
		return "", err
	}
	if r := review.Response; r == nil || r.UID != "u-1" || r.Allowed {
		return "", fmt.Errorf("not the denial of u-1: %s", text)
	}
	return review.Response.Result.Message, nil
}

// begun is the usual beginning of a review.
const begun = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","object":`

// A body that is too large, too deep or truncated is refused before the handler: by an error if the webhook fails
// closed, and by a denial if it fails open.
func TestBodiesBeyondLimitsAreRefused(t *testing.T) {
	s := guard(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		if req.URL.Path != judgePath {
			t.Errorf("the handler sees the path %s", req.URL.Path)
		}
	})
	nested := func(n int, opening, closing string) string {
		return begun + strings.Repeat(opening, n) + "1" + strings.Repeat(closing, n) + "}}"
	}
	for _, test := range []struct {
		reason, body string
		code         int
	}{
		{"as deep as may be", nested(maxDepth-2, "[", "]"), http.StatusOK},
		{"too deep", nested(maxDepth-1, "[", "]"), http.StatusBadRequest},
		{"two million lists", nested(1_000_000, "[", "]"), http.StatusBadRequest},
		{"objects, and nothing closed", begun + strings.Repeat(`{"a":`, 500_000), http.StatusBadRequest},
		{"brackets in texts", begun + `"` + strings.Repeat(`[\"`, 100_000) + `"}}`, http.StatusOK},
		{"as large as may be", begun + `"` + strings.Repeat("a", maxReview-len(begun)-3) + `"}`, http.StatusOK},
		{"too large", begun + `"` + strings.Repeat("a", maxReview) + `"}}`, http.StatusRequestEntityTooLarge},
	} {
		for _, chunked := range []bool{false, true} {
			before := s.passed.Load()
			var body io.Reader = strings.NewReader(test.body)
			if chunked {
				body = struct{ io.Reader }{body} // its length is unknown
			}
			if resp, text := s.post(t, judgePath, body); resp.StatusCode != test.code {
				t.Errorf("%s: %s %s", test.reason, resp.Status, text)
			}
			if passed := s.passed.Load() - before; passed != 0 != (test.code == http.StatusOK) {
				t.Errorf("%s: the handler saw %d", test.reason, passed)
			}
		}
		if test.code == http.StatusOK {
			continue
		}
		resp, text := s.post(t, judgePath+OpenSuffix, strings.NewReader(test.body))
		if why, err := denied(text); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(why, "cannot be judged now") {
			t.Errorf("%s, where it fails open: %s %v", test.reason, resp.Status, err)
		}
	}
}

// An error of the handler becomes a denial if the webhook fails open, unless another replica may answer.
func TestHandlerErrorsAreDenialsIfWebhookFailsOpen(t *testing.T) {
	var again atomic.Bool
	s := guard(t, func(w http.ResponseWriter, _ *http.Request) {
		if again.Load() {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, "the API server is away", http.StatusInternalServerError)
	})
	if resp, text := s.post(t, judgePath, strings.NewReader(begun+"1}}")); resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("fails closed: %s %s", resp.Status, text)
	}
	_, text := s.post(t, judgePath+OpenSuffix, strings.NewReader(begun+"1}}"))
	if why, err := denied(text); err != nil || !strings.Contains(why, "the API server is away") {
		t.Errorf("fails open: %q, %v", why, err)
	}
	again.Store(true)
	if resp, text := s.post(t, judgePath+OpenSuffix, strings.NewReader(begun+"1}}")); resp.StatusCode != http.StatusInternalServerError ||
		resp.Header.Get("Retry-After") == "" {
		t.Errorf("to be asked again: %s %s", resp.Status, text)
	}
}

// Reviews beyond the limit are refused and never admitted. Large reviews do not delay small ones.
func TestOverloadIsRefusedByLimits(t *testing.T) {
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	s := guard(t, func(_ http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Slow") != "" {
			arrived <- struct{}{}
			<-release
		}
	})
	s.limits.small, s.limits.large, s.limits.slotTime = make(chan struct{}, 1), make(chan struct{}, 1), time.Millisecond
	large := begun + `"` + strings.Repeat("a", smallReview) + `"}}`
	occupy := func(body string) {
		req, err := http.NewRequest(http.MethodPost, s.URL+judgePath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Slow", "1")
		go func() {
			if resp, err := s.Client().Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}()
		<-arrived
	}
	defer close(release)
	full := func(size, body string) {
		resp, text := s.post(t, judgePath, strings.NewReader(body))
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s %s", size, resp.Status, text)
		}
		_, text = s.post(t, judgePath+OpenSuffix, strings.NewReader(body))
		if why, err := denied(text); err != nil || !strings.Contains(why, "too many") {
			t.Errorf("%s, where it fails open: %q, %v", size, why, err)
		}
	}
	occupy(large)
	full("large", large)
	if resp, _ := s.post(t, judgePath, strings.NewReader(begun+"1}}")); resp.StatusCode != http.StatusOK {
		t.Errorf("a small one beside a large one: %s", resp.Status)
	}
	occupy("{}")
	full("small", begun+"1}}")
}

// The wait for a body ends, and its place becomes free. API servers retry the review, because the delay may come from a
// slow machine.
func TestSlowBodies(t *testing.T) {
	s := guard(t, func(http.ResponseWriter, *http.Request) {})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{", judgePath)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "1" {
		t.Errorf("%s %v", answer.Status, answer.Header)
	}
	if n := s.passed.Load() + int32(len(s.limits.small)); n != 0 {
		t.Errorf("%d reviews are still there", n)
	}
}

// A panic of the handler refuses the review: by an error if the webhook fails closed, and by a denial if it fails open.
func TestPanicRefusesReview(t *testing.T) {
	s := guard(t, func(http.ResponseWriter, *http.Request) { panic("out of range") })
	body := begun + `"a"}}`
	if resp, text := s.post(t, judgePath, strings.NewReader(body)); resp.StatusCode != http.StatusInternalServerError ||
		!strings.Contains(text, "out of range") {
		t.Errorf("where it fails closed: %s %s", resp.Status, text)
	}
	resp, text := s.post(t, judgePath+OpenSuffix, strings.NewReader(body))
	if why, err := denied(text); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(why, "out of range") {
		t.Errorf("where it fails open: %s %q %v", resp.Status, why, err)
	}
}
