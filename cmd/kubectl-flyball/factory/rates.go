package factory

import (
	"fmt"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/engine/status"
)

// Rates are the flags with the price and the CO2 of saved resources.
type Rates struct{ price, co2 string }

// AddRates adds the flags.
func (f *Rates) AddRates(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.price, "price", "",
		"Show savings as money, by the price of a CPU core hour and of a GiB hour of memory: cpu=0.031,memory=0.004,currency=EUR")
	cmd.Flags().StringVar(&f.co2, "co2", "", "Show savings as CO2, by the grams of a CPU core hour and of a GiB hour: cpu=4.6,memory=0.4")
}

// ParseRates returns the values of the flags.
func (f *Rates) ParseRates() (status.Rates, error) {
	rates, err := status.ParseRates(f.price, f.co2)
	if err != nil {
		return rates, fmt.Errorf("--price and --co2: %w", err)
	}
	return rates, nil
}
