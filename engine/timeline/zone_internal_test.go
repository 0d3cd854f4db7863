package timeline

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/timeline/recur"
)

// turningZone returns a zone that stands at UTC until 1 September 2086 and then moves to UTC+1 for good, with summer
// time by yearly rules. By these rules, summer time would have begun already in the spring before the move. So package
// time returns a start of the autumn period that is before the move.
func turningZone(t *testing.T) *time.Location {
	t.Helper()
	const abbreviations = "UTC\x00CET\x00"
	move := time.Date(2086, 9, 1, 0, 0, 0, 0, time.UTC)
	header := func(transitions, types, chars uint32) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, count := range []uint32{0, 0, 0, transitions, types, chars} {
			b = binary.BigEndian.AppendUint32(b, count)
		}
		return b
	}
	var file bytes.Buffer
	file.Write(header(0, 0, 0))
	file.Write(header(1, 2, uint32(len(abbreviations))))
	file.Write(binary.BigEndian.AppendUint64(nil, uint64(move.Unix())))
	file.WriteByte(1)
	file.Write([]byte{0, 0, 0, 0, 0, 0})       // type 0: UTC
	file.Write([]byte{0, 0, 0x0e, 0x10, 0, 4}) // type 1: one hour ahead
	file.WriteString(abbreviations + "\nCET-1CEST,M3.5.0,M12.1.0/3\n")
	loc, err := time.LoadLocationFromTZData("Test/Turning", file.Bytes())
	if err != nil {
		t.Fatalf("load the made-up zone: %v", err)
	}
	return loc
}

func testZones(t *testing.T) []*zone {
	t.Helper()
	zones := []*zone{zoneOf(turningZone(t))}
	for _, name := range []string{"UTC", "Europe/Skopje", "America/New_York", "Australia/Lord_Howe", "America/Santiago",
		"Pacific/Apia", "Pacific/Kwajalein", "America/Metlakatla", "Africa/Casablanca", "Europe/Dublin", "Asia/Manila"} {
		loc, err := LoadZone(name)
		if err != nil {
			t.Fatalf("load zone: %v", err)
		}
		zones = append(zones, zoneOf(loc))
	}
	return zones
}

func (z *zone) offsetAt(at int64) int64 {
	_, offset := time.Unix(at, 0).In(z.loc).Zone()
	return int64(offset)
}

// randomInstant draws an instant, often from the hours around changes of the zone's offset.
func randomInstant(t *rapid.T, z *zone) int64 {
	from := tableFrom
	to := time.Date(2950, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	at := rapid.Int64Range(from, to).Draw(t, "at")
	if _, _, end := z.period(at); end != forever && rapid.Bool().Draw(t, "near a change") {
		at = end + rapid.Int64Range(-2*daySeconds, 2*daySeconds).Draw(t, "distance")
	}
	return at
}

func TestInstantIsTheFirstAtWhichTheClockShowsTheReadingOrMore(t *testing.T) {
	zones := testZones(t)
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.SampledFrom(zones).Draw(t, "zone")
		reading := randomInstant(t, z)
		at, exact := z.instant(reading)
		if shown := at + z.offsetAt(at); shown < reading || exact != (shown == reading) {
			t.Fatalf("%s: at %d the clock shows %d, want %d or more, exact is %v", z.loc, at, shown, reading, exact)
		}
		for back := int64(1); back < 2*maxOffset; back = back*5/4 + 1 {
			if shown := at - back + z.offsetAt(at-back); shown >= reading {
				t.Fatalf("%s: %d s before %d the clock shows %d already, which is not before %d", z.loc, back, at, shown, reading)
			}
		}
		if now, before := z.high(at), z.high(at-1); now < reading || before >= reading {
			t.Fatalf("%s: high is %d and %d just before, want only the first to reach %d", z.loc, now, before, reading)
		}
	})
}

func TestPeriodsHaveOneOffset(t *testing.T) {
	zones := testZones(t)
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.SampledFrom(zones).Draw(t, "zone")
		at := randomInstant(t, z)
		offset, start, end := z.period(at)
		if offset != z.offsetAt(at) || end <= at || start > at {
			t.Fatalf("%s at %d: offset %d from %d to %d", z.loc, at, offset, start, end)
		}
		inside := rapid.Int64Range(max(start, at-400*daySeconds, tableFrom), min(end-1, at+400*daySeconds)).Draw(t, "inside")
		if got := z.offsetAt(inside); got != offset {
			t.Fatalf("%s: offset is %d at %d, want %d as at %d", z.loc, got, inside, offset, at)
		}
	})
}

// TestPeriodsWherePackageTimeIsWrong: in the year in which yearly rules come into force, package time returns starts of
// periods from before the rules. On the last day of a leap year, it returns ends of periods that have passed.
func TestPeriodsWherePackageTimeIsWrong(t *testing.T) {
	turning := zoneOf(turningZone(t))
	move := time.Date(2086, 9, 1, 0, 0, 0, 0, time.UTC).Unix()
	if _, start, _ := turning.period(move + 30*daySeconds); start != move {
		t.Errorf("begin is %s, want the move on 1 September", time.Unix(start, 0).UTC())
	}
	if _, start, _ := turning.period(move); start != move {
		t.Errorf("begin of the move itself is %s", time.Unix(start, 0).UTC())
	}
	lastDay := time.Date(2088, 12, 31, 12, 0, 0, 0, time.UTC).Unix()
	newYear := time.Date(2089, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	if _, end := periodIn(turning.loc, lastDay); end != newYear {
		t.Errorf("end of the period is %s, want the new year", time.Unix(end, 0).UTC())
	}
}

func TestFloorDivAndMod(t *testing.T) {
	for a := int64(-25); a <= 25; a++ {
		for b := int64(1); b <= 9; b++ {
			q, r := recur.FloorDiv(a, b), recur.FloorMod(a, b)
			if q*b+r != a || r < 0 || r >= b {
				t.Errorf("%d by %d is %d, rest %d", a, b, q, r)
			}
		}
	}
}

func TestZonesAreShared(t *testing.T) {
	first, err := LoadZone("Europe/Skopje")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := LoadZone("Europe/Skopje"); again != first || err != nil {
		t.Errorf("loaded again: got %p, %v, want the same zone, %p", again, err, first)
	}
	if other, err := LoadZone("Europe/Paris"); other == first || err != nil {
		t.Errorf("another zone: got %v, %v", other, err)
	}
}
