// Package admission has the tests of admission reviews from end to end; its rooms have the code. Package review reads a
// review within limits and writes its answer. validate judges Flyball's own kinds, rights their authors, and freeze
// changes of adapted kinds. register tells API servers which reviews to send, and serve answers them over TLS. evaluate
// and callers answer the same questions for people and pipelines.
//
// Decisions (docs/decisions): 0012, 0028.
package admission
