package times

import (
	"slices"
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/ar"
	"github.com/rickar/cal/v2/au"
	"github.com/rickar/cal/v2/bg"
	"github.com/rickar/cal/v2/br"
	"github.com/rickar/cal/v2/ca"
	"github.com/rickar/cal/v2/ch"
	"github.com/rickar/cal/v2/de"
	"github.com/rickar/cal/v2/dk"
	"github.com/rickar/cal/v2/is"
	"github.com/rickar/cal/v2/mx"
	"github.com/rickar/cal/v2/nl"
	"github.com/rickar/cal/v2/nz"
	"github.com/rickar/cal/v2/rs"
	"github.com/rickar/cal/v2/sk"
	"github.com/rickar/cal/v2/ua"
)

// correction is a difference between the library and the law.
type correction struct {
	country string
	// subdivision is empty if the correction concerns the country and all its subdivisions.
	subdivision string
	// without are the library's holidays to take out, and with those to add.
	without, with []*cal.Holiday
	// law is the law that decides.
	law string
}

// mondayAfter moves a holiday from the weekend to Monday.
var mondayAfter = []cal.AltDay{{Day: time.Saturday, Offset: 2}, {Day: time.Sunday, Offset: 1}}

// corrections are the differences of v2.1.31, and the regions.
var corrections = append([]correction{
	{country: "AR", law: "Ley 27.399 (2017), arts. 1 and 6",
		without: []*cal.Holiday{ar.EasternsDay, ar.GuemesDay, ar.SanMartinDay, ar.DiversityDay, ar.SovereigntyDay, ar.BelgranoDay},
		with: []*cal.Holiday{easter(ar.EasternsDay.Name, -2, false), movable(ar.GuemesDay.Name, time.June, 17),
			movable(ar.SanMartinDay.Name, time.August, 17), movable(ar.DiversityDay.Name, time.October, 12),
			movable(ar.SovereigntyDay.Name, time.November, 20),
			yearly(ar.BelgranoDay.Name, time.June, 20, &cal.Holiday{})}},
	{country: "AU", subdivision: "NSW", law: "Public Holidays Act 2010 (NSW): additional holidays declared for 2026 and 2027",
		with: []*cal.Holiday{yearly(au.AnzacDay.Name, time.April, 25, &cal.Holiday{StartYear: 2026, EndYear: 2027, Observed: mondayAfter})}},
	{country: "AU", subdivision: "NT", law: "Public Holidays Act 1981 (NT), as date-holidays has it", with: []*cal.Holiday{au.EasterSunday}},
	{country: "AU", subdivision: "SA", law: "Public Holidays Act 2023 (SA)", with: []*cal.Holiday{au.EasterSunday}},
	{country: "AU", subdivision: "WA", law: "Public and Bank Holidays Act 1972 (WA), as date-holidays has it",
		with: []*cal.Holiday{au.EasterSunday}},
	{country: "BG", law: "Labour Code, art. 154(1); 2 January 2026 by the Council of Ministers, 19 November 2025",
		with: []*cal.Holiday{yearly(bg.NewYear.Name, time.January, 2, &cal.Holiday{StartYear: 2026, EndYear: 2026}),
			easter(bg.OrthodoxEasterMonday.Name, -1, true), easter(bg.OrthodoxEasterMonday.Name, 0, true)}},
	{country: "BR", law: "not in Lei 662/1949 nor Lei 6.802/1980: both are ponto facultativo",
		without: []*cal.Holiday{br.Carnaval, br.CorpusChristi}},
	{country: "CA", law: "Canada Labour Code, s. 166", without: []*cal.Holiday{ca.EasterMonday, ca.CivicDay}},
	{country: "CH", subdivision: "AI", law: "Ruhetagsgesetz (GS 822.200), art. 2", without: []*cal.Holiday{ch.ZweiterWeihnachtsfeiertag},
		with: []*cal.Holiday{stephanstag}},
	{country: "CH", subdivision: "AR", law: "the canton's regulation on the Labour Act, as hallo-ar.ch and fm1today.ch have it",
		without: []*cal.Holiday{ch.ZweiterWeihnachtsfeiertag}, with: []*cal.Holiday{stephanstag}},
	{country: "CH", subdivision: "BL", law: "Ruhetagsgesetz; both days are local",
		without: []*cal.Holiday{ch.Fronleichnam, ch.MariaHimmelfahrt}},
	{country: "CH", subdivision: "FR", law: "as date-holidays has it", without: []*cal.Holiday{ch.TagderArbeit},
		with: []*cal.Holiday{ch.MariaEmpfangnis}},
	{country: "CH", subdivision: "GE", law: "Loi sur les jours fériés (GE), art. 1", without: []*cal.Holiday{ch.Fronleichnam},
		with: []*cal.Holiday{{Name: "Jeûne genevois", Func: jeuneGenevois},
			yearly("Restauration de la République", time.December, 31, &cal.Holiday{})}}, //nolint:misspell // French
	{country: "CH", subdivision: "GL", law: "as date-holidays has it", with: []*cal.Holiday{{Name: "Näfelser Fahrt", Func: naefelserFahrt}}},
	{country: "CH", subdivision: "GR", law: "Gesetz über die öffentlichen Ruhetage; the days are local",
		without: []*cal.Holiday{ch.HeiligeDreiKoenige, ch.Josefstag, ch.Fronleichnam, ch.MariaHimmelfahrt, ch.Allerheiligen, ch.MariaEmpfangnis}},
	{country: "CH", subdivision: "JU", law: "as date-holidays has it",
		with: []*cal.Holiday{yearly("Plébiscite jurassien", time.June, 23, &cal.Holiday{})}},
	{country: "CH", subdivision: "LU", law: "Ruhetags- und Ladenschlussgesetz (SRL 855), § 1a; the day is local",
		without: []*cal.Holiday{ch.Josefstag}},
	{country: "CH", subdivision: "NE", law: "Loi sur le dimanche et les jours fériés (RSN 941.02), art. 3; Corpus Christi is local",
		without: []*cal.Holiday{ch.Fronleichnam},
		with: append(inLieu([]*cal.Holiday{ch.Neujahr, ch.Weihnachtstag}, nil, time.Sunday),
			yearly("Instauration de la République", time.March, 1, &cal.Holiday{}))},
	{country: "CH", subdivision: "OW", law: "as date-holidays has it",
		with: []*cal.Holiday{yearly("Bruderklausenfest", time.September, 25, &cal.Holiday{})}},
	{country: "CH", subdivision: "SO", law: "the holidays of the canton by so.ch; 1 May is a holiday from noon on",
		without: []*cal.Holiday{ch.TagderArbeit, ch.Pfingstmontag, ch.ZweiterWeihnachtsfeiertag}},
	{country: "CH", subdivision: "TI", law: "as date-holidays has it",
		with: []*cal.Holiday{yearly("Santi Pietro e Paolo", time.June, 29, &cal.Holiday{})}},
	{country: "CH", subdivision: "VD", law: "as date-holidays has it",
		with: []*cal.Holiday{{Name: "Lundi du Jeûne fédéral", Month: time.September, Weekday: time.Sunday, Offset: 3, CalcOffset: 1,
			Func: cal.CalcWeekdayOffset}}},
	{country: "CH", subdivision: "ZG", law: "as date-holidays has it",
		without: []*cal.Holiday{ch.Ostermontag, ch.Pfingstmontag, ch.ZweiterWeihnachtsfeiertag},
		with:    []*cal.Holiday{ch.Fronleichnam, ch.MariaHimmelfahrt, ch.MariaEmpfangnis}},
	{country: "DE", subdivision: "BE", law: "Gesetz über die Sonn- und Feiertage (Berlin), § 1",
		with: []*cal.Holiday{yearly("75. Jahrestag des Aufstandes vom 17. Juni 1953", time.June, 17,
			&cal.Holiday{StartYear: 2028, EndYear: 2028})}},
	{country: "DE", subdivision: "BB", law: "Feiertagsgesetz (Brandenburg), § 2",
		with: []*cal.Holiday{easter("Ostersonntag", 0, false), easter("Pfingstsonntag", 49, false)}},
	{country: "DE", subdivision: "MV", law: "Feiertagsgesetz Mecklenburg-Vorpommern, § 2, since 2023",
		with: []*cal.Holiday{de.Frauentag.Clone(&cal.Holiday{StartYear: 2023})}},
	{country: "DK", law: "not among the holidays of the Danish church year; shops are closed by Lukkeloven",
		without: []*cal.Holiday{dk.Grundlovsdag}, with: []*cal.Holiday{easter("Påskedag", 0, false), easter("Pinsedag", 49, false)}},
	{country: "GR", law: "the holidays of the whole country, as of 2026",
		with: []*cal.Holiday{easter("Κυριακή του Πάσχα", 0, true)}},
	{country: "HU", law: "10/2025. (IV. 30.) NGM rendelet: days of rest in 2026, in exchange for Saturdays",
		with: []*cal.Holiday{in2026("Pihenőnap", time.January, 2), in2026("Pihenőnap", time.August, 21),
			in2026("Pihenőnap", time.December, 24)}},
	{country: "IS", law: "Christmas Eve and New Year's Eve are holidays from 13:00 on",
		without: []*cal.Holiday{is.Adfangadagur, is.Gamarsdagur}},
	{country: "LU", law: "Code du travail, art. L. 232-2, as amended on 25 April 2019",
		with: []*cal.Holiday{yearly("Europadag", time.May, 9, &cal.Holiday{StartYear: 2019})}},
	{country: "MX", law: "Ley Federal del Trabajo, art. 74, as amended in 2006 and 2024", without: mx.Holidays,
		with: []*cal.Holiday{on("Año Nuevo", time.January, 1), nthMonday("Día de la Constitución", time.February, 1),
			nthMonday("Natalicio de Benito Juárez", time.March, 3), on("Día del Trabajo", time.May, 1),
			on("Día de la Independencia", time.September, 16), nthMonday("Día de la Revolución", time.November, 3),
			on("Navidad", time.December, 25)}},
	{country: "NL", law: "Algemene termijnenwet, art. 3(1)", without: []*cal.Holiday{nl.GoedeVrijdag}},
	{country: "NO", law: "lov om helligdager (1995), § 2",
		with: []*cal.Holiday{easter("Første påskedag", 0, false), easter("Første pinsedag", 49, false)}},
	{country: "NZ", law: "Te Kāhui o Matariki Public Holiday Act 2022, Schedule 1",
		with: []*cal.Holiday{nz.Matariki.Clone(&cal.Holiday{StartYear: 2022})}},
	{country: "PL", law: "ustawa o dniach wolnych od pracy (1951), art. 1",
		with: []*cal.Holiday{easter("Wielkanoc", 0, false), easter("Zielone Świątki", 49, false)}},
	{country: "LT", law: "Darbo kodeksas, art. 123", with: []*cal.Holiday{easter("Velykos", 0, false),
		sunday("Motinos diena", time.May, 1, 1990), sunday("Tėvo diena", time.June, 1, 2009)}},
	{country: "LV", law: "Par svētku, atceres un atzīmējamām dienām, 1. pants",
		with: []*cal.Holiday{sunday("Mātes diena", time.May, 2, 1990), easter("Vasarsvētki", 49, false)}},
	{country: "RS", law: "Zakon o državnim i drugim praznicima, art. 3a, and opinion 011-00-530/2020-02 of the Ministry of Labour",
		with: inLieu([]*cal.Holiday{rs.NovaGodina, rs.DrugiDanNoveGodine, rs.DanDrzavnosti, rs.DrugiDanDrzavnosti, rs.PraznikRada,
			rs.DrugiDanPraznikaRada, rs.DanPrimirja}, rs.Holidays, time.Sunday)},
	{country: "RU", law: "Labour Code, art. 112; days of 2026 by the decree of 24 September 2025", with: russianJanuary()},
	{country: "SK", law: "zákon 241/1993 Z. z., as amended in 2025: 17 November for good, two days in 2026 only",
		without: []*cal.Holiday{sk.Freedom, sk.Liberation, sk.LadyOfSorrows},
		with: []*cal.Holiday{sk.Freedom.Clone(&cal.Holiday{EndYear: 2024}), sk.Liberation.Clone(&cal.Holiday{Except: []int{2026}}),
			sk.LadyOfSorrows.Clone(&cal.Holiday{Except: []int{2026}})}},
	{country: "UA", law: "Labour Code, arts. 67 and 73, as amended in 2023; no day is free under martial law (law 2136-IX, art. 6)",
		without: []*cal.Holiday{ua.OrthodoxChristmas, ua.VictoryDay, ua.DefenderOfUkraineDay, ua.CatholicChristmas},
		with: append(inLieu([]*cal.Holiday{ua.LabourDay}, ua.Holidays, time.Saturday, time.Sunday),
			ua.OrthodoxChristmas.Clone(&cal.Holiday{EndYear: 2023}), ua.VictoryDay.Clone(&cal.Holiday{EndYear: 2023}),
			easter(ua.OrthodoxEasterMonday.Name, 0, true), easter(ua.OrthodoxPentecostMonday.Name, 50, true),
			yearly("День пам'яті та перемоги", time.May, 8, &cal.Holiday{StartYear: 2024, Observed: mondayAfter}),
			yearly("День Української Державності", time.July, 15, &cal.Holiday{StartYear: 2022, Observed: mondayAfter}),
			ua.DefenderOfUkraineDay.Clone(&cal.Holiday{EndYear: 2023}),
			yearly(ua.DefenderOfUkraineDay.Name, time.October, 1, &cal.Holiday{StartYear: 2024, Observed: mondayAfter}),
			ua.CatholicChristmas.Clone(&cal.Holiday{Observed: mondayAfter}))},
}, regions...)

