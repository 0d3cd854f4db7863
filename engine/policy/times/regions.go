package times

import (
	"slices"
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/br"
	"github.com/rickar/cal/v2/ca"
	"github.com/rickar/cal/v2/es"
	"github.com/rickar/cal/v2/gb"
)

// regions are the holidays of regions. The library has the whole country only.
var regions = slices.Concat(spain, brazil, canada, alsaceMoselle, unitedKingdom)

// regionsOf returns the holidays of a country for each of its regions, before corrections.
func regionsOf(country string, national []*cal.Holiday) map[string][]*cal.Holiday {
	all := map[string][]*cal.Holiday{}
	for _, r := range regions {
		if r.country == country {
			all[r.subdivision] = national
		}
	}
	return all
}

// region returns a correction with additional holidays. The holidays are copies, since a holiday leads to its law.
func region(country, subdivision, law string, with ...*cal.Holiday) correction {
	return correction{country: country, subdivision: subdivision, law: law, with: clones(with, nil)}
}

// clones returns copies of holidays, with other days in lieu if observed is not nil.
func clones(holidays []*cal.Holiday, observed []cal.AltDay) (all []*cal.Holiday) {
	for _, h := range holidays {
		all = append(all, h.Clone(&cal.Holiday{Observed: observed}))
	}
	return all
}

// on returns a holiday on a day of each year.
func on(name string, month time.Month, day int) *cal.Holiday {
	return yearly(name, month, day, &cal.Holiday{})
}

// in2026 returns a holiday of the year 2026 only.
func in2026(name string, month time.Month, day int) *cal.Holiday {
	return yearly(name, month, day, &cal.Holiday{StartYear: 2026, EndYear: 2026})
}

// nthMonday returns a holiday on the nth Monday of a month.
func nthMonday(name string, month time.Month, nth int) *cal.Holiday {
	return &cal.Holiday{Name: name, Month: month, Weekday: time.Monday, Offset: nth, Func: cal.CalcWeekdayOffset}
}

// afterSunday moves a holiday from Sunday to Monday.
var afterSunday = []cal.AltDay{{Day: time.Sunday, Offset: 1}}

// boe2026 is the law of communities of Spain whose decree was not read.
const boe2026 = "Resolución de la Dirección General de Trabajo, fiestas laborales para 2026 (BOE-A-2025-21667)"

// Holidays of several communities of Spain.
var (
	maundyThursday   = easter("Jueves Santo", -3, false)
	easterMonday     = easter("Lunes de Pascua", 1, false)
	saintJoseph2026  = in2026("San José", time.March, 19)
	eidAlFitr2026    = in2026("Eid al-Fitr", time.March, 20)
	eidAlAdha2026    = in2026("Eid al-Adha", time.May, 27)
	allSaints2026    = in2026(es.TodosLosSantos.Name, time.November, 2)
	constitution2026 = in2026(es.Constitucion.Name, time.December, 7) //nolint:misspell // Spanish
)

