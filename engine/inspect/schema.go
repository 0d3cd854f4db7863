package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
)

// Finding is one path missing from the schema or with a wrong type.
type Finding struct {
	// Field is the field of the adapter.
	Field string
	// Path is the adapter's path in canonical form.
	Path string
	// Why describes the fault: ".spec.replcias is not in the schema of apps/v1 Deployment".
	Why string
	// Suggestion is the path that was probably meant; empty: no path is similar.
	Suggestion string
}

// String returns the finding in one line, for conditions and admission messages.
func (f Finding) String() string {
	line := f.Field + ": " + f.Why
	if f.Suggestion != "" {
		line += "; did you mean " + f.Suggestion + "?"
	}
	return line
}

// SchemaReport is the result of comparing an adapter's paths with the live schema, in the order of the uses.
type SchemaReport struct {
	// Missing lists the unusable paths.
	Missing []Finding
	// Idle lists paths that have no effect but do no harm: paths of changes that are missing from the schema, and
	// comparisons with impossible values.
	Idle []Finding
	// LeftOut lists the optional items of the adapter whose paths are missing; Idle has these paths.
	LeftOut []string
	// Unknown lists paths that lead into a part of the schema with open fields or types. Each path is listed once.
	Unknown []string
}

// Matched reports whether no path is missing; unknown paths do not matter.
func (r SchemaReport) Matched() bool { return len(r.Missing) == 0 }

// ErrNotPublished is the error for a kind without a schema in the OpenAPI document. After the creation of a
// CustomResourceDefinition, the schema is published about a second after the kind is served. The caller should ask
// again later.
var ErrNotPublished = errors.New("the OpenAPI schema of the kind is not published yet")

// document is one group version's OpenAPI v3 document, as JSON text.
type document struct{ text string }

// cachedReport is a report with its inputs.
type cachedReport struct {
	// url is the URL of the schema, with its hash. uses is the text of the uses.
	url, uses string
	report    SchemaReport
}

// MatchSchema looks each path up in the published schema of the kind. A written path must not be under .status if
// status is a subresource. MatchSchema fetches only the document of the kind's group version, and only if the hash of
// the document in the OpenAPI index has changed since the last call, or the uses have changed. A kind without a published
// schema (ErrNotPublished) and a refused read are errors.
func (c *Inspector) MatchSchema(ctx context.Context, gvk schema.GroupVersionKind, uses []adapter.Use) (SchemaReport, error) {
	published, err := c.published(ctx, gvk)
	if err != nil {
		return SchemaReport{}, err
	}
	url, text := published.ServerRelativeURL(), textOf(uses)
	if report, ok := c.cached(gvk, url, text); ok {
		return report, nil
	}
	doc, err := c.document(ctx, gvk.GroupVersion(), published)
	if err != nil {
		return SchemaReport{}, err
	}
	report, err := match(doc, gvk, uses)
	if err != nil {
		return SchemaReport{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports[gvk] = cachedReport{url: url, uses: text, report: report.clone()}
	return report, nil
}

// published returns the group version in the OpenAPI index.
func (c *Inspector) published(ctx context.Context, gvk schema.GroupVersionKind) (openapi.GroupVersionWithContext, error) {
	index, err := c.openapi.PathsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI index: %w", err)
	}
	key := "apis/" + gvk.Group + "/" + gvk.Version
	if gvk.Group == "" {
		key = "api/" + gvk.Version
	}
	published, ok := index[key]
	if !ok {
		return nil, fmt.Errorf("find the schema of %s: %w", describe(gvk), ErrNotPublished)
	}
	return published, nil
}

// cached returns the last report on a kind if its inputs are unchanged.
func (c *Inspector) cached(gvk schema.GroupVersionKind, url, uses string) (SchemaReport, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.reports[gvk]
	if !ok || known.url != url || known.uses != uses {
		return SchemaReport{}, false
	}
	return known.report.clone(), true
}

// document fetches the schema, unless a schema with the same hash is still in memory because another adapter has used
// it.
func (c *Inspector) document(ctx context.Context, gv schema.GroupVersion, from openapi.GroupVersionWithContext) (*document, error) {
	url := from.ServerRelativeURL()
	c.mu.Lock()
	doc := c.documents[url].Value()
	c.mu.Unlock()
	if doc != nil {
		return doc, nil
	}
	raw, err := from.SchemaWithContext(ctx, "application/json")
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI schema of %s: %w", gv, err)
	}
	if !rawjson.ValidBytes(raw) {
		return nil, fmt.Errorf("read the OpenAPI schema of %s: the answer is not JSON", gv)
	}
	doc = &document{text: string(raw)}
	c.mu.Lock()
	defer c.mu.Unlock()
	for known, pointer := range c.documents {
		if pointer.Value() == nil {
			delete(c.documents, known)
		}
	}
	c.documents[url] = weak.Make(doc)
	return doc, nil
}

// match walks every path through the document.
func match(doc *document, gvk schema.GroupVersionKind, uses []adapter.Use) (SchemaReport, error) {
	components, root := readComponents(doc.text, gvk)
	if root == "" {
		return SchemaReport{}, fmt.Errorf("find the schema of %s: %w", describe(gvk), ErrNotPublished)
	}
	w := walker{components: components, root: root, kind: describe(gvk), hasStatus: hasStatus(doc.text, gvk)}
	var report SchemaReport
	absent := w.absent(uses)
	for _, use := range uses {
		finding, is := w.check(use)
		switch text := use.Path.String(); {
		case is == missing && use.Item != "":
			if report.Idle = append(report.Idle, finding); !slices.Contains(report.LeftOut, use.Item) {
				report.LeftOut = append(report.LeftOut, use.Item)
			}
		case is == missing && !use.Write && slices.ContainsFunc(absent, func(p path.Path) bool { return path.Covers(p, use.Path) }):
			report.Idle = append(report.Idle, finding)
		case is == missing && use.Optional, is == idle:
			report.Idle = append(report.Idle, finding)
		case is == missing:
			report.Missing = append(report.Missing, finding)
		case is == unknown && !slices.Contains(report.Unknown, text):
			report.Unknown = append(report.Unknown, text)
		}
	}
	return report, nil
}

// absent returns the missing paths of writes in optional items. No object has such a field, so predicates may read it.
func (w walker) absent(uses []adapter.Use) (all []path.Path) {
	for _, use := range uses {
		if use.Item == "" || !use.Write {
			continue
		}
		if _, is := w.check(use); is == missing {
			all = append(all, use.Path)
		}
	}
	return all
}

func (r SchemaReport) clone() SchemaReport {
	return SchemaReport{Missing: slices.Clone(r.Missing), Idle: slices.Clone(r.Idle), LeftOut: slices.Clone(r.LeftOut),
		Unknown: slices.Clone(r.Unknown)}
}

// textOf returns a text that identifies a list of uses.
func textOf(uses []adapter.Use) string {
	var b strings.Builder
	for _, u := range uses {
		fmt.Fprintf(&b, "%s\x00%s\x00%v\x00%t\x00%t\x00%t\x00%q\x00%s\n",
			u.Field, u.Path, u.Types, u.Write, u.ByPosition, u.Optional, u.Values, u.Item)
	}
	return b.String()
}

// describe returns the usual name of a kind: "apps/v1 Deployment".
func describe(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + " " + gvk.Kind
}
