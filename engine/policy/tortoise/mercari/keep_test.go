package mercari

import (
	"testing"
)

// TestImpossibleStoredStateIsUnsound checks that impossible state is recognised.
func TestImpossibleStoredStateIsUnsound(t *testing.T) {
	if !New().Keep().IsSound() {
		t.Error("what was kept of nothing is not sound")
	}
	for what, edit := range map[string]func(*Kept){
		"a mode that there is not": func(k *Kept) { k.Mode = BackToNormal + 1 },
		"a mode before the first":  func(k *Kept) { k.Mode = Working - 1 },
		"fewer than no replicas":   func(k *Kept) { k.Low[3].Value = -1 },
		"more replicas than any":   func(k *Kept) { k.Top[3].Value = 1_000_001 },
		"a size below zero":        func(k *Kept) { k.Values = map[string]int64{"app cpu": -1} },
		"a utilisation below zero": func(k *Kept) { k.Targets = map[string]int32{"app cpu": -1} },
		"a utilisation beyond all": func(k *Kept) { k.Targets = map[string]int32{"app cpu": 1_000_001} },
	} {
		k := New().Keep()
		if edit(k); k.IsSound() {
			t.Errorf("%s is sound", what)
		}
	}
}

// TestStoredNumbersAtTheirLimitsAreAccepted checks that numbers exactly at their limits are accepted.
func TestStoredNumbersAtTheirLimitsAreAccepted(t *testing.T) {
	for what, edit := range map[string]func(*Kept){
		"the first mode":       func(k *Kept) { k.Mode = Working },
		"the last mode":        func(k *Kept) { k.Mode = BackToNormal },
		"no replicas":          func(k *Kept) { k.Low[3].Value = 0 },
		"a million replicas":   func(k *Kept) { k.Top[3].Value = 1_000_000 },
		"a size of zero":       func(k *Kept) { k.Values = map[string]int64{"app cpu": 0} },
		"a utilisation of 0 %": func(k *Kept) { k.Targets = map[string]int32{"app cpu": 0} },
		"one of a million %":   func(k *Kept) { k.Targets = map[string]int32{"app cpu": 1_000_000} },
	} {
		k := New().Keep()
		if edit(k); !k.IsSound() {
			t.Errorf("%s is not sound", what)
		}
	}
}