// spain are the communities and cities. Each decides every year on four of its twelve days, and on the Mondays after a holiday
// on a Sunday; the days of one year are from the decrees on 2026. Holidays of single islands and towns are missing.
var spain = []correction{
	mondays("AN", "Decreto 101/2025 (Andalucía)", on("Día de Andalucía", time.February, 28)),
	mondays("AR", boe2026+": Aragón", on("San Jorge", time.April, 23)),
	mondays("AS", boe2026+": Asturias", on("Día de Asturias", time.September, 8)),
	region("ES", "CB", boe2026+": Cantabria", maundyThursday, constitution2026,
		on("Día de las Instituciones", time.July, 28), on("La Bien Aparecida", time.September, 15)),
	region("ES", "CE", boe2026+": Ceuta", maundyThursday, eidAlFitr2026,
		eidAlAdha2026, on("San Antonio", time.June, 13), on("Nuestra Señora de África", time.August, 5),
		in2026("Día de Ceuta", time.September, 2)),
	mondays("CL", "decreto sobre las fiestas laborales de Castilla y León para 2026", on("Fiesta de Castilla y León", time.April, 23)),
	region("ES", "CM", "Decreto 44/2025 (Castilla-La Mancha)", maundyThursday, in2026(easterMonday.Name, time.April, 6), allSaints2026,
		on("Día de Castilla-La Mancha", time.May, 31), easter("Corpus Christi", 60, false)),
	region("ES", "CN", "Decreto 61/2025 (Canarias)", maundyThursday, allSaints2026, on("Día de Canarias", time.May, 30)),
	region("ES", "CT", "ordre de festes laborals a Catalunya per a 2026", easterMonday, on("Sant Joan", time.June, 24),
		on("Diada Nacional", time.September, 11), on("Sant Esteve", time.December, 26)),
	mondays("EX", "decreto sobre las fiestas laborales de Extremadura para 2026", on("Día de Extremadura", time.September, 8)),
	region("ES", "GA", "decreto sobre as festas do calendario laboral de Galicia para 2026", maundyThursday, saintJoseph2026,
		on("Día das Letras Galegas", time.May, 17), in2026("San Xoán", time.June, 24), on("Día Nacional de Galicia", time.July, 25)),
	region("ES", "IB", "calendari de festes laborals de les Illes Balears per a 2026 i 2027", maundyThursday, easterMonday,
		yearly("Dia de les Illes Balears", time.March, 1, &cal.Holiday{Observed: afterSunday}),
		yearly("Segona festa de Nadal", time.December, 26, &cal.Holiday{Except: []int{2027}})),
	region("ES", "MC", boe2026+": Murcia", maundyThursday, constitution2026,
		on("San José", time.March, 19), on("Día de la Región de Murcia", time.June, 9)),
	mondays("MD", "Decreto 75/2025 (Comunidad de Madrid)", on("Fiesta de la Comunidad de Madrid", time.May, 2)),
	region("ES", "ML", "BOME 6315, 3 de octubre de 2025 (Melilla)", maundyThursday, eidAlFitr2026, eidAlAdha2026, constitution2026,
		on("Nuestra Señora de la Victoria", time.September, 8), on("Día de Melilla", time.September, 17)),
	region("ES", "NC", "Resolución 390/2025 (Navarra)", maundyThursday, easterMonday, saintJoseph2026, allSaints2026,
		on("San Francisco Javier", time.December, 3)),
	region("ES", "PV", "Decreto 82/2025 (País Vasco)", maundyThursday, easterMonday, saintJoseph2026,
		on("Santiago Apóstol", time.July, 25)),
	region("ES", "RI", boe2026+": La Rioja", maundyThursday, easterMonday,
		constitution2026, on("Día de La Rioja", time.June, 9)),
	region("ES", "VC", "decreto del Consell sobre el calendario laboral de la Comunitat Valenciana para 2026", easterMonday,
		on("San José", time.March, 19), on("San Juan", time.June, 24), on("Día de la Comunitat Valenciana", time.October, 9)),
}

// mondays returns the holidays of a community of Spain with holidays moved from Sunday to Monday, as art. 45 of Real Decreto
// 2001/1983 says where the community decides nothing else.
func mondays(subdivision, law string, own *cal.Holiday) correction {
	moved := append(clones(append(slices.Clone(es.Holidays), own), afterSunday), maundyThursday.Clone(nil))
	return correction{country: "ES", subdivision: subdivision, law: law, without: es.Holidays, with: moved}
}

