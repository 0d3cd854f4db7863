#!/bin/sh
# A window of a schedule, from 17:30 to 08:30, written by npm yaml 2.9.1 and read by four packages: npm yaml (as YAML 1.2 and 1.1), npm
# js-yaml 3.14.2 and 5.5.0, Go sigs.k8s.io/yaml v1.6.0 (that of kubectl).
# YAML 1.1 has integers to the base 60, without a 0 in front, so there 17:30 is 1050 and 08:30 is a text; in YAML 1.2 both are texts.
# Seen: npm yaml writes both without quotes. js-yaml 3 reads a number and a text, npm yaml in its mode of YAML 1.1 two numbers, against that
# form, and the others two texts. With quotes they agree.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts yaml@2.9.1 js-yaml@5.5.0 js-yaml-3@npm:js-yaml@3.14.2
cat >noted <<'NOTED'
from: 17:30
to: 08:30
yaml 1.2: {"from":"17:30","to":"08:30"}
yaml 1.1: {"from":1050,"to":510}
js-yaml 3: {"from":1050,"to":"08:30"}
js-yaml 5: {"from":"17:30","to":"08:30"}
sigs.k8s.io/yaml: {"from":"17:30","to":"08:30"}
NOTED
cat >program.mjs <<'PROGRAM'
import { writeFileSync } from 'fs'
import YAML from 'yaml'
import jsYAML3 from 'js-yaml-3'
import * as jsYAML5 from 'js-yaml'

const text = YAML.stringify({ from: '17:30', to: '08:30' })
writeFileSync('window.yaml', text)
process.stdout.write(text)
for (const [name, read] of [
  ['yaml 1.2', YAML.parse],
  ['yaml 1.1', (text) => YAML.parse(text, { version: '1.1' })],
  ['js-yaml 3', jsYAML3.load],
  ['js-yaml 5', (text) => jsYAML5.load(text)],
]) {
  console.log(`${name}: ${JSON.stringify(read(text))}`)
}
PROGRAM
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	text, err := os.ReadFile("window.yaml")
	if err != nil {
		panic(err)
	}
	json, err := yaml.YAMLToJSON(text)
	if err != nil {
		panic(err)
	}
	fmt.Printf("sigs.k8s.io/yaml: %s\n", json)
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get sigs.k8s.io/yaml@v1.6.0 2>/dev/null
(node program.mjs && go run .) | tee seen
diff noted seen
