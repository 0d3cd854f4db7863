module flyball.dev/flyball/test/cluster

go 1.26.0
