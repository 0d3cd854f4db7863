# Flyball: make help lists the targets. Everything needed is built or fetched by the targets themselves.
SHELL := /bin/bash
.DEFAULT_GOAL := help

GO       ?= go
BIN      := $(CURDIR)/bin
TOOLS    := .ci/tools
CONTROL_PLANE := test/cluster
NAME     ?= dev
LEVEL    ?= workloads
# What make unit tests: all of these but the packages whose tests import test/local or test/harness, which start a control plane.
UNITS    := ./test/structure ./engine/... ./crds/... ./adapters/... ./cmd/... ./schemas/... ./deploy/... ./docs/...
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS  := -s -w -X flyball.dev/flyball/cmd/version.Version=$(VERSION) -X flyball.dev/flyball/cmd/version.Revision=$(REVISION)
# kubectl of the machine, or else the one that make cluster-up leaves beside its kubeconfig.
KUBECTL  ?= $(or $(shell command -v kubectl),$(dir $(KUBECONFIG))bin/kubectl)

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Flags of kubectl flyball ui for make try, such as --no-browser.
TRY_FLAGS ?=

.PHONY: try
try: ## Show the pages of the demo's week on manifests alone, without a control plane.
	@echo "== building kubectl-flyball (a minute or two the first time, seconds later)"
	@$(GO) build -o $(BIN)/ ./cmd/kubectl-flyball
	@echo "== the pages of the demo's week, on manifests alone; Ctrl-C ends them, and make demo shows the same on a live control plane"
	@exec $(BIN)/kubectl-flyball ui --offline test/demo/manifests --offline samples/calendars -n shop $(TRY_FLAGS)

.PHONY: demo
demo: ## Show a week of schedules in a few minutes, on a local control plane (or, with CLUSTER=mine, on the cluster of KUBECONFIG).
	@$(GO) run ./test/demo $(if $(filter mine,$(CLUSTER)),--use-kubeconfig) $(DEMO_FLAGS)

.PHONY: test
test: ## Run every test: unit, property, integration on a real API server, samples.
	@test/run.sh

# The projects that make test-controllers tries, folders of test/controllers. Empty: all.
ONLY     ?=

.PHONY: test-controllers
test-controllers: ## Let kinds sleep for three nights beside the real controllers of ONLY="jobset ..." (all), and write adapters/tried.yaml; minutes each.
	@$(GO) run -trimpath ./test/controllers $(ONLY)
	@$(GO) run ./docs/generate

# make unit tries each property with 25 inputs, make test with 100. Memory is there and processors are short, so garbage is
# collected less often than by default. The flags are those of test/run.sh, so that both share Go's build cache; make lint vets.
.PHONY: unit
unit: ## Run the tests that need no server.
	@RAPID_CHECKS=$(or $(RAPID_CHECKS),25) GOGC=$(or $(GOGC),400) $(GO) test -trimpath -ldflags=-s -vet=off \
	  $$($(GO) list -f '{{if or .TestImports .XTestImports}}{{.ImportPath}} {{.TestImports}} {{.XTestImports}}{{end}}' $(UNITS) | \
	    grep -vE 'flyball.dev/flyball/test/(local|harness)' | cut -d' ' -f1)

# How many inputs make properties tries for each property.
CHECKS ?= 1000

.PHONY: properties
properties: ## Try every property with CHECKS random inputs (1000), other ones each time; a failure says by which seed it is seen again.
	RAPID_CHECKS=$(CHECKS) $(GO) test -count=1 -timeout 60m \
	  $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' $(UNITS) | grep pgregory.net/rapid | cut -d' ' -f1)

# Packages that touch no cluster and no clock, so that their tests alone must notice every change of their code.
PACKAGES ?= engine/path engine/timeline engine/workload engine/adapter/... engine/pipeline engine/policy/... $(wildcard engine/decide)

.PHONY: check-holidays
check-holidays: ## Compare the holidays of all countries with a second source, an npm package; needs node and npm.
	@$(GO) run ./test/holidays

.PHONY: check-calendars
check-calendars: ## Compare random calendar files with two other implementations, npm packages; needs node and npm. ARGS="-seed 7" tries others.
	@$(GO) run ./test/calendars $(ARGS)

