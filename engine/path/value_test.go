package path

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValueInt64(t *testing.T) {
	tests := []struct {
		raw  string
		want int64
		err  string
	}{
		{"3", 3, ""},
		{"-0", 0, ""},
		{"3.0", 3, ""},
		{"3e0", 3, ""},
		{"0.5e1", 5, ""},
		{"1200e-2", 12, ""},
		{"9007199254740993", 9007199254740993, ""},
		{"9223372036854775807", 9223372036854775807, ""},
		{"-9223372036854775808", -9223372036854775808, ""},
		{"9223372036854775808", 0, "read .n: want a 64-bit integer, got 9223372036854775808"},
		{"1e400", 0, "read .n: want a 64-bit integer, got 1e400"},
		{"1e-99999999999", 0, "read .n: want an integer, got 1e-99999999999"},
		{"1.5", 0, "read .n: want a 64-bit integer, got 1.5"},
		{`"3"`, 0, `read .n: want an integer, got "3"`},
		{"null", 0, "read .n: want an integer, got null"},
		{"true", 0, "read .n: want an integer, got true"},
		{"", 0, "read .n: no such field"},
	}
	for _, test := range tests {
		got, err := NewValue(test.raw, ".n").Int64()
		if got != test.want || message(err) != test.err {
			t.Errorf("Int64 of %s: %d, %v; want %d, %s", test.raw, got, err, test.want, test.err)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestValueText(t *testing.T) {
	tests := []struct {
		raw               string
		text              string
		textErr           string
		shown, typeString string
	}{
		{"true", "", "read .v: want a string, got true", "true", "boolean"},
		{"false", "", "read .v: want a string, got false", "false", "boolean"},
		{`"a\n\u0062"`, "a\nb", "", `"a\n\u0062"`, "string"},
		{`"\q"`, "", `read .v: want a valid string, got "\q"`, `"\q"`, "string"},
		{"1", "", "read .v: want a string, got 1", "1", "number"},
		{"[]", "", "read .v: want a string, got []", "[]", "array"},
		{"{}", "", "read .v: want a string, got {}", "{}", "object"},
		{"null", "", "read .v: want a string, got null", "null", "null"},
		{"", "", "read .v: no such field", "<absent>", "absent"},
	}
	for _, test := range tests {
		v := NewValue(test.raw, ".v")
		if got, err := v.Text(); got != test.text || message(err) != test.textErr {
			t.Errorf("Text of %s: %q, %v", test.raw, got, err)
		}
		if v.String() != test.shown || string(v.Type()) != test.typeString {
			t.Errorf("%s is shown as %s, a %s", test.raw, v, v.Type())
		}
	}
}

func TestValueErrors(t *testing.T) {
	if _, err := (Value{}).Int64(); !errors.Is(err, ErrAbsent) {
		t.Errorf("absent value: %v", err)
	}
	_, err := NewValue(`"`+strings.Repeat("é", 100)+`"`, ".v").Int64()
	var typed *TypeError
	if !errors.As(err, &typed) || typed.Path != ".v" || typed.Got != `"`+strings.Repeat("é", 39)+"..." {
		t.Errorf("long value: %v", err)
	}
	whole := `"` + strings.Repeat("x", 78) + `"`
	if _, err := NewValue(whole, ".v").Int64(); message(err) != "read .v: want an integer, got "+whole {
		t.Errorf("value of 80 bytes: %v", err)
	}
}

func TestEqualComparesValuesOfJSON(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"1", "1.0", true},
		{"1", "1e0", true},
		{"100", "1e2", true},
		{"-0", "0.0e7", true},
		{"0.1", "1e-1", true},
		{"9007199254740993", "9007199254740992", false},
		{"1", "-1", false},
		{"1", `"1"`, false},
		{"1", "true", false},
		{"true", "false", false},
		{"null", "null", true},
		{"1e99999999999", "1e99999999999", true},
		{"1e99999999999", "10e99999999998", false}, // beyond the exponents computed with
		{`"\u0061/"`, `"a\/"`, true},
		{`"\u0061"`, `"a"`, true},
		{`"\u0061"`, `"b"`, false},
		{`"a"`, `"A"`, false},
		{" {\"a\":1,\n\"b\":[1,2]}\t", `{"b":[1.0,2],"\u0061":1}`, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":null}`, `{"b":null}`, false},
		{`{"a":1,"a":2}`, `{"a":1}`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`[]`, `{}`, false},
		{`[[]]`, `[{}]`, false},
		{`{"a":[]}`, `{"a":""}`, false},
		{"", "", false},
		{"x", "x", false},
		{"[1,]", "[1,]", false},
		{"[1]x", "[1] ", false},
		{"nul", "nul", false},
		{strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), strings.Repeat("[", 20_000) + " " + strings.Repeat("]", 20_000), false},
	}
	for _, test := range tests {
		if got := Equal(test.a, test.b); got != test.want {
			t.Errorf("Equal(%.60s, %.60s) = %v", test.a, test.b, got)
		}
		if got := Equal([]byte(test.b), []byte(test.a)); got != test.want {
			t.Errorf("Equal(%.60s, %.60s) = %v", test.b, test.a, got)
		}
	}
}

func TestEqualAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := documents(2, true)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if rapid.Bool().Draw(t, "related") {
			b = "[" + a + "," + b + "]"
			a = "[" + a + "," + gen.Draw(t, "c") + "]"
		}
		x, errX := refDecode([]byte(a))
		y, errY := refDecode([]byte(b))
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		if got, want := Equal(a, b), refEqual(x, y); got != want {
			t.Fatalf("Equal(%s, %s) = %v, want %v", a, b, got, want)
		}
	})
}

func TestDecimalAgreesWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := numberText().Draw(t, "number")
		d, ok := parseDecimal(text)
		if !ok {
			t.Fatalf("%s is refused", text)
		}
		want, _ := refRat(text)
		if got, ok := refRat(d.String()); !ok || got.Cmp(want) != 0 {
			t.Fatalf("%s became %s", text, d)
		}
		if again, ok := parseDecimal(d.String()); !ok || again != d {
			t.Fatalf("%s became %s and then %s", text, d, again)
		}
		n, ok := d.int64()
		if fits := want.IsInt() && want.Num().IsInt64(); ok != fits || ok && n != want.Num().Int64() {
			t.Fatalf("%s as int64: %d, %v", text, n, ok)
		}
	})
}
