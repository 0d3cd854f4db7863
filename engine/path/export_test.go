package path

import "slices"

// Elements returns the positions of all elements that the wildcards and filters of the path selected, outermost first.
func (m Match) Elements() []int {
	var elements []int
	steps := m.Path().steps()
	for place := m.place; place > 0; place = m.walk.places[place].parent {
		if steps[m.walk.places[place].depth-1].selects() {
			elements = append(elements, m.walk.places[place].index)
		}
	}
	slices.Reverse(elements)
	return elements
}
