// Package evaluate answers over HTTP whether freezes let somebody make a change, for pipelines that have no kubectl. It promises
// that the verdict is the webhook's, of package freezecheck; that nobody gets one whom the API server does not know by their token, or who may
// not create freezereviews where the object is; that who asks for somebody else may impersonate them; and that what it reads, asks
// the API server and answers is bounded, for each user and over all.
package evaluate
