package trace

import "testing"

// TestPile goes over the edges of chunks; what was added stays where it was.
func TestPile(t *testing.T) {
	var p pile[int]
	if p.all() != nil {
		t.Error("an empty pile has records")
	}
	first := p.at(p.add(0))
	for i := 1; i < 2*chunk+1; i++ {
		if at := p.add(i); at != i {
			t.Fatalf("record %d is at %d", i, at)
		}
	}
	*p.at(chunk) = -1
	all := p.all()
	if len(all) != 2*chunk+1 || all[0] != 0 || all[chunk-1] != chunk-1 || all[chunk] != -1 || all[2*chunk] != 2*chunk {
		t.Errorf("%d records, %d, %d, %d, %d", len(all), all[0], all[chunk-1], all[chunk], all[2*chunk])
	}
	if *first = 7; *p.at(0) != 7 {
		t.Error("the first record has moved")
	}
}
