package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"flyball.dev/flyball/engine/workload"
)

const (
	// maxReview is the maximum size of a review in bytes: two objects of 1.5 MiB, the limit of etcd, and the rest of
	// the review.
	maxReview = 3<<20 + 128<<10
	// maxDepth is the maximum nesting of objects and lists in a review, because JSON is parsed recursively.
	maxDepth = 1000
	// smallReview is the maximum size in bytes of a small review. At most maxSmall small and maxLarge larger reviews
	// are served at a time, so that memory is bounded and small reviews do not wait for large ones.
	smallReview = 256 << 10
	maxSmall    = 128
	maxLarge    = 2
	// slotTime is how long a review waits for a place. The sum of slotTime and BodyTime is less than the API server's
	// timeout of 5 s, so a refusal arrives in time.
	slotTime = 1500 * time.Millisecond
	// BodyTime is the time limit for the body of a review.
	BodyTime = 2 * time.Second
	// judgeTime is the time limit for an answer of a webhook that fails open, from the start of the request. A later
	// answer could miss the API server's timeout, and the API server would admit the change.
	judgeTime = 4 * time.Second
	// overloadLogged is the minimum interval between two log lines about refused reviews.
	overloadLogged = 10 * time.Second
)

// Fault is the reason why a review is not judged, with an HTTP status code.
type Fault struct {
	Code int
	Err  error
	// Again is the time after which a retry makes sense. Zero means never.
	Again time.Duration
}

func (f *Fault) Error() string { return f.Err.Error() }

// Faultf returns a Fault without a retry.
func Faultf(code int, format string, args ...any) *Fault {
	return &Fault{Code: code, Err: fmt.Errorf(format, args...)}
}

// CodeOf returns the HTTP status code for the reason why a review is not judged.
func CodeOf(err error) int {
	if f := (*Fault)(nil); errors.As(err, &f) {
		return f.Code
	}
	return http.StatusInternalServerError
}

// TurnAway answers with the reason why a review is not judged, in one line of text. It does not wait for the unread
// part of the body.
func TurnAway(w http.ResponseWriter, err error) {
	f := &Fault{Code: http.StatusInternalServerError, Err: err}
	errors.As(err, &f)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // a test's recorder has no deadline
	w.Header().Set("Connection", "close")
	if f.Again > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.Again.Seconds()))))
	}
	http.Error(w, workload.OneLine(f.Error(), MaxRefusal), f.Code)
}

// scanned is a body that was read and is within the limits.
type scanned struct {
	*bytes.Reader
	raw []byte
}

// Close implements io.Closer.
func (scanned) Close() error { return nil }

// ReadBody reads the body of a review within the limits. The body is parsed only after its size and depth are known. A
// body that is too long, too deep, too late or cut off is an error of type *Fault.
func ReadBody(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	if known, ok := req.Body.(scanned); ok {
		return known.raw, nil
	}
	if req.ContentLength > maxReview {
		return nil, Faultf(http.StatusRequestEntityTooLarge, "the admission review has %d bytes, more than %d", req.ContentLength, maxReview)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReview))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return body, Faultf(http.StatusRequestEntityTooLarge, "the admission review has more than %d bytes", maxReview)
	case errors.Is(err, os.ErrDeadlineExceeded):
		// A retry makes sense, because a slow machine or network is the cause, and not the content of the review.
		return body, &Fault{Code: http.StatusServiceUnavailable, Err: fmt.Errorf("the admission review has not come within %s", BodyTime),
			Again: time.Second}
	case err != nil:
		return body, Faultf(http.StatusBadRequest, "read the admission review: %w", err)
	}
	if err := checkDepth(body); err != nil {
		return body, &Fault{Code: http.StatusBadRequest, Err: err}
	}
	return body, nil
}

