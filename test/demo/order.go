package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

const orderNamespace = "flyball-demo-order"

// orderText is a database that is ready a second after its pod, an app, and a schedule in which the database wakes first.
const orderText = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + orderNamespace + `}
---
%s---
%s---
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {namespace: ` + orderNamespace + `, name: database-first}
spec:
  asleep: [{from: "00:00", to: "24:00"}]
  order: {waves: [{name: database, names: [db]}]}
`

const orderDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {namespace: ` + orderNamespace + `, name: %[1]s}
spec:
  minReadySeconds: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.com/app:1"}]
`

// order lets a schedule with an order wake a database and an app, and checks which of them wakes first.
func (d *demo) order(ctx context.Context) error {
	d.screen.printf("\n%s\n\n", d.screen.in(bold, "Waking in order"))
	text := fmt.Sprintf(orderText, fmt.Sprintf(orderDeployment, "db", 1), fmt.Sprintf(orderDeployment, "app", 0))
	if err := d.applyText(ctx, text); err != nil {
		return err
	}
	read := func(name string) (found appsv1.Deployment, err error) {
		err = d.env.Client.Get(ctx, client.ObjectKey{Namespace: orderNamespace, Name: name}, &found)
		return found, err
	}
	err := d.until(ctx, time.Minute, "wait for the night", func() ([]string, error) {
		db, err := read("db")
		if err == nil && (*db.Spec.Replicas != 0 || db.Status.Replicas != 0) {
			return []string{"db to be asleep"}, nil
		}
		return nil, err
	})
	if err != nil {
		return err
	}
	began := time.Now()
	s := &v1alpha1.Schedule{}
	s.Namespace, s.Name = orderNamespace, "database-first"
	morning := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"asleep":null,"awake":[{"from":"00:00","to":"24:00"}]}}`))
	if err := d.env.Client.Patch(ctx, s, morning); err != nil {
		return fmt.Errorf("wake the database and the app: %w", err)
	}
	err = d.until(ctx, time.Minute, "wait for the morning", func() ([]string, error) {
		app, err := read("app")
		if err == nil && *app.Spec.Replicas == 0 {
			return []string{"app to be awake"}, nil
		}
		return nil, err
	})
	if err != nil {
		return err
	}
	woke := time.Since(began)
	db, err := read("db")
	if err != nil {
		return err
	}
	ok := db.Status.AvailableReplicas == 1
	d.tell(ok, "Order     the app woke after %.1f s, once its database was ready", woke.Seconds())
	if !ok {
		return errNotKept
	}
	return nil
}
