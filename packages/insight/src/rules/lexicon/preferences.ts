/** Forms of tastes up to their object, in the order in which they are tried (Pattern.ts), and the domains of objects. */
import type { FormRow } from "./rules.ts"
import { rowsOf, wordSet } from "@muniment/language/text/OneOf"

export interface TasteForm extends FormRow {
  readonly type: "likes" | "dislikes" | "prefers"
}

/** `type :: form :: example :: counterexample`. */
const table = String.raw`
  dislikes :: {not} (?:{soft} )*(?:{like}|care for|dig)(?: (?:eating|drinking))? :: I don't like horror movies. :: I do not like it.
  dislikes :: (?:am|is|are) (?:not|no longer|never) (?:{soft} )*(?:an? )?(?:big |huge |great )?{fan} :: I'm not a fan of spicy food. :: I'm not into it.
  dislikes :: (?:have|has) never (?:{soft} )*(?:liked|enjoyed|cared for|been (?:into|keen on|fond of|a fan of)) :: I've never liked olives. :: I've never liked that.
  dislikes :: (?:{have} )?(?:{soft} )*{dislike}|can not (?:stand|bear|tolerate)|{be} (?:sick of|fed up with|put off by|not one for|no fan of)|went off|{have} gone off :: I can't stand loud music. :: I hate to say it.
  prefers :: (?:would )?(?:{soft} )*(?:prefers?|preferred|favou?rs?)|would (?:much )?rather(?! not)|(?:would )?(?:always|usually) (?:choose|go for|pick)|opts? for :: I prefer tea over coffee. :: I would rather not.
  likes :: (?:{be}|{been}) (?:{soft} )*(?:such |kind of )?(?:an? )?(?:big |huge |massive |great |lifelong |avid |die-hard |real )*{fan} :: I'm a big fan of Radiohead. :: I'm into it.
  likes :: (?:{have} )?(?:{soft} )*{like}|can not (?:get enough of|live without) :: I love jazz. :: I would love to go.
  likes :: {have} an? (?:soft spot|sweet tooth|weakness|passion) for|(?:{have} )?(?:fell|fallen) in love with|(?:{have} )?(?:got|gotten) into :: I have a soft spot for pugs. :: I have a thing tomorrow.
  likes :: {have} (?:grown|come|learned|learnt) to (?:like|love|enjoy)|gets? a kick out of|thrives? on|never gets? (?:tired|bored) of :: I've come to love olives. :: I have come to see you.
`

export const tasteForms: ReadonlyArray<TasteForm> = rowsOf(table).map(
  ([type, says = "", example = "", counterexample = ""]) => ({
    type: type as TasteForm["type"],
    says,
    example,
    counterexample
  })
)

/** What follows the object says how or why, not what. */
export const objectEnds =
  `because|but|although|though|so that|since|as long as|which|whenever|even though|when|while|where|
  cause|especially|particularly|mostly|mainly|so|except|unless|if|after|before|until|lately|these days|nowadays|any ?more|a lot|
  very much|so much|much|the most|at all|to be honest|too|as well|either|anyway|honestly|now|right now|again|more than
  anything|best|tbh|though|for (?:me|sure|now|its|their|the)|to (?:death|bits)|like crazy|as it|due to|thanks to|with all`.replace(
    /\s*\n\s*/g,
    ""
  )

/** No list in spite of its `and`. */
export const pairs = wordSet(
  "mac salt rock fish bread bed black gin art arts drum track research science peanut-butter R&B sweet hot up"
)

/** Words that tell the domain of an object. */
export const domains: Readonly<Record<string, ReadonlySet<string>>> = {
  food: wordSet(`food eat eating meal meals sushi pizza pasta cheese meat beef pork chicken fish seafood vegetables fruit fruits
    chocolate dessert cooking baking bread mushrooms olives cilantro coriander garlic onions spicy curry tacos ramen noodles
    rice dairy gluten sugar eggs nuts salads soup cuisine restaurants breakfast lunch dinner snacks broccoli tofu bananas
    apples tomatoes avocado anchovies pineapple shellfish`),
  drink:
    wordSet(`coffee tea wine beer alcohol juice soda espresso cocktails whisky whiskey water cola latte caffeine gin decaf
    matcha`),
  music:
    wordSet(`music jazz rock metal pop hip-hop rap classical opera song songs concert concerts vinyl band bands guitar piano
    techno blues podcasts`),
  travel:
    wordSet(`travel travelling traveling trips flights hotels seat seats beach beaches camping backpacking trains flying
    airbnbs`),
  sports:
    wordSet(`sport sports football soccer tennis basketball running hiking swimming cycling climbing yoga gym skiing surfing
    skating rugby cricket golf boxing workouts`),
  entertainment:
    wordSet(`movie movies film films series shows tv netflix anime game games gaming book books novel novels reading
    comics documentaries theater theatre sci-fi horror thrillers`),
  technology:
    wordSet(`python javascript typescript rust java linux mac windows android iphone vim emacs code coding programming
    laptops keyboards software mode`),
  work: wordSet(`meeting meetings remote remotely office deadlines emails calls jobs working career`)
}
