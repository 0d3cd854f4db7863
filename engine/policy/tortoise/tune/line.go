package tune

import "math"

// line has the weighted sums for a line through points: the sums of 1, x, y, x squared and x times y. hour is the hour of
// Unix time for which the weights hold.
type line struct {
	n, x, y, xx, xy float64
	hour            int64
}

// add adds a point at an instant in Unix seconds.
func (l *line) add(x, y float64, unix int64) {
	if hours := unix/3600 - l.hour; hours > 0 {
		f := math.Exp2(-float64(hours) / halfLife.Hours())
		for _, sum := range []*float64{&l.n, &l.x, &l.y, &l.xx, &l.xy} {
			*sum *= f
		}
		l.hour += hours
	}
	x, y = min(x, mostX), min(y, mostX)
	l.n, l.x, l.y, l.xx, l.xy = l.n+1, l.x+x, l.y+y, l.xx+x*x, l.xy+x*y
}

// mostX is the largest value of x and y, so that the sums stay finite. enough is the number of points needed for a line.
const mostX, enough = 1e12, 60.0

// slope returns the increase of y with x. It is 0 if y does not increase or if there are too few points. A line that would
// begin below 0 is replaced by one that begins at 0.
func (l *line) slope() float64 {
	spread := l.n*l.xx - l.x*l.x
	if l.n < enough || spread <= 1e-9*l.n*l.xx {
		return 0
	}
	slope := max((l.n*l.xy-l.x*l.y)/spread, 0)
	return min(slope, l.y/max(l.x, 1e-9))
}
