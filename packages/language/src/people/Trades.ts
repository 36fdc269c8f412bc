/** Words of occupations, in English: most are known by their ending, these are not. */
import { wordSet } from "../text/OneOf.ts"

/** Occupations that do not end like one. */
export const trades = wordSet(`
  nurse chef student clerk pilot coach judge vet cook midwife surgeon mechanic plumber lawyer doctor ceo cto optician barista
  secretary executive representative analyst technician intern sister novelist captain stonemason paramedic illustrator carpenter electrician mason
  monk nun priest imam rabbi pastor soldier sailor athlete coder dev therapist designer astronaut head principal
`)

/** End like an occupation and are none. */
export const noTrades = wordSet(`
  lover hiker expert newbie owner brother mother father beginner member loser believer parent cancer smoker drinker reader eater sleeper
  person gamer foodie user customer newcomer winner stranger number reminder matter blocker better supporter helper
  realist optimist pessimist perfectionist factor mirror honor color error elephant giant important significant great
  challenger wonder disaster master monster partner sister-in-law chapter center order power filter character finisher
  starter keeper breather teaser killer lifesaver listener riser thinker follower mover contributor survivor fighter vegetarian
  daughter other after later never offer answer corner summer winter number bummer
`)
