/** Words and forms of events. */
import { wordSet } from "@muniment/language/text/OneOf"

/** Verbs of what happens on a day; a dated statement without one is no event. */
export const happenings = wordSet(`
  went go goes going visited visit visits visiting started start starts starting finished finish finishes
  booked met meet meets meeting flew fly flies flying arrived arrive arrives arriving left leave leaves leaving married
  divorced engaged graduated graduate graduates opened open opens opening launched launch launches launching ran run runs
  running won lost joined join joins joining attended attend attends attending hosted host hosts hosting celebrated
  celebrate celebrates celebrating turn turns began begin begins expires due scheduled postponed cancelled canceled
  rescheduled moved moving performed perform performs performing presented present presents presenting competed compete
  competing volunteered signed registered travelled traveled travelling traveling heading hired
  promoted retired completed camping hiked take taking handed submitted passed failed broke had have has got get gets
  getting visits stays staying arrives renew moves is was will throwing threw bought sold adopted picked dropped dropping
  participated seeing volunteering playing played
`)

const commaList = (text: string): ReadonlyArray<string> =>
  text.split(",").map((word) => word.replace(/\s+/g, " ").trim())

/** Things that are on a day. */
export const occasions =
  commaList(`appointments?, interviews?, flights?, exams?, tests?, finals?, weddings?, surgery, operation,
  meetings?, party, parties, graduation, deadlines?, trips?, vacation, holidays?, half[- ]marathon, marathon, race, concerts?, gig,
  move, due date, check-?up, presentations?, conferences?, anniversary, recital, gala, game, match, tournament, dinner, lunch, brunch,
  breakfast, reunion, audition, performance, visit, class, course, workshop, lesson, session, webinar, call, review,
  hearing, funeral, baptism, christening, bar mitzvah, baby shower, bachelorette, festival, show, exhibition, launch, release,
  demo, completion, off-?site, physio, results, last day, first day, start date, end date, kick-?off, stand-?up,
  catch-?up, sync, move-in, check-in, ceremony, defen[cs]e, viva, scan, ultrasound, mri, haircut, bbq, barbecue, retreat,
  road trip, cruise, hike, camping trip, picnic, sleepover, orientation, closing, inspection, train, bus, ferry, fundraiser,
  competition, rehearsal, dentist, therapy, clinic, screening, premiere, delivery, race, parade, reading, seminar`)

/** Happens again and again. */
export const habits = `every|each|daily|weekly|monthly|yearly|annually|usually|always|(?:once|twice|\\w+ times) an? (?:day|week|month|year)|\\w+days|weekends|mornings|evenings`

/** Stays true after the day: facts tell it. */
export const lasting = `(?:{have} )?(?:just )?(?:moved (?:to|in|into|out|from|here|back)|quit|left my|left the|lost my job|lost the job|retired|bought|sold|adopted|gave up|stopped|switched|resigned|{was} born|{was} diagnosed|got (?:engaged|married|divorced|laid|fired|promoted)|{was} (?:laid|fired|promoted|hired)|started (?:at|with|as|working)|started (?:a new|my new|an?) (?:\\w+ )?(?:job|role|position)|used to|live|lives|lived|work|works|worked|broke (?:my|her|his|up)|died|passed away|became|turned|own|owns|speak|love|like|hate|prefer)`

/** Leads of plans. */
export const plans = `(?:will|shall) (?:be )?|{be} (?:going|planning|about|set|due|scheduled|supposed|booked|hoping|expecting) (?:to|on|of|for) |plans? (?:to|on) |have to |has to |need to |needs to `

/** Things that begin, arrive and end by themselves. */
export const comings = `(?:is|are) (?:coming|arriving|due|starting|moving|visiting)|comes?|arrives?|starts?|begins?|ends?|opens?|closes?|leaves?|expires?|(?:is|are|was|got|has been|have been) (?:{movedDate})`

/** A day that went one way or another is no event. */
export const judged = wordSet(`
  great good bad fun blast amazing awesome nice wonderful tough rough hard crazy day time week weekend night morning
  accomplishment super breakthrough realization moment setback scare
`)

/** Need no object. */
export const whole = wordSet(
  "graduated graduate graduates graduating retired retire retires retiring married divorced engaged performed competed"
)

/** What was booked has a day to come. */
export const bookings = `booked|reserved|scheduled|arranged|(?:got|bought) (?:\\w+ )?tickets|(?:made|got) (?:an|my|the|another) appointment|planned`

/** The day may be that of the course or that of signing. */
export const signings = `signed (?:\\w+ )?up|registered|enrolled|entered|applied|got (?:a|my) (?:place|spot)|r\\.?s\\.?v\\.?p`

/** Act for themselves: what they do on a day is no event of the speaker. */
export const parties = `company|council|government|school|university|bank|shop|store|supermarket|bakery|club|team|band|choir|library|church|city|town|firm|airline|landlord|neighbou?rs?|couple|man|woman|guys?|girls?|boys?|people|others|friends?|kids|children|twins`
