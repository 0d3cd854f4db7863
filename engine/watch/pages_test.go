package watch

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// A server without streaming returns long lists in pages: each but the last has a token for the next.
func TestLongListInPages(t *testing.T) {
	const size = 1100
	s := newServer(t, func(_ *server, r reply, q url.Values) {
		switch {
		case streams(q):
			r.status(422, "Invalid")
		case q.Get("watch") == "":
			from, _ := strconv.Atoi(q.Get("continue"))
			limit, err := strconv.Atoi(q.Get("limit"))
			if err != nil {
				limit = size
			}
			r.page(from, min(from+limit, size), size)
		default:
			r.send(frameOf("DELETED", widget("w-1099", "8", "red")))
			r.hold()
		}
	})
	w := ensure(t, s.manager(), &recorder{})
	waitSynced(t, w)
	eventually(t, "the watch goes on from the list", func() bool { return w.Len() == size-1 })
	for i := range size - 1 {
		if w.Get("shop", fmt.Sprint("w-", i)) == nil {
			t.Fatalf("object %d of %d is missing", i, size)
		}
	}
	if got := s.count("limit", "500"); got != 3 {
		t.Errorf("%d pages of 500, want 3", got)
	}
	if got := s.count("resourceVersion", "7"); got != 1 {
		t.Errorf("%d watches from the list's version, want 1", got)
	}
}

// page writes a range of the objects of a list of the given size.
func (r reply) page(from, to, size int) {
	next := ""
	if to < size {
		next = fmt.Sprintf(`,"continue":"%d","remainingItemCount":%d`, to, size-to)
	}
	objects := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		objects = append(objects, widget(fmt.Sprint("w-", i), "1", "red"))
	}
	_, _ = fmt.Fprintf(r.w, `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7"%s},"items":[%s]}`, next,
		strings.Join(objects, ","))
}
