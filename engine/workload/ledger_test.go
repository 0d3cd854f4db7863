package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var begun = time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)

func TestLedgerText(t *testing.T) {
	l := Ledger{
		{Pointer: "/spec/a~1b", Was: `"<x>"`, By: "Schedule/shop/nights", Since: begun.In(time.FixedZone("", 3600)), Made: 2, Element: "hot",
			Also: `["Override/shop/demo"]`},
		{Pointer: "/spec/mode", WasNull: true, Set: `"off"`, By: "p", Since: begun},
		{Pointer: "/spec/replicas", Was: "3", Set: "0", Prior: "1", By: "p", Pending: true, Once: "6", Interrupted: `[{"by":"q","asked":"1"}]`},
	}
	text, err := l.Encode(Origin{Of: "Deployment/web"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"/spec/a~1b":{"was":"<x>","also":["Override/shop/demo"],` +
		`"by":"Schedule/shop/nights","since":"2026-03-02T20:00:00Z","made":2,"element":"hot"},` +
		`"/spec/mode":{"was":null,"set":"off","by":"p","since":"2026-03-02T20:00:00Z"},` +
		`"/spec/replicas":{"was":3,"set":0,"prior":1,"interrupted":[{"by":"q","asked":"1"}],"by":"p","pending":true,"once":"6"},"of":"Deployment/web"}`
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if _, err := (Ledger{{Pointer: "/a", Was: "{"}}).Encode(Origin{}); err == nil || !strings.HasPrefix(err.Error(), "encode the ledger: ") {
		t.Errorf("an original that is not JSON: %v", err)
	}
}

// The ledgers have every form of entry.
func TestLedgerRoundTrip(t *testing.T) {
	value := rapid.SampledFrom([]string{"", "0", `"x"`, `{"a":[1]}`, "true"})
	rapid.Check(t, func(r *rapid.T) {
		var l Ledger
		for i := range rapid.IntRange(0, 4).Draw(r, "entries") {
			l = append(l, Entry{
				Pointer: fmt.Sprintf("/spec/%d", i), Was: value.Draw(r, "was"), Set: value.Draw(r, "set"), Prior: value.Draw(r, "prior"),
				By: rapid.SampledFrom([]string{"", "Schedule/a/b"}).Draw(r, "by"), Since: begun.Add(time.Duration(i) * time.Second),
				Made: rapid.Uint8().Draw(r, "made"), Element: rapid.SampledFrom([]string{"", "hot", "h\"o\\t\n\u2028é"}).Draw(r, "element"),
				Place: rapid.SampledFrom([]string{"", "2 of 3"}).Draw(r, "place"), Adopted: rapid.Bool().Draw(r, "adopted"),
				Pending: rapid.Bool().Draw(r, "pending"), Once: rapid.SampledFrom([]string{"", "6"}).Draw(r, "once"),
				Interrupted: rapid.SampledFrom([]string{"", `[{"by":"q","asked":"1"}]`}).Draw(r, "interrupted"),
				Also:        rapid.SampledFrom([]string{"", `["Schedule/a/c"]`}).Draw(r, "also"),
			})
			l[i].WasNull = l[i].Was == "" && rapid.Bool().Draw(r, "null")
		}
		on := Origin{Of: "Deployment/web"}
		if on.UID = rapid.SampledFrom([]string{"", "6f1e"}).Draw(r, "uid"); on.UID != "" {
			on.Namespace = rapid.SampledFrom([]string{"", "shop"}).Draw(r, "namespace")
		}
		text, err := l.Encode(on)
		if err != nil {
			r.Fatal(err)
		}
		got, of, err := ParseLedger(text)
		if diff := cmp.Diff(append(Ledger{}, l...), got); diff != "" || of != on || err != nil {
			r.Fatalf("%s of %q, %v", diff, of, err)
		}
		for i := range l {
			if e := got.Find(l[i].Pointer); e != &got[i] {
				r.Fatalf("%s is not found", l[i].Pointer)
			}
		}
		if got.Find("/") != nil || got.Find("/spec/9") != nil {
			r.Fatal("an entry that is not there is found")
		}
	})
}

func TestParseLedgerErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                          "read the ledger annotation: ",
		`[]`:                        "read the ledger annotation: ",
		`{"of":5}`:                  `read the ledger annotation: "of": `,
		`{"uid":{}}`:                `read the ledger annotation: "uid": `,
		`{"":{}}`:                   `read the ledger annotation: "" is not a JSON pointer`,
		`{"spec":{}}`:               `read the ledger annotation: "spec" is not a JSON pointer`,
		`{"/spec":5}`:               "read the ledger annotation: /spec: ",
		`{"/spec":{"made":"x"}}`:    "read the ledger annotation: /spec: ",
		`{"/spec":{"made":256}}`:    "read the ledger annotation: /spec: 256 is not a whole number up to 255",
		`{"/spec":{"made":1.5}}`:    "read the ledger annotation: /spec: ",
		`{"/spec":{"by":1}}`:        "read the ledger annotation: /spec: 1 is not a string",
		`{"/spec":{"since":"x"}}`:   "read the ledger annotation: /spec: ",
		`{"/spec":{"pending":"x"}}`: "read the ledger annotation: /spec: ",
		`{"/spec":{}} {}`:           "read the ledger annotation: invalid character '{' after top-level value",
	} {
		if l, of, err := ParseLedger(text); err == nil || !strings.HasPrefix(err.Error(), want) || l != nil || of != (Origin{}) {
			t.Errorf("%q: got %v of %q, %v", text, l, of, err)
		}
	}
}

func TestTheLaterOfTwoLedgerMembersCounts(t *testing.T) {
	l, on, err := ParseLedger(`{"of":"Job/a","/b":{"set":1},"/a":{"was":null},"/b":{"set":2,"by":"p","set":3,"other":[4]},"of":"Job/b"}`)
	want := Ledger{{Pointer: "/a", WasNull: true}, {Pointer: "/b", Set: "3", By: "p"}}
	if diff := cmp.Diff(want, l); diff != "" || on.Of != "Job/b" || err != nil {
		t.Errorf("%s of %q, %v", diff, on.Of, err)
	}
}

// The cases say which claims an entry has been set for.
func TestOnceHonoursEarlierClaims(t *testing.T) {
	claim := func(by string, hours int, asked string) Once {
		return Once{By: by, Since: begun.Add(time.Duration(hours) * time.Hour), Asked: asked}
	}
	var e Entry
	if e.WasSet(Once{}) || e.WasSet(claim("a", 0, "6")) {
		t.Error("an entry that lasts was set once")
	}
	e = e.HandOnce(claim("a", 1, "6"), true)
	if e.By != "a" || e.Once != "6" || e.Interrupted != "" || !e.Since.Equal(begun.Add(time.Hour)) {
		t.Fatalf("got %+v", e)
	}
	for _, c := range []struct {
		Once
		want bool
	}{
		{claim("a", 1, "6"), true}, {claim("a", 0, "6"), true}, {claim("a", 2, "6"), false}, {claim("b", 1, "6"), false},
		{claim("a", 1, "7"), false},
	} {
		if got := e.WasSet(c.Once); got != c.want {
			t.Errorf("%+v: got %t", c.Once, got)
		}
	}
	e = e.HandOnce(claim("b", 0, "30"), true)
	if !e.WasSet(claim("a", 1, "6")) || !e.WasSet(claim("b", 0, "30")) || e.WasSet(claim("a", 2, "6")) {
		t.Errorf("after b: %+v", e)
	}
	lost := e.HandOnce(claim("c", 0, "1"), false)
	if lost.WasSet(claim("b", 0, "30")) || !lost.WasSet(claim("a", 1, "6")) {
		t.Errorf("a write that was lost is remembered: %+v", lost)
	}
	back := e.HandOnce(claim("a", 0, "6"), true)
	if !back.Since.Equal(begun.Add(time.Hour)) || !back.WasSet(claim("b", 0, "30")) || strings.Contains(back.Interrupted, `"a"`) {
		t.Errorf("handed back: %+v", back)
	}
	next := back.HandOnce(claim("a", 5, "7"), false)
	if next.WasSet(claim("a", 1, "6")) || !next.WasSet(claim("a", 5, "7")) || !next.Since.Equal(begun.Add(5*time.Hour)) {
		t.Errorf("the same policy's next claim: %+v", next)
	}
}

// The oldest claims are dropped first.
func TestEntryKeepsEightInterruptedClaims(t *testing.T) {
	var e Entry
	for i := range 12 {
		e = e.HandOnce(Once{By: fmt.Sprint("p", i), Since: begun, Asked: "1"}, true)
	}
	for i := range 12 {
		if got, want := e.WasSet(Once{By: fmt.Sprint("p", i), Since: begun, Asked: "1"}), i >= 12-1-maxInterrupted; got != want {
			t.Errorf("p%d: got %t, want %t", i, got, want)
		}
	}
}
