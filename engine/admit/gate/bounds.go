package gate

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
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"flyball.dev/flyball/engine/workload"
)

const (
	// maxReview is the size of the largest review in bytes: two objects of 1.5 MiB, which is what etcd takes, and what is around them.
	maxReview = 3<<20 + 128<<10
	// maxDepth is how deep objects and lists of a review may be nested. JSON is read by functions that call themselves.
	maxDepth = 1000
	// smallReview is the size in bytes up to which reviews are served side by side. Of larger ones two are served at a time, of two
	// users, so that the memory of all is bounded and the small ones do not wait for them.
	smallReview = 256 << 10
	smallPlaces = 128
	largePlaces = 2
	// slotTime is how long a review waits for others. With BodyTime it is less than the 5 s that API servers wait, so that a
	// refusal reaches them.
	slotTime = 1500 * time.Millisecond
	// BodyTime is how long the body of a review may take.
	BodyTime = 2 * time.Second
	// judgeTime is how long the answer to a webhook that fails open may take, counted from the request: later, the API server
	// would have let the change through.
	judgeTime = 4 * time.Second
	// overloadLogged is how often it is logged at most that reviews are refused.
	overloadLogged = 10 * time.Second
)

// Fault is why a review is not judged, with the status of HTTP that says so.
type Fault struct {
	Code int
	Err  error
	// Again is after how long it can be asked again; zero: it is of no use.
	Again time.Duration
}

func (f *Fault) Error() string { return f.Err.Error() }

// Faultf makes a Fault that it is of no use to ask again after.
func Faultf(code int, format string, args ...any) *Fault {
	return &Fault{Code: code, Err: fmt.Errorf(format, args...)}
}

// CodeOf is the status of HTTP that says why a review is not judged.
func CodeOf(err error) int {
	if f := (*Fault)(nil); errors.As(err, &f) {
		return f.Code
	}
	return http.StatusInternalServerError
}

// TurnAway answers why a review is not judged, in one line of text. A body that nobody reads is not waited for.
func TurnAway(w http.ResponseWriter, err error) {
	f := &Fault{Code: http.StatusInternalServerError, Err: err}
	errors.As(err, &f)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // a test's recorder has none
	w.Header().Set("Connection", "close")
	if f.Again > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.Again.Seconds()))))
	}
	http.Error(w, workload.OneLine(f.Error(), MaxRefusal), f.Code)
}

// scanned is a body that was read and found to be within the bounds.
type scanned struct {
	*bytes.Reader
	raw []byte
}

// Close implements io.Closer.
func (scanned) Close() error { return nil }

// ReadBody reads the body of a review within the bounds. It is not parsed before its size and depth are known.
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
		// Not for what it says, but for a machine or a network that stood still: whoever sent it may well be able to send it again.
		return body, &Fault{Code: http.StatusServiceUnavailable, Err: fmt.Errorf("the admission review has not come within %s", BodyTime), Again: time.Second}
	case err != nil:
		return body, Faultf(http.StatusBadRequest, "read the admission review: %w", err)
	}
	if err := checkDepth(body); err != nil {
		return body, &Fault{Code: http.StatusBadRequest, Err: err}
	}
	return body, nil
}

// checkDepth refuses JSON that is nested too deep, without parsing it: brackets are counted outside texts.
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

// Bounds limit what reviews cost: their size, their depth, how long their bodies take, and how many are served at once. What
// is beyond is refused. A webhook that fails open gets a denial then, since any other answer would let the change through.
type Bounds struct {
	small, large *places
	slotTime     time.Duration
	asker        Asker
	log          logr.Logger
	// logged is when an overload was logged last, in nanoseconds.
	logged atomic.Int64
}

// NewBounds makes bounds of admission reviews in which nobody is yet.
func NewBounds(log logr.Logger) *Bounds {
	return &Bounds{small: newPlaces(smallPlaces), large: newPlaces(largePlaces), slotTime: slotTime, asker: askerOf, log: log}
}

// Bound serves a handler within bounds of its own that are as wide as those of a Server, to anybody, as a webhook that fails closed. user
// says whose a request is; nil: an admission review says so itself.
func Bound(handler http.Handler, user func(*http.Request) string, log logr.Logger) http.Handler {
	b := NewBounds(log)
	if user != nil {
		b.asker = func(req *http.Request, _ []byte) string { return shareOf(user(req)) }
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { b.serve(handler, w, req, false) })
}

