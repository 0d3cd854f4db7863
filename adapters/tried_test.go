package adapters

import (
	"testing"
)

// TestTrialsAreOfTheseAdapters: an adapter that has changed since its trial has to be tried again, or counts as not tried.
func TestTrialsAreOfTheseAdapters(t *testing.T) {
	table, err := ReadTrials("tried.yaml")
	if err != nil {
		t.Fatal(err)
	}
	library, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range library {
		rows := table[library[i].Name]
		delete(table, library[i].Name)
		digest, err := Digest(&library[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.LeftOut == "" && row.Adapter != digest {
				t.Errorf("%s has changed since it was tried with %s: run make test-controllers for it, or remove its row from tried.yaml",
					library[i].Name, row.With)
			}
		}
	}
	for name := range table {
		t.Errorf("tried.yaml has a row for %s, which is no adapter of the library", name)
	}
}
