/** Words of names and attributes. */
import { wordSet } from "@muniment/language/text/OneOf"

/** With a capital, and no name of the user. */
export const notNames = wordSet(`
  Vegan Asian Jew Jewish Muslim Sikh Hindu Quaker Mormon Aries Taurus Gemini Cancer Leo Virgo Libra Scorpio Sagittarius
  Capricorn Aquarius Pisces Type Team Gen Group Class Year Grade Level Mr Mrs Ms Dr Groot ChatGPT Claude Siri Alexa Iron
  King Queen Prince Captain God Satan Santa
`)

/** Attributes worth keeping: what stays true of somebody. Some have one value at a time. */
export const attributes = new Set(
  `birthday, date of birth, age, job, job title, occupation, profession, career, role, position, employer, company, email,
  e-mail, email address, mail, phone, phone number, number, cell, mobile, address, website, handle, username, github,
  linkedin, twitter, instagram, pronouns, nationality, native language, mother tongue, first language, hometown, home town,
  hobby, hobbies, interests, goal, dream job, ambition, major, degree, school, university, college, blood type, height, weight,
  shoe size, size, diet, allergy, allergies, condition, medication, dose, doctor, dentist, therapist, landlord, boss,
  car, bike, bicycle, motorbike, laptop, computer, phone model, house, apartment, flat, home, office, timezone, time zone,
  religion, faith, zodiac sign, star sign, middle name, last name, surname, maiden name, nickname, budget, salary, rent,
  commute, anniversary, wedding anniversary, instrument, horse, boat, business, startup, shop, thesis, dissertation,
  heritage, background, roots, specialty, speciality, expertise, field, shift, shifts, license, visa, passport, breed,
  full name, emergency contact, bank, insurer, insurance, gym, resolution`
    .split(",")
    .map((noun) => noun.replace(/\s+/g, " ").trim())
)

/** The attribute that a noun names, where one value replaces another. */
export const singleValues: Readonly<Record<string, string>> = {
  birthday: "birthday",
  "date of birth": "birthday",
  age: "age",
  job: "job title",
  "job title": "job title",
  occupation: "job title",
  profession: "job title",
  position: "job title",
  employer: "employer",
  company: "employer",
  email: "email",
  "e-mail": "email",
  "email address": "email",
  mail: "email",
  phone: "phone number",
  "phone number": "phone number",
  number: "phone number",
  cell: "phone number",
  mobile: "phone number",
  address: "address",
  home: "home",
  diet: "diet",
  major: "study",
  car: "car",
  bank: "bank",
  insurer: "insurer",
  insurance: "insurer",
  doctor: "doctor",
  dentist: "dentist",
  therapist: "therapist",
  landlord: "landlord",
  boss: "boss",
  anniversary: "anniversary",
  "wedding anniversary": "anniversary",
  timezone: "time zone",
  "time zone": "time zone",
  weight: "weight",
  salary: "salary",
  rent: "rent",
  "last name": "last name",
  surname: "last name",
  nickname: "nickname",
  gym: "gym",
  "emergency contact": "emergency contact"
}

/** One at a time: who it is supersedes who it was. */
export const singleRelations = wordSet(`
  wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee spouse boss manager supervisor landlord landlady
  dentist doctor gp therapist physio lawyer accountant coach trainer tutor hairdresser vet cleaner gardener plumber
`)

/** Attributes for the moment. */
export const moods = wordSet(`
  great good bad dead broken slow fast hard easy killing mess messy nightmare terrible awful nice amazing boring stressful
  going getting done ready fire working acting giving being full empty crazy weird here there off late tired that whether
  why how what about so really very too pretty fine ok okay not
`)