// serve answers one request by the handler, within the bounds.
func (b *Bounds) serve(handler http.Handler, w http.ResponseWriter, req *http.Request, open bool) {
	if open {
		ctx, cancel := context.WithTimeout(req.Context(), judgeTime)
		defer cancel()
		req = req.WithContext(ctx)
	}
	among := b.small
	if req.ContentLength < 0 || req.ContentLength > smallReview {
		among = b.large
	}
	leave, err := b.enter(req, among)
	if err != nil {
		b.refuse(w, req, open, nil, err)
		return
	}
	defer leave()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(BodyTime)) // a test's recorder has none
	body, err := ReadBody(w, req)
	if err != nil {
		b.refuse(w, req, open, body, err)
		return
	}
	release, ok := among.share(b.asker(req, body))
	if !ok {
		b.refuse(w, req, open, body, b.tooMany(req))
		return
	}
	defer release()
	// The connection is read on, to notice its end: the deadline is not that of the handler.
	_ = control.SetReadDeadline(time.Time{})
	req.Body = scanned{Reader: bytes.NewReader(body), raw: body}
	defer b.refusePanic(w, req, open, body)
	if !open {
		handler.ServeHTTP(w, req)
		return
	}
	answer := &failedAnswer{ResponseWriter: w}
	handler.ServeHTTP(answer, req)
	if answer.code != 0 {
		b.refuse(w, req, open, body, &Fault{Code: answer.code, Err: errors.New(answer.text.String())})
	}
}

// refusePanic refuses a review that could not be judged because of a fault in Flyball. It is to be deferred. Without it the
// connection would only be cut, and a webhook that fails open would let the change through.
func (b *Bounds) refusePanic(w http.ResponseWriter, req *http.Request, open bool, body []byte) {
	if fault := recover(); fault != nil {
		b.log.Error(fmt.Errorf("panic: %v", fault), "a review could not be judged because of a fault in Flyball", "stack", string(debug.Stack()))
		b.refuse(w, req, open, body, Faultf(http.StatusInternalServerError, "a fault in Flyball, please report it: %v", fault))
	}
}

// enter waits for a place among the reviews of the same size.
func (b *Bounds) enter(req *http.Request, among *places) (leave func(), err error) {
	leave = func() { <-among.taken }
	select {
	case among.taken <- struct{}{}:
		return leave, nil
	default:
	}
	timer := time.NewTimer(b.slotTime)
	defer timer.Stop()
	select {
	case among.taken <- struct{}{}:
		return leave, nil
	case <-req.Context().Done():
		return nil, &Fault{Code: http.StatusTooManyRequests, Err: fmt.Errorf("wait for other admission reviews: %w", req.Context().Err()), Again: time.Second}
	case <-timer.C:
		return nil, b.tooMany(req)
	}
}

// tooMany is why a review is refused for which there is no place. It is logged now and then.
func (b *Bounds) tooMany(req *http.Request) error {
	if now, last := time.Now().UnixNano(), b.logged.Load(); now-last > int64(overloadLogged) && b.logged.CompareAndSwap(last, now) {
		b.log.Info("too many admission reviews at once: some are refused", "size", req.ContentLength)
	}
	return &Fault{Code: http.StatusTooManyRequests, Err: errors.New("too many admission reviews at once"), Again: time.Second}
}

// refuse answers what is beyond the bounds, or could not be judged. Where the webhook fails closed it is an error, by which the
// API server refuses the change, or asks again. Where it fails open it is a denial of the review whose body has begun to come.
func (b *Bounds) refuse(w http.ResponseWriter, req *http.Request, open bool, body []byte, err error) {
	if open {
		if body == nil {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(BodyTime))
			body, _ = io.ReadAll(io.LimitReader(req.Body, uidWithin))
		}
		if uid := uidOf(body); uid != "" {
			code := CodeOf(err)
			denial := Answer{Code: int32(code), Reason: reasonOf(code), Message: workload.OneLine("this change cannot be judged now: "+err.Error(), MaxRefusal)}
			if err := denial.Write(w, uid); err != nil {
				b.log.V(1).Info("the API server has not waited for the answer", "reason", err.Error())
			}
			return
		}
	}
	TurnAway(w, err)
}

// failedAnswer keeps the text of an answer that is an error, except for one that asks the API server to come again: that one is for
// another replica, and passes.
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

// Unwrap serves http.ResponseController.
func (a *failedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
