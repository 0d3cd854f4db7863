// Package evaluate answers over HTTP whether freezes let a user make a change, for pipelines without kubectl. The
// verdicts come from package freezecheck and equal the webhook's. A caller needs a token known to the API server and
// the right to create freezereviews in the object's namespace; asking for another user needs the right to impersonate
// that user. Input, calls of the API server and output are limited per user and in total.
package evaluate