// brazil are the states: besides the holidays of the country, a state has those of its own laws (Lei 9.093/1995, art. 1). Days
// on which only the offices of the state close are missing.
var brazil = []correction{
	region("BR", "AC", "Decreto 11.809/2025 (AC)", on("Dia do Católico", time.January, 20), in2026("Dia do Católico", time.January, 22),
		on("Dia do Evangélico", time.January, 23), on("Aniversário do Acre", time.June, 15),
		on("Dia Internacional da Mulher", time.March, 8), //nolint:misspell // Portuguese
		on("Dia da Amazônia", time.September, 5), on("Tratado de Petrópolis", time.November, 17)),
	region("BR", "AL", "Decreto 106.093/2025 (AL)", on("São João", time.June, 24), on("São Pedro", time.June, 29),
		on("Emancipação Política de Alagoas", time.September, 16), on("Dia do Evangélico", time.November, 30)),
	region("BR", "AM", "the days of 2026 by g1.globo.com", on("Elevação do Amazonas a província", time.September, 5)),
	region("BR", "AP", "as date-holidays has it", on("São José", time.March, 19),
		on("Criação do Território do Amapá", time.September, 13)),
	region("BR", "BA", "as date-holidays has it", on("Independência da Bahia", time.July, 2)),
	region("BR", "CE", "Data Magna (CE), 2011", on("Data Magna do Ceará", time.March, 25)),
	region("BR", "DF", "Leis 72/1989 and 963/1995 (DF)", easter(br.CorpusChristi.Name, 60, false),
		on("Dia do Evangélico", time.November, 30)),
	region("BR", "ES", "Lei 11.010/2019 (ES)", easter("Nossa Senhora da Penha", 8, false)),
	region("BR", "GO", "as date-holidays has it", on("Fundação da Cidade de Goiás", time.July, 26),
		on("Pedra fundamental de Goiânia", time.October, 24)),
	region("BR", "MA", "Lei 2.457/1964 (MA)", on("Adesão do Maranhão à Independência", time.July, 28)),
	region("BR", "MG", "the Data Magna is 21 April, as in the whole country"),
	region("BR", "MS", "decreto de 25 de novembro de 2025 (MS)", on("Criação do Estado", time.October, 11)),
	region("BR", "MT", "Decreto 1.787/2025 (MT): no holidays besides those of the country"),
	region("BR", "PA", "as date-holidays has it", on("Adesão do Pará à Independência", time.August, 15)),
	region("BR", "PB", "Lei 10.601/2015 (PB), which repealed 26 July", on("Data Magna da Paraíba", time.August, 5)),
	region("BR", "PE", "Lei 16.059/2017 (PE)", on("Data Magna de Pernambuco", time.March, 6)),
	region("BR", "PI", "Decreto 24.285/2025 (PI)", easter(br.CorpusChristi.Name, 60, false), on("Dia do Piauí", time.October, 19)),
	region("BR", "PR", "Lei 18.384/2014 (PR), which repealed 19 December"),
	region("BR", "RJ", "Leis 5.198/2008 and 5.243/2008 (RJ)", easter(br.Carnaval.Name, -47, false), on("São Jorge", time.April, 23)),
	region("BR", "RN", "Decreto 35.209/2025 (RN)", on("Mártires de Cunhaú e Uruaçu", time.October, 3)),
	region("BR", "RO", "as date-holidays has it", on("Instalação do Estado", time.January, 4), on("Dia do Evangélico", time.June, 18)),
	region("BR", "RR", "as date-holidays has it", on("Criação do Estado", time.October, 5)),
	region("BR", "RS", "decreto de 30 de janeiro de 2026 (RS)", on("Revolução Farroupilha", time.September, 20)),
	region("BR", "SC", "the Data Magna of 11 August is kept on the next Sunday, as date-holidays has it",
		&cal.Holiday{Name: "Data Magna de Santa Catarina", Month: time.August, Day: 11, Weekday: time.Sunday, Offset: 1,
			Func: cal.CalcWeekdayFrom}),
	region("BR", "SE", "decreto de 31 de dezembro de 2025 (SE)", on("Independência de Sergipe", time.July, 8)),
	region("BR", "SP", "Lei 9.497/1997 (SP)", on("Revolução Constitucionalista", time.July, 9)),
	region("BR", "TO", "Lei 4.509/2024 (TO) and the days of 2026 by g1.globo.com",
		yearly("Senhor do Bonfim", time.August, 15, &cal.Holiday{StartYear: 2025}), on("Nossa Senhora da Natividade", time.September, 8),
		on("Criação do Tocantins", time.October, 5)),
}

// Holidays of several provinces of Canada.
var (
	familyDay      = nthMonday("Family Day", time.February, 3)
	indigenous     = on("National Indigenous Peoples Day", time.June, 21)
	civicHoliday   = nthMonday("Civic Holiday", time.August, 1)
	reconciliation = ca.NationalDayForTruthAndReconciliation
)