.PHONY: mutate
mutate: ## Count the mutations that the tests of PACKAGES do not notice; the survivors go to bin/mutate/.
	@.ci/mutate $(PACKAGES)

.PHONY: bench
bench: ## Measure every figure against a baseline in the same run, and compare it with its promise.
	@$(GO) run ./test/bench

.PHONY: bench-tortoise
bench-tortoise: ## Compare tuning with the best fixed setting, on families of load; with ARGS="--traces DIR" on real load.
	@$(GO) run ./test/bench/tortoise/cmd $(ARGS)

.PHONY: ui-pictures
ui-pictures: ## Make the pictures of the pages in docs/ui with Chromium, from the demo on a local control plane.
	@cd test/browser && $(GO) run ./pictures ../.. docs/ui

.PHONY: build
build: ## Build the manager and kubectl-flyball into bin/.
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...
	install -m 0755 deploy/krew/kubectl_complete-flyball $(BIN)/

# A release: the version, the image's repository with the registry's host, and the address below which the archives will be.
RELEASE   ?= v0.0.0-dryrun
IMAGE     ?= flyball
DOWNLOADS ?= https://flyball.dev/releases

.PHONY: release
release: ## Write the files of the release RELEASE into dist/release: archives, image, chart, manifests, bills of materials, checksums.
	@rm -rf dist/release && mkdir -p dist/release
	@$(GO) run ./deploy/release/flyball-release --dir dist/release --version $(RELEASE) --revision "$(REVISION)" --image $(IMAGE) \
	  --downloads $(DOWNLOADS) --time "$$(git log -1 --format=%ct)" \
	  --cyclonedx "$$(.ci/build-tool release github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod)"

.PHONY: release-dry-run
release-dry-run: ## Write a release twice, compare the bytes, check the Krew manifest, and push image and chart to a registry of this machine.
	@deploy/release/dry-run

.PHONY: run
run: ## Run the manager against the cluster of KUBECONFIG, without admission webhooks.
	@echo "== building the manager (a few minutes the first time, seconds later)"
	$(GO) run ./cmd/flyball-manager --leader-elect=false --webhook=false --namespace flyball-system

.PHONY: install
install: ## Install the CRDs, the namespace and the adapters, those of pods and PodDisruptionBudgets aside, into the cluster of KUBECONFIG.
	$(KUBECTL) apply --server-side -f crds/
	$(KUBECTL) wait --for=condition=Established --timeout=30s -f crds/
	$(KUBECTL) apply --server-side $(addprefix -f ,$(filter-out adapters/core/% adapters/policy/%,$(sort $(wildcard adapters/*/*/adapter.yaml))))
	$(KUBECTL) create namespace flyball-system --dry-run=client -o yaml | $(KUBECTL) apply --server-side -f -

.PHONY: cluster-up
cluster-up: ## Start a local control plane: NAME=dev LEVEL=api|workloads|metrics.
	@cd $(CONTROL_PLANE) && $(GO) run ./cmd/flyball-cluster up --level $(LEVEL) --name $(NAME)

.PHONY: cluster-down
cluster-down: ## Stop the local control plane NAME.
	@cd $(CONTROL_PLANE) && $(GO) run ./cmd/flyball-cluster down --name $(NAME)

.PHONY: generate
generate: ## Generate deep copies, CRDs, JSON Schemas, the chart's copies, docs/cli, docs/kinds.md and docs/holidays.md from their sources.
	$(GO) tool -modfile=$(TOOLS)/go.mod controller-gen object crd:headerFile= paths=./crds/v1alpha1 output:crd:dir=crds
	$(GO) run ./deploy/generate
	$(GO) run ./docs/generate

.PHONY: docs-site
docs-site: ## Write the documentation as pages for a browser into dist/site, and check every link.
	@rm -rf dist/site
	@cd docs/site && $(GO) run . ../.. ../../dist/site && echo "dist/site/index.html"

.PHONY: lint
lint: ## Check formatting, vet, golangci-lint, and that generated files are up to date.
	@.ci/lint
