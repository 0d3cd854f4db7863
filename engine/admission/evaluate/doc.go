// Package evaluate reports whether freezes let a user make a change: an action on an existing object, or the
// application of a manifest. An Evaluator uses the judge of the admission webhook, so both give the same answer: the
// command line on a world that was read before, the manager on its own world. The API serves the manager's answers over
// HTTP, for pipelines without kubectl. A caller needs a token known to the API server and the right to create
// freezereviews in the object's namespace; asking for another user needs the right to impersonate that user. Input, calls
// of the API server and output are limited per user and in total.
package evaluate
