package evaluate

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"flyball.dev/flyball/engine/admit/gate"
	"flyball.dev/flyball/engine/workload"
)

// fault is why a review gets no verdict, with the status of HTTP that says so.
type fault struct {
	code int
	text string
	// again is after how long it can be asked again; zero: it is of no use.
	again time.Duration
}

func (f *fault) Error() string { return f.text }

func faultf(code int, format string, args ...any) *fault {
	return &fault{code: code, text: fmt.Sprintf(format, args...)}
}

// turnAway answers why there is no verdict, in one line of text.
func turnAway(w http.ResponseWriter, err error) {
	f := &fault{code: http.StatusInternalServerError, text: err.Error()}
	errors.As(err, &f)
	if f.again > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.again.Seconds()))))
	}
	if f.code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	// A body that nobody reads is not waited for.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	w.Header().Set("Connection", "close")
	http.Error(w, workload.OneLine(f.text, gate.MaxRefusal), f.code)
}
