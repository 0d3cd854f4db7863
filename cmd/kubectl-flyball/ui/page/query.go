package page

import "net/url"

// Query has the choices of a view, by the names of their URL parameters.
type Query map[string]string

// link returns a page's URL with the given query parameters replaced. An empty value removes a parameter.
func (q Query) link(path string, pairs ...string) string {
	values := url.Values{}
	for name, value := range q {
		values.Set(name, value)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			values.Del(pairs[i])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}
