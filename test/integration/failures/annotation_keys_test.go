package failures

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// reads matches the lists and the watches of a resource.
func reads(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+resource)
	}
}

// lists matches the lists of a resource, and the watches that begin with a list.
func lists(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		q := r.URL.Query()
		return reads(resource)(r) && (q.Get("watch") == "" || q.Get("sendInitialEvents") == "true")
	}
}

// notReady records every stored state of an adapter, from now on, in which the adapter is not Ready or not Watching.
func notReady() func() []string {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(scene.Env.Config, client.Options{Scheme: scene.Env.Client.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	events, err := watcher.Watch(scene.Ctx, &v1alpha1.AdapterList{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(events.Stop)
	var mu sync.Mutex
	var seen []string
	go func() {
		for event := range events.ResultChan() {
			a, ok := event.Object.(*v1alpha1.Adapter)
			if !ok {
				continue
			}
			for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionWatching} {
				if !meta.IsStatusConditionTrue(a.Status.Conditions, kind) {
					mu.Lock()
					seen = append(seen, fmt.Sprintf("%s of %s: %+v", kind, a.Name, meta.FindStatusCondition(a.Status.Conditions, kind)))
					mu.Unlock()
				}
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), seen...)
	}
}

// annotations reads the annotations of a Deployment.
func annotations(namespace, name string) func(Gomega) map[string]string {
	return func(g Gomega) map[string]string {
		d := scene.Deployment(namespace, name, 0)
		g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		return d.Annotations
	}
}

// annotating changes a Schedule so that its targets sleep with only an annotation.
func annotating(key, value string) func(*v1alpha1.ScheduleRules) {
	return func(r *v1alpha1.ScheduleRules) {
		r.AsleepAs = &v1alpha1.AsleepAs{Annotations: map[string]string{key: value}}
	}
}

var _ = Describe("Schedules that set new annotation keys", func() {
	It("leave every adapter ready, and the old watch serves until the new one is in sync", func() {
		listing, listed := &gate{match: reads("deployments")}, &gate{match: lists("deployments")}
		startBehind(suite.NewClock(scene.Dusk.Add(1)), listed, listing)
		sleeping, marked := scene.NewNamespace(), scene.NewNamespace()
		scene.Nightly(sleeping, "nights")
		scene.Create(scene.Deployment(sleeping, "first", 3))
		Eventually(scene.Replicas(sleeping, "first")).Should(BeEquivalentTo(0), "the watch tells of what comes")
		own := scene.Deployment(marked, "own", 2)
		own.Annotations = map[string]string{"example.com/key-1": "theirs", "example.com/other": "stays"}
		scene.Create(scene.Deployment(marked, "web", 3), own)
		before := map[string]map[string]string{"web": annotations(marked, "web")(Default), "own": annotations(marked, "own")(Default)}
		unready := notReady()
		for round := range 3 {
			key, lists := fmt.Sprintf("example.com/key-%d", round), len(listed.times())
			listing.close()
			s := scene.Nightly(marked, "marks", annotating(key, "asleep"))
			late := fmt.Sprintf("late-%d", round)
			scene.Create(scene.Deployment(sleeping, late, 3))
			Eventually(scene.Replicas(sleeping, late)).Should(BeEquivalentTo(0), "by the old watch")
			Expect(listed.times()).To(HaveLen(lists), "the new watch is in sync already")
			listing.open()
			for _, name := range []string{"web", "own"} {
				Eventually(annotations(marked, name)).Should(HaveKeyWithValue(key, "asleep"))
				Expect(scene.Replicas(marked, name)(Default)).NotTo(BeZero())
			}
			Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
			for name, want := range before {
				Eventually(annotations(marked, name)).Should(Equal(want))
			}
			Eventually(scene.Vanished(&v1alpha1.Schedule{ObjectMeta: s.ObjectMeta})).Should(Succeed())
			Eventually(listed.times).Should(HaveLen(lists+2), "one list with the key, and one without it")
		}
		Eventually(scene.AdapterCondition("deployments.apps", v1alpha1.ConditionWatching)).Should(scene.BeCondition(metav1.ConditionTrue,
			"Synced"))
		Expect(unready()).To(BeEmpty())
	})

	It("do not block the deletion of a policy whose last change only the replaced watch reports", func() {
		var stalling atomic.Bool // watches that begin after it is true are not held
		stalled := &gate{answers: true, match: func(r *http.Request) bool { return !stalling.Load() && watches("deployments")(r) }}
		m := startBehind(suite.NewClock(scene.Dusk.Add(1)), stalled)
		ns, marked := scene.NewNamespace(), scene.NewNamespace()
		s, read := scene.Asleep(ns, 3)
		scene.Create(scene.Deployment(marked, "web", 3))
		stalling.Store(true)
		stalled.close()
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		scene.Restored(ns, 3)
		marks := scene.Nightly(marked, "marks", annotating("example.com/late-"+ns, "asleep"))
		Eventually(scene.Vanished(read)).Should(Succeed())
		Eventually(annotations(marked, "web")).Should(HaveKeyWithValue("example.com/late-"+ns, "asleep"))

		stalled.open()
		scene.Remove(marks)
		Expect(annotations(marked, "web")(Default)).To(BeEmpty())
		Expect(panics(m)(Default)).To(BeZero())
	})
})