// sourced is a holiday with its source: the law of a correction, or the library.
type sourced struct {
	*cal.Holiday
	source string
}

// corrected returns the holidays of a country or a subdivision by the law.
func corrected(country, subdivision string, holidays []*cal.Holiday) (all []sourced) {
	for _, h := range holidays {
		all = append(all, sourced{h, Library + " with corrections"})
	}
	for _, c := range corrections {
		if c.country != country || c.subdivision != "" && c.subdivision != subdivision {
			continue
		}
		all = slices.DeleteFunc(all, func(h sourced) bool { return slices.Contains(c.without, h.Holiday) })
		for _, h := range c.with {
			all = append(all, sourced{h, c.law})
		}
	}
	return all
}

// yearly returns a holiday on a day of the year.
func yearly(name string, month time.Month, day int, rest *cal.Holiday) *cal.Holiday {
	rest.Name, rest.Month, rest.Day, rest.Func = name, month, day, cal.CalcDayOfMonth
	return rest
}

// easter returns a holiday at a distance from Easter Sunday, which is that of the Orthodox churches if julian.
func easter(name string, offset int, julian bool) *cal.Holiday {
	return &cal.Holiday{Name: name, Offset: offset, Julian: julian, Func: cal.CalcEasterOffset}
}

// sunday returns a holiday on the nth Sunday of a month.
func sunday(name string, month time.Month, nth, since int) *cal.Holiday {
	return &cal.Holiday{Name: name, Month: month, Weekday: time.Sunday, Offset: nth, StartYear: since, Func: cal.CalcWeekdayOffset}
}

