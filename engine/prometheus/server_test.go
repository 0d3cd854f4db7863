package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestPartialAnswersAreErrors: an answer with isPartial, as the cluster of VictoriaMetrics gives it while a storage node is away, is an
// error. A label with the same text is none.
func TestPartialAnswersAreErrors(t *testing.T) {
	answer := ""
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
	defer at.Close()
	s, err := New(Options{Address: at.URL})
	if err != nil {
		t.Fatal(err)
	}
	const data = `"data":{"resultType":"vector","result":[{"metric":{"a":"{\"isPartial\":true}"},"value":[1,"0"]}]}}`
	for head, want := range map[string]error{`{"status":"success","isPartial":true,`: ErrPartial,
		`{"status":"success","isPartial":false,`: nil, `{"status":"success",`: nil} {
		answer = head + data
		found, _, err := s.Now(context.Background(), "up", time.Time{})
		if !errors.Is(err, want) || want == nil && (len(found) != 1 || err != nil) {
			t.Errorf("%s: got %v and %v, want %v", head, found, err, want)
		}
		if want != nil && s.Failed("demand", "up", err).Error() != fmt.Sprintf("ask Prometheus at %s for demand with up: %v", s.Host(), want) {
			t.Errorf("the error is %q", s.Failed("demand", "up", err))
		}
	}
}

// TestAnswersWithoutDataAreErrors: a proxy in front of the server can answer with any JSON.
func TestAnswersWithoutDataAreErrors(t *testing.T) {
	answer := ""
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
	defer at.Close()
	s, err := New(Options{Address: at.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, answer = range []string{"null", `{"status":"success"}`, `{"status":"success","data":null}`} {
		if found, _, err := s.Now(context.Background(), "up", time.Time{}); err == nil || err.Error() != "the answer has no data" {
			t.Errorf("%s: got %v and %v", answer, found, err)
		}
	}
}