// canada are the provinces and territories. Their acts on employment hold for most people, and the Canada Labour Code, with the
// holidays of the whole country, for some industries. Most acts leave the day in lieu of a Saturday or Sunday to the employer.
var canada = []correction{
	province("AB", "Employment Standards Code (AB), general holidays", nil, familyDay, ca.VictoriaDay,
		ca.ThanksgivingDay, ca.RemembranceDay),
	province("BC", "Employment Standards Act (BC), as amended in 2023", nil, familyDay, ca.VictoriaDay,
		nthMonday("British Columbia Day", time.August, 1), reconciliation, ca.ThanksgivingDay, ca.RemembranceDay),
	province("MB", "Employment Standards Code (MB), s. 21, as amended by Bill 4 of the 43rd Legislature", nil,
		nthMonday("Louis Riel Day", time.February, 3), ca.VictoriaDay, reconciliation, ca.ThanksgivingDay),
	province("NB", "Employment Standards Act (NB), s. 18", nil, familyDay,
		nthMonday("New Brunswick Day", time.August, 1), ca.RemembranceDay),
	province("NL", "Labour Standards Act (NL), s. 14", nil, ca.RemembranceDay),
	province("NS", "Labour Standards Code (NS); Remembrance Day Act (NS)", nil,
		nthMonday("Heritage Day", time.February, 3), ca.RemembranceDay),
	province("NT", "Employment Standards Act (NT), as amended in 2022", nil, ca.VictoriaDay, indigenous, civicHoliday, reconciliation,
		ca.ThanksgivingDay, ca.RemembranceDay),
	province("NU", "Labour Standards Act (NU), as amended in 2020 and 2022", nil, ca.VictoriaDay, on("Nunavut Day", time.July, 9),
		civicHoliday, reconciliation, ca.ThanksgivingDay, ca.RemembranceDay),
	province("ON", "Employment Standards Act, 2000 (ON), s. 1", nil, familyDay, ca.VictoriaDay, ca.ThanksgivingDay, ca.BoxingDay),
	province("PE", "Employment Standards Act (PE)", nil, nthMonday("Islander Day", time.February, 3), reconciliation, ca.RemembranceDay),
	province("QC", "Loi sur les normes du travail (QC), art. 60; Loi sur la fête nationale", nil,
		ca.VictoriaDay.Clone(&cal.Holiday{Name: "Journée nationale des patriotes"}), //nolint:misspell // French
		on("Fête nationale", time.June, 24), ca.ThanksgivingDay),
	province("SK", "Saskatchewan Employment Act, public holidays", afterSunday, familyDay, ca.VictoriaDay,
		nthMonday("Saskatchewan Day", time.August, 1), ca.ThanksgivingDay, ca.RemembranceDay),
	province("YT", "Employment Standards Act (YT): the next working day is in lieu of another", mondayAfter, ca.VictoriaDay, indigenous,
		nthMonday("Discovery Day", time.August, 3), reconciliation, ca.ThanksgivingDay, ca.RemembranceDay),
}

// province returns the holidays of a province or territory of Canada: the five of all of them, and others. lieu has the days in
// lieu by its act; Canada Day moves from Sunday everywhere (Holidays Act, R.S.C. 1985, c. H-5).
func province(subdivision, law string, lieu []cal.AltDay, others ...*cal.Holiday) correction {
	all := append([]*cal.Holiday{ca.NewYear, ca.GoodFriday, ca.LabourDay, ca.ChristmasDay}, others...)
	if lieu == nil {
		lieu = []cal.AltDay{}
	}
	canadaDay := ca.CanadaDay.Clone(&cal.Holiday{Observed: append(slices.Clone(afterSunday), lieu...)})
	return correction{country: "CA", subdivision: subdivision, law: law, without: ca.Holidays, with: append(clones(all, lieu), canadaDay)}
}

// alsaceMoselle are the departments with the local law, and Alsace as a whole. Good Friday is a holiday in places with a
// Protestant church.
var alsaceMoselle = []correction{localLaw("57"), localLaw("67"), localLaw("68"), localLaw("6AE")}

func localLaw(subdivision string) correction {
	return region("FR", subdivision, "Code du travail, art. L3134-13", easter("Vendredi saint", -2, false),
		on("Saint-Étienne", time.December, 26))
}

const bankHolidays = "Banking and Financial Dealings Act 1971, Schedule 1"

// unitedKingdom are the parts with bank holidays of their own; the library's list of the country is for England and Wales.
var unitedKingdom = []correction{
	region("GB", "ENG", bankHolidays),
	region("GB", "WLS", bankHolidays),
	region("GB", "NIR", bankHolidays+"; proclamation of 12 July",
		yearly("St Patrick's Day", time.March, 17, &cal.Holiday{Observed: mondayAfter}),
		yearly("Battle of the Boyne", time.July, 12, &cal.Holiday{Observed: mondayAfter})),
	{country: "GB", subdivision: "SCT",
		law:     bankHolidays + "; St Andrew's Day Bank Holiday (Scotland) Act 2007; proclamation of 4 February 2026",
		without: []*cal.Holiday{gb.EasterMonday, gb.SummerHoliday},
		with: []*cal.Holiday{gb.SummerHolidayScotland, in2026("World Cup Bank Holiday", time.June, 15),
			yearly("2nd January", time.January, 2, &cal.Holiday{Observed: []cal.AltDay{
				{Day: time.Saturday, Offset: 2}, {Day: time.Sunday, Offset: 2}, {Day: time.Monday, Offset: 1}}}),
			yearly("St Andrew's Day", time.November, 30, &cal.Holiday{StartYear: 2007, Observed: mondayAfter})}},
}