// inLieu returns the days in lieu of holidays on the days of rest of a week: the next day that is neither such a day nor one of all.
func inLieu(holidays, all []*cal.Holiday, rest ...time.Weekday) (days []*cal.Holiday) {
	for _, h := range holidays {
		days = append(days, &cal.Holiday{Name: h.Name, Func: func(_ *cal.Holiday, year int) time.Time {
			at, _ := h.Calc(year)
			if at.IsZero() || !slices.Contains(rest, at.Weekday()) {
				return time.Time{}
			}
			for slices.Contains(rest, at.Weekday()) || slices.ContainsFunc(all, func(other *cal.Holiday) bool {
				day, _ := other.Calc(year)
				return day.Equal(at)
			}) {
				at = at.AddDate(0, 0, 1)
			}
			return at
		}})
	}
	return days
}

// stephanstag is 26 December, unless that day is the third day of rest in a row, next to Christmas Day and a Sunday.
var stephanstag = &cal.Holiday{Name: ch.ZweiterWeihnachtsfeiertag.Name, Func: func(_ *cal.Holiday, year int) time.Time {
	at, _ := ch.ZweiterWeihnachtsfeiertag.Calc(year)
	if at.Weekday() == time.Tuesday || at.Weekday() == time.Saturday {
		return time.Time{}
	}
	return at
}}

