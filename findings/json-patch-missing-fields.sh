#!/bin/sh
# JSON patches with conditions: Go module gopkg.in/evanphx/json-patch.v4 v4.13.0 (the API server of Kubernetes 1.37 applies JSON patches
# with it) and npm fast-json-patch 3.1.1.
# RFC 6902: the target of "replace" must exist (4.3), also that of "test", and "test" compares numbers by value and strings by character
# (4.6). So the first two patches fail, and the last two pass.
# Seen: the Go module lets the first two pass, and "replace" adds the field. It refuses 3.0 for 3, and a slash that the patch escapes. The
# npm package does all four as the standard says.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts fast-json-patch@3.1.1
echo '{"replicas":3,"name":"a/b"}' >document.json
cat >patches <<'PATCHES'
{"op":"replace","path":"/paused","value":true}
{"op":"test","path":"/paused","value":null}
{"op":"test","path":"/replicas","value":3.0}
{"op":"test","path":"/name","value":"a\/b"}
PATCHES
cat >noted <<'NOTED'
Go: passes passes fails fails
npm: fails fails passes passes
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"bufio"
	"fmt"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

func main() {
	document, err := os.ReadFile("document.json")
	if err != nil {
		panic(err)
	}
	patches, err := os.Open("patches")
	if err != nil {
		panic(err)
	}
	fmt.Print("Go:")
	for lines := bufio.NewScanner(patches); lines.Scan(); {
		patch, err := jsonpatch.DecodePatch([]byte("[" + lines.Text() + "]"))
		if err != nil {
			panic(err)
		}
		if _, err := patch.Apply(document); err != nil {
			fmt.Print(" fails")
		} else {
			fmt.Print(" passes")
		}
	}
	fmt.Println()
}
PROGRAM
cat >program.mjs <<'PROGRAM'
import { readFileSync } from 'fs'
import jsonpatch from 'fast-json-patch'

const results = readFileSync('patches', 'utf8').trim().split('\n').map((line) => {
  try {
    jsonpatch.applyPatch(JSON.parse(readFileSync('document.json', 'utf8')), [JSON.parse(line)], true)
    return 'passes'
  } catch {
    return 'fails'
  }
})
console.log('npm:', results.join(' '))
PROGRAM
go mod init example.com/finding 2>/dev/null
go get gopkg.in/evanphx/json-patch.v4@v4.13.0 2>/dev/null
(go run . && node program.mjs) | tee seen
diff noted seen
