/** Words by which the output gate decides (Candidates.ts). */
import { wordSet } from "@muniment/language/text/OneOf"

/** Point at something outside of the memory. */
export const pointers = wordSet(`
  it its this that these those them they their you your yours yourself what something someone somebody anything
  anyone everything everyone nothing there here such thing things stuff one ones same both other others another he she
  him which whatever wherever how her his hers she
`)

/** In what is liked: no object of a taste. */
export const emptyObjects = wordSet(`
  trying having being doing going getting seeing knowing making taking thinking hearing looking different lot lots much more
  many some way ways idea ideas all every any so really hope sense part particular
`)

/** After `the` in what is liked: what all people mean by it. */
export const generals = wordSet(`
  outdoors beach sea ocean mountains mountain forest woods rain snow cold heat sun gym theater theatre opera city countryside
  cinema movies piano guitar violin drums weather summer winter autumn spring nature
`)

/** Alone no object of a taste. */
export const bareWords = wordSet(`
  to wait huge big total real great good new old own best first last user family family's life job work me us`)

/** Things that people do for themselves, and say with one word. */
export const activities = wordSet(`
  hiking running swimming cycling biking climbing skiing snowboarding surfing sailing rowing fishing hunting camping
  gardening cooking baking reading writing painting drawing sketching knitting sewing crocheting dancing singing gaming
  coding programming travelling traveling driving flying boxing skating skateboarding bouldering kayaking canoeing
  diving snorkeling jogging walking backpacking birdwatching photography pottery woodworking brewing journaling meditating
  weightlifting wrestling weeding ironing cleaning commuting networking farming pottery quilting archery counseling volunteering fencing karaoke shopping sunbathing stargazing clubbing gambling
`)

/** A second clause begins. */
export const subordinators = wordSet(`
  because when whenever while although though if unless so but who whose whom which where why until once whether
  cause however therefore
`)

/** States and happenings that are over before the memory is read. */
export const passing = wordSet(`
  today tonight tomorrow yesterday lately recently now currently soon later moment
  tired sick hungry busy late sad happy glad sorry excited nervous stressed sure ready done thankful grateful proud
  pumped psyched thrilled stoked hyped blessed lucky amazing awesome great wonderful tough hard
`)

/** Past forms that stand behind a noun. */
export const participles = wordSet(`
  named called based born located made written set known built adopted used married engaged pregnant related hand-made homemade
  diagnosed promoted hired fired retired allergic scared interested
`)

/** Finite by themselves. */
export const auxiliaries = wordSet(
  "am is are was were has have had does did do will can would could should may might must i we"
)

/** Behind these something was left out. */
export const openEnds = wordSet(
  "more few lot some one ones another of to at for with from by about into the an my our and or"
)
