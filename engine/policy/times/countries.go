package times

import (
	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/ar"
	"github.com/rickar/cal/v2/at"
	"github.com/rickar/cal/v2/au"
	"github.com/rickar/cal/v2/be"
	"github.com/rickar/cal/v2/bg"
	"github.com/rickar/cal/v2/br"
	"github.com/rickar/cal/v2/ca"
	"github.com/rickar/cal/v2/ch"
	"github.com/rickar/cal/v2/cy"
	"github.com/rickar/cal/v2/cz"
	"github.com/rickar/cal/v2/de"
	"github.com/rickar/cal/v2/dk"
	"github.com/rickar/cal/v2/ee"
	"github.com/rickar/cal/v2/es"
	"github.com/rickar/cal/v2/fi"
	"github.com/rickar/cal/v2/fr"
	"github.com/rickar/cal/v2/gb"
	"github.com/rickar/cal/v2/gr"
	"github.com/rickar/cal/v2/hr"
	"github.com/rickar/cal/v2/hu"
	"github.com/rickar/cal/v2/ie"
	"github.com/rickar/cal/v2/is"
	"github.com/rickar/cal/v2/it"
	"github.com/rickar/cal/v2/jp"
	"github.com/rickar/cal/v2/ke"
	"github.com/rickar/cal/v2/lt"
	"github.com/rickar/cal/v2/lu"
	"github.com/rickar/cal/v2/lv"
	"github.com/rickar/cal/v2/mt"
	"github.com/rickar/cal/v2/mw"
	"github.com/rickar/cal/v2/mx"
	"github.com/rickar/cal/v2/nc"
	"github.com/rickar/cal/v2/nl"
	"github.com/rickar/cal/v2/no"
	"github.com/rickar/cal/v2/nz"
	"github.com/rickar/cal/v2/pl"
	"github.com/rickar/cal/v2/pt"
	"github.com/rickar/cal/v2/ro"
	"github.com/rickar/cal/v2/rs"
	"github.com/rickar/cal/v2/ru"
	"github.com/rickar/cal/v2/se"
	"github.com/rickar/cal/v2/si"
	"github.com/rickar/cal/v2/sk"
	"github.com/rickar/cal/v2/th"
	"github.com/rickar/cal/v2/ua"
	"github.com/rickar/cal/v2/us"
	"github.com/rickar/cal/v2/za"
)

// country has the holidays of a country in the library.
type country struct {
	// national are the holidays of the whole country; empty: only subdivisions have holidays.
	national []*cal.Holiday
	// subdivisions has all holidays of each subdivision. The key is the second part of its code in ISO 3166-2.
	subdivisions map[string][]*cal.Holiday
}

// countries has the countries by their codes in ISO 3166-1.
var countries = map[string]country{
	"AR": {national: ar.Holidays},
	"AT": {national: at.Holidays},
	"AU": {subdivisions: map[string][]*cal.Holiday{
		"ACT": au.HolidaysACT, "NSW": au.HolidaysNSW, "NT": au.HolidaysNT, "QLD": au.HolidaysQLD, "SA": au.HolidaysSA, "TAS": au.HolidaysTAS,
		"VIC": au.HolidaysVIC, "WA": au.HolidaysWA,
	}},
	"BE": {national: be.Holidays},
	"BG": {national: bg.Holidays},
	"BR": {national: br.Holidays, subdivisions: regionsOf("BR", br.Holidays)},
	"CA": {national: ca.Holidays, subdivisions: regionsOf("CA", ca.Holidays)},
	// All cantons have these four days. The library's list for the whole country has each day of any canton.
	"CH": {national: []*cal.Holiday{ch.Neujahr, ch.Auffahrt, ch.Bundesfeiertag, ch.Weihnachtstag}, subdivisions: map[string][]*cal.Holiday{
		"ZH": ch.HolidaysZH, "BE": ch.HolidaysBE, "LU": ch.HolidaysLU, "UR": ch.HolidaysUR, "SZ": ch.HolidaysSZ, "OW": ch.HolidaysOW,
		"NW": ch.HolidaysNW, "GL": ch.HolidaysGL, "ZG": ch.HolidaysZG, "FR": ch.HolidaysFR, "SO": ch.HolidaysSO, "BS": ch.HolidaysBS,
		"BL": ch.HolidaysBL, "SH": ch.HolidaysSH, "AR": ch.HolidaysAR, "AI": ch.HolidaysAI, "SG": ch.HolidaysSG, "GR": ch.HolidaysGR,
		"AG": ch.HolidaysAG, "TG": ch.HolidaysTG, "VD": ch.HolidaysVD, "TI": ch.HolidaysTI, "VS": ch.HolidaysVS, "NE": ch.HolidaysNE,
		"GE": ch.HolidaysGE, "JU": ch.HolidaysJU,
	}},
	"CY": {national: cy.Holidays},
	"CZ": {national: cz.Holidays},
	"DE": {national: de.Holidays, subdivisions: map[string][]*cal.Holiday{
		"BW": de.HolidaysBW, "BY": de.HolidaysBY, "BE": de.HolidaysBE, "BB": de.HolidaysBB, "HB": de.HolidaysHB, "HH": de.HolidaysHH,
		"HE": de.HolidaysHE, "MV": de.HolidaysMV, "NI": de.HolidaysNI, "NW": de.HolidaysNW, "RP": de.HolidaysRP, "SL": de.HolidaysSL,
		"SN": de.HolidaysSN, "ST": de.HolidaysST, "SH": de.HolidaysSH, "TH": de.HolidaysTH,
	}},
	"DK": {national: dk.Holidays},
	"EE": {national: ee.Holidays},
	"ES": {national: es.Holidays, subdivisions: regionsOf("ES", es.Holidays)},
	"FI": {national: fi.Holidays},
	"FR": {national: fr.Holidays, subdivisions: regionsOf("FR", fr.Holidays)},
	"GB": {national: gb.Holidays, subdivisions: regionsOf("GB", gb.Holidays)},
	"GR": {national: gr.Holidays},
	"HR": {national: hr.Holidays},
	"HU": {national: hu.Holidays},
	"IE": {national: ie.Holidays},
	"IS": {national: is.Holidays},
	"IT": {national: it.Holidays},
	"JP": {national: jp.Holidays},
	"KE": {national: ke.Holidays},
	"LT": {national: lt.Holidays},
	"LU": {national: lu.Holidays},
	"LV": {national: lv.Holidays},
	"MT": {national: mt.Holidays},
	"MW": {national: mw.Holidays},
	"MX": {national: mx.Holidays},
	"NC": {national: nc.Holidays},
	"NL": {national: nl.Holidays},
	"NO": {national: no.Holidays},
	"NZ": {national: nz.Holidays},
	"PL": {national: pl.Holidays},
	"PT": {national: pt.Holidays},
	"RO": {national: ro.Holidays},
	"RS": {national: rs.Holidays},
	"RU": {national: ru.Holidays},
	"SE": {national: se.Holidays},
	"SI": {national: si.Holidays},
	"SK": {national: sk.Holidays},
	"TH": {national: th.Holidays},
	"UA": {national: ua.Holidays},
	"US": {national: us.Holidays},
	"ZA": {national: za.Holidays},
}
