package freeze

import (
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// metadata is the part of an object that selection uses.
type metadata struct {
	name, generateName string
	uid                string
	deleting           bool
	labels             workload.Pairs
	annotations        workload.Pairs
}

// readMetadata parses the metadata of an object, with only the wanted annotations.
func readMetadata(object rawjson.Value, wanted []string) metadata {
	if !object.Exists() {
		return metadata{}
	}
	// On an error the result has everything that could be read. The API server has already checked the types.
	kept, _ := workload.NewMetadata(workload.NewInterner(), wanted...).Project([]byte(object.Raw))
	return metadata{
		name: kept.Name, generateName: object.Get("metadata.generateName").String(), uid: kept.UID,
		deleting: kept.Deleting, labels: kept.Labels, annotations: kept.Annotations,
	}
}