// checkDepth refuses JSON with too deep nesting. It only counts brackets outside strings.
func checkDepth(body []byte) error {
	depth, text := 0, false
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("read the admission review: it is nested deeper than %d levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// OpenSuffix ends the path of a webhook that fails open.
const OpenSuffix = "/open"

// Limits limit the cost of reviews: their size, depth, transfer time, and the number served at a time. A review beyond
// the limits is refused. A webhook that fails open then answers with a denial, since any other answer would admit the
// change.
type Limits struct {
	handler http.Handler
	// small and large have an element for each small or large review under way.
	small, large chan struct{}
	slotTime     time.Duration
	log          logr.Logger
	// logged is the time of the last log line about an overload, in nanoseconds.
	logged atomic.Int64
}

// New returns a handler that serves reviews within limits. It removes OpenSuffix from the path.
func New(handler http.Handler, log logr.Logger) *Limits {
	return &Limits{handler: handler, small: make(chan struct{}, maxSmall), large: make(chan struct{}, maxLarge), slotTime: slotTime, log: log}
}

// ServeHTTP implements http.Handler.
func (l *Limits) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path, open := strings.CutSuffix(req.URL.Path, OpenSuffix)
	if open {
		ctx, cancel := context.WithTimeout(req.Context(), judgeTime)
		defer cancel()
		req = req.Clone(ctx)
		req.URL.Path, req.URL.RawPath = path, ""
	}
	places := l.small
	if req.ContentLength < 0 || req.ContentLength > smallReview {
		places = l.large
	}
	if err := l.enter(req, places); err != nil {
		l.refuse(w, req, open, nil, err)
		return
	}
	defer func() { <-places }()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(BodyTime)) // a test's recorder has no deadline
	body, err := ReadBody(w, req)
	if err != nil {
		l.refuse(w, req, open, body, err)
		return
	}
	// The server reads on to notice the end of the connection, so the deadline of the body must not apply to the
	// handler.
	_ = control.SetReadDeadline(time.Time{})
	req.Body = scanned{Reader: bytes.NewReader(body), raw: body}
	defer l.refusePanic(w, req, open, body)
	if !open {
		l.handler.ServeHTTP(w, req)
		return
	}
	answer := &failedAnswer{ResponseWriter: w}
	l.handler.ServeHTTP(answer, req)
	if answer.code != 0 {
		l.refuse(w, req, open, body, &Fault{Code: answer.code, Err: errors.New(answer.text.String())})
	}
}

// refusePanic refuses a review that could not be judged because of a panic. It must be deferred. Without it only the
// connection would be closed, and a webhook that fails open would admit the change.
func (l *Limits) refusePanic(w http.ResponseWriter, req *http.Request, open bool, body []byte) {
	if fault := recover(); fault != nil {
		l.log.Error(fmt.Errorf("panic: %v", fault), "Failed to judge an admission review because of a panic in Flyball", "stack",
			string(debug.Stack()))
		l.refuse(w, req, open, body, Faultf(http.StatusInternalServerError, "a fault in Flyball, please report it: %v", fault))
	}
}

// enter waits for a place among the reviews of the same size.
func (l *Limits) enter(req *http.Request, places chan struct{}) error {
	timer := time.NewTimer(l.slotTime)
	defer timer.Stop()
	select {
	case places <- struct{}{}:
		return nil
	case <-req.Context().Done():
		return &Fault{Code: http.StatusTooManyRequests, Err: fmt.Errorf("wait for other admission reviews: %w", req.Context().Err()),
			Again: time.Second}
	case <-timer.C:
		return l.tooMany(req)
	}
}

// tooMany returns the error for a review without a place. It logs the overload from time to time.
func (l *Limits) tooMany(req *http.Request) error {
	if now, last := time.Now().UnixNano(), l.logged.Load(); now-last > int64(overloadLogged) && l.logged.CompareAndSwap(last, now) {
		l.log.Info("Too many admission reviews at once; some are refused", "size", req.ContentLength)
	}
	return &Fault{Code: http.StatusTooManyRequests, Err: errors.New("too many admission reviews at once"), Again: time.Second}
}

// refuse answers a review that is beyond the limits or could not be judged. If the webhook fails closed, the answer is
// an error, and the API server refuses the change or retries. If it fails open, the answer is a denial of the review,
// whose UID is read from the beginning of the body.
func (l *Limits) refuse(w http.ResponseWriter, req *http.Request, open bool, body []byte, err error) {
	if open {
		if body == nil {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(BodyTime))
			body, _ = io.ReadAll(io.LimitReader(req.Body, uidWithin))
		}
		if uid := uidOf(body); uid != "" {
			code := CodeOf(err)
			denial := Answer{Code: int32(code), Reason: reasonOf(code),
				Message: workload.OneLine("this change cannot be judged now: "+err.Error(), MaxRefusal)}
			if err := denial.Write(w, uid); err != nil {
				l.log.V(1).Info("Failed to send the answer: the API server closed the connection", "reason", err.Error())
			}
			return
		}
	}
	TurnAway(w, err)
}

// failedAnswer holds back an error response, so it can be replaced by a denial. A response with Retry-After
// passes, because a different replica can answer.
type failedAnswer struct {
	http.ResponseWriter
	code int
	text bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (a *failedAnswer) WriteHeader(code int) {
	if code < http.StatusBadRequest || a.Header().Get("Retry-After") != "" {
		a.ResponseWriter.WriteHeader(code)
		return
	}
	a.code = code
}

// Write implements http.ResponseWriter.
func (a *failedAnswer) Write(p []byte) (int, error) {
	if a.code == 0 {
		return a.ResponseWriter.Write(p)
	}
	return a.text.Write(p)
}

// Unwrap supports http.ResponseController.
func (a *failedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
