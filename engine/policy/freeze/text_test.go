package freeze_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// A refusal is one printable line of at most 4 KB, for any texts and any number of refusing policies.
func TestRefusalIsBounded(t *testing.T) {
	long := strings.Repeat(`\u202e\nwide `, 300)
	var policies []string
	for i := range 40 {
		policies = append(policies, edited(yearEnd, "name: year-end", fmt.Sprintf("name: %s%02d", strings.Repeat("n", 200), i),
			"reason: year-end freeze", `reason: "`+long+`"`))
	}
	for n, named := range map[int]int{2: 2, 10: 10, 40: 10} {
		v := set(t, policies[:n]...).Decide(change(rollOut))
		if v.Allowed || len(v.Message) > 4<<10 || strings.ContainsFunc(v.Message, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%d policies: allowed %t, %d bytes: %s", n, v.Allowed, len(v.Message), v.Message)
		}
		if got := strings.Count(v.Message, "ClusterChangeFreeze/nnn"); got != named {
			t.Errorf("%d policies: %d are named in %s", n, got, v.Message)
		}
		if rest := fmt.Sprintf("; and %d more", n-named); n > named && !strings.Contains(v.Message, rest+". Next allowed: ") {
			t.Errorf("%d policies: want %q in %s", n, rest, v.Message)
		}
		if !strings.Contains(v.Message, "/"+strings.Repeat("n", 200)+"01 denies") {
			t.Errorf("%d policies: the second is not named in %s", n, v.Message)
		}
	}
}

// The texts of an exception are one printable, bounded line in all messages.
func TestExceptionTextsAreOneLine(t *testing.T) {
	e := set(t, edited(fix, "reason: CVE fix", `reason: "CVE\nfix\u202e`+strings.Repeat("x", 5000)+
		"\"\n  ticketURL: \"a\\u2066b\"")).Exceptions()[0]
	if why := e.Why(); len(why) > 3<<10 || !strings.HasPrefix(why, `CVE\nfix\u202ex`) || !strings.HasSuffix(why, `(a\u2066b)`) ||
		strings.ContainsFunc(why, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%q", why)
	}
}

// Without room for the reason, both the reason and its colon are left out.
func TestDenialWithoutRoomForItsReason(t *testing.T) {
	d := freeze.Denial{Policy: workload.Policy{Kind: "ChangeFreeze", Namespace: "shop", Name: "f"}, Actions: workload.ChangeScale,
		Reason: "year-end"}
	const bare = "ChangeFreeze/shop/f denies Scale"
	for room, want := range map[int]string{0: bare, 2: bare, 3: bare + ": .", 10: bare + ": year-end"} {
		if got := freeze.DenialText(d, room); got != want {
			t.Errorf("in %d bytes: %q, want %q", room, got, want)
		}
	}
	d.Reason = ""
	if got := freeze.DenialText(d, 100); got != bare {
		t.Errorf("without a reason: %q", got)
	}
}
