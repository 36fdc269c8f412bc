/** Contact data as facts, wherever it stands in a sentence: `You can reach me at ...`, `Email is ...`. */
import { contactsIn } from "./Entities.ts"
import type { Finding } from "./Finding.ts"
import type { People } from "./People.ts"

const labels = [
  ["email", "email address"],
  ["phone", "phone number"]
] as const

export const contactFindings = (text: string, people: People): ReadonlyArray<Finding> =>
  contactsIn(text, people).flatMap((entity) => {
    if (entity.type !== "speaker" && entity.type !== "person") return []
    const { name } = entity.fields
    const subject = entity.type === "speaker" ? people.speaker : name
    const head = entity.type === "speaker" ? people.speakerHead : name
    if (typeof subject !== "string") return []
    return labels.flatMap(([key, label]): ReadonlyArray<Finding> => {
      const value = entity.fields[key]
      if (typeof value !== "string") return []
      return [{ rule: "contact", type: "fact", subject, text: `${String(head)}'s ${label} is ${value}`, entity }]
    })
  })

/** Whether `told` contains the value that `fact` ends with. */
export const sharesValue = (told: string, fact: string): boolean => told.includes(fact.split(" is ").at(-1) ?? fact)
