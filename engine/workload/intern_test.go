package workload

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

func TestInternerSharesEqualTexts(t *testing.T) {
	in := NewInterner()
	a, b := in.Bytes([]byte("shop")), in.String(strings.Clone("shop"))
	if unsafe.StringData(a) != unsafe.StringData(b) {
		t.Error("two copies of one string")
	}
	if long := strings.Repeat("x", longest+1); unsafe.StringData(in.String(long)) == unsafe.StringData(long) || in.String(long) != long {
		t.Error("a long string is not copied")
	}
	longestShared := strings.Repeat("y", longest)
	if unsafe.StringData(in.String(longestShared)) != unsafe.StringData(in.Bytes([]byte(longestShared))) ||
		unsafe.StringData(in.Bytes([]byte(longestShared))) != unsafe.StringData(in.String(longestShared)) {
		t.Error("a string of the greatest length is kept twice")
	}
	for i := range 3 * generation {
		in.String(fmt.Sprint(i))
		if i%generation/2 == 0 {
			in.Bytes([]byte("shop"))
		}
		if len(in.young)+len(in.old) > 2*generation {
			t.Fatalf("%d strings are kept", len(in.young)+len(in.old))
		}
	}
	if unsafe.StringData(in.String("shop")) != unsafe.StringData(a) {
		t.Error("a string in use was forgotten")
	}
	if in.Bytes(nil) != "" || in.String("") != "" {
		t.Error("empty strings")
	}
}
