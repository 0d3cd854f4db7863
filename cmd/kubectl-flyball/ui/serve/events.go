package serve

import (
	"fmt"
	"net/http"
	"time"
)

// maxStreams is the number of event streams that are open at a time. A browser opens one for each tab.
const maxStreams = 32

// lookEvery is the interval at which a stream looks for a new world, and writeWithin the time when a client must take an event.
const lookEvery, writeWithin = 30 * time.Second, 10 * time.Second

// events tells a page when its content has changed: when the world is another, and each minute, because now is another.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "60")
		http.Error(w, fmt.Sprintf("%d pages are open already: this one does not follow changes.", maxStreams), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // that of requests would end the stream
	for last := ""; ; {
		_, now, err := s.current(r.Context())
		if err != nil {
			now = "unread" // the page says why
		}
		now += s.Now().UTC().Format("-150405")[:5]
		if now != last {
			_ = out.SetWriteDeadline(time.Now().Add(writeWithin))
			if _, err := fmt.Fprintf(w, "event: version\ndata: %s\n\n", now); err != nil || out.Flush() != nil {
				return
			}
			last = now
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(lookEvery):
		}
	}
}