// jeuneGenevois returns the Thursday after the first Sunday of September.
func jeuneGenevois(_ *cal.Holiday, year int) time.Time {
	return cal.CalcWeekdayOffset(sunday("", time.September, 1, 0), year).AddDate(0, 0, 4)
}

// naefelserFahrt returns the first Thursday of April, or the second if the first is Maundy Thursday.
func naefelserFahrt(_ *cal.Holiday, year int) time.Time {
	first := cal.CalcWeekdayOffset(&cal.Holiday{Month: time.April, Weekday: time.Thursday, Offset: 1}, year)
	if first.Equal(cal.CalcEasterOffset(easter("", -3, false), year)) {
		return first.AddDate(0, 0, 7)
	}
	return first
}

// movable returns an Argentine holiday that moves to the nearest Monday from Tuesday to Friday.
func movable(name string, month time.Month, day int) *cal.Holiday {
	by := map[time.Weekday]int{time.Tuesday: -1, time.Wednesday: -2, time.Thursday: 4, time.Friday: 3}
	return &cal.Holiday{Name: name, Func: func(_ *cal.Holiday, year int) time.Time {
		at := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		return at.AddDate(0, 0, by[at.Weekday()])
	}}
}

// russianJanuary returns the New Year holidays.
func russianJanuary() (all []*cal.Holiday) {
	const name = "Новогодние каникулы"
	for _, day := range []int{2, 3, 4, 5, 6, 8} {
		all = append(all, yearly(name, time.January, day, &cal.Holiday{StartYear: 2013}))
	}
	return append(all, yearly(name, time.January, 9, &cal.Holiday{StartYear: 2026, EndYear: 2026}),
		yearly(name, time.December, 31, &cal.Holiday{StartYear: 2026, EndYear: 2026}))
}
