package main

import (
	"bytes"
	"fmt"
	"html/template"
)

// frame is what all pages have in common.
var frame = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}{{if ne .Title "Flyball"}} · Flyball{{end}}</title>
<link rel="icon" href="{{.Icon}}" type="image/svg+xml">
<style>
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
* { box-sizing: border-box; }
body { margin: 0; display: flex; font: 16px/1.6 system-ui, sans-serif; }
nav { flex: 0 0 17rem; height: 100vh; position: sticky; top: 0; overflow: auto; padding: 1rem; font-size: .9rem; }
nav { border-right: 1px solid var(--line); }
nav summary { font-weight: 600; cursor: pointer; }
nav ul { list-style: none; margin: .3rem 0 .8rem; padding-left: .8rem; }
nav [aria-current] { font-weight: 600; }
main { flex: 1; min-width: 0; max-width: 56rem; padding: 1rem 2rem 4rem; }
img { max-width: 100%; height: auto; }
a { color: #1a66b3; }
@media (prefers-color-scheme: dark) { a { color: #7db5f0; } }
pre { overflow-x: auto; padding: .8rem; background: var(--soft); border-radius: 6px; font-size: .85rem; line-height: 1.45; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
@media (max-width: 50rem) { body { display: block; } nav { height: auto; position: static; border-right: 0; } main { padding: 1rem; } }
</style>
</head>
<body>
<nav aria-label="Documentation">
{{range .Menu}}<details{{if .Open}} open{{end}}><summary>{{.Part}}</summary><ul>
{{range .Pages}}<li><a href="{{.Address}}"{{if .Here}} aria-current="page"{{end}}>{{.Title}}</a></li>
{{end}}</ul></details>
{{end}}</nav>
<main>
{{.Body}}</main>
</body>
</html>
`))

// entry is a line of the menu, and part a group of them.
type entry struct {
	Address, Title string
	Here           bool
}
type part struct {
	Part  string
	Open  bool
	Pages []entry
}

// render returns a page as HTML.
func (s *site) render(p *page) ([]byte, error) {
	var body, out bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
		return nil, fmt.Errorf("render %s: %w", p.name, err)
	}
	var menu []part
	for _, other := range s.sorted() {
		if len(menu) == 0 || menu[len(menu)-1].Part != other.part {
			menu = append(menu, part{Part: other.part, Open: other.part != "Commands" && other.part != "Decisions"})
		}
		last := &menu[len(menu)-1]
		last.Open = last.Open || other == p
		last.Pages = append(last.Pages, entry{relative(p.html, other.html), other.title, other == p})
	}
	err := frame.Execute(&out, map[string]any{
		"Title": p.title, "Icon": relative(p.html, "icon.svg"), "Menu": menu,
		"Body": template.HTML(body.String()), // the renderer leaves raw HTML out
	})
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", p.name, err)
	}
	return out.Bytes(), nil
}
