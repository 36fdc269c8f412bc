/** Questions in other languages than English: answered where a statement repeats their words, and by nothing else. */
import { describe, expect, it } from "vitest"
import { extractiveAnswer } from "@muniment/insight/answers/ExtractiveAnswers"
import type { Evidence } from "@muniment/insight/answers/WrittenAnswer"

const chat = (...said: ReadonlyArray<string>): ReadonlyArray<Evidence> =>
  said.map((text, position) => ({
    id: `m${position}`,
    kind: "conversation_message",
    data: { role: "user", text },
    createdAt: 1,
    relevance: 0.5,
    turn: { conversation: "c", position },
    owner: "o",
    sources: [`k${position}`]
  }))

const answered = (question: string, ...said: ReadonlyArray<string>) => extractiveAnswer(question, chat(...said))

describe("a statement in the words of the question is its answer", () => {
  it.each([
    ["Wo arbeite ich?", "Ich arbeite bei Siemens."],
    ["Wo arbeite ich?", "Seit 2019 arbeite ich in einer Bäckerei."],
    ["Wie heißt meine Katze?", "Hallo, meine Katze heißt Minka und ist elf."],
    ["Wann fahre ich nach Wien?", "Am Dienstag fahre ich nach Wien."],
    ["Wie viele Kinder habe ich?", "Ich habe drei Kinder."],
    ["Warum lerne ich Polnisch?", "Ich lerne Polnisch, weil meine Oma aus Danzig ist."],
    ["Was esse ich nicht?", "Ich esse nicht gern Pilze."],
    ["Wie heiße ich?", "Hallo! Ich heiße Anke."],
    ["Wie alt bin ich?", "Ich bin 34 Jahre alt."],
    ["Wann habe ich Geburtstag?", "Ich habe am 3. Mai Geburtstag."],
    ["Wer ist mein Zahnarzt?", "Mein Zahnarzt ist Dr. Weber."],
    ["Was ist meine Lieblingsfarbe?", "Meine Lieblingsfarbe ist Blau."],
    ["Habe ich einen Bruder?", "Ich habe einen Bruder."],
    ["Habe ich einen Hund?", "Ich habe keinen Hund."],
    ["¿Cuántos hijos tengo?", "Tengo dos hijos."],
    ["¿Cuál es mi color favorito?", "Mi color favorito es el azul."],
    ["¿Cómo me llamo?", "Me llamo Ana."],
    ["Combien d'enfants ai-je ?", "J'ai deux enfants."],
    ["Come mi chiamo?", "Mi chiamo Anna."],
    ["Quando è il mio compleanno?", "Il mio compleanno è il 3 maggio."],
    ["Como se chama o meu gato?", "O meu gato chama-se Tareco."],
    ["Как меня зовут?", "Меня зовут Анна."],
    ["¿Dónde trabajo?", "Trabajo en un hospital."],
    ["¿Cómo se llama mi hija?", "Mi hija se llama Lucía."],
    ["¿Cuándo viajo a Lima?", "Viajo a Lima el 4 de julio."],
    ["Où est-ce que j'habite ?", "J'habite à Nantes depuis l'été."],
    ["Comment s'appelle mon frère ?", "Mon frère s'appelle Luc."],
    ["Dove lavoro?", "Lavoro in una scuola."],
    ["Come si chiama il mio cane?", "Il mio cane si chiama Argo."],
    ["Onde trabalho?", "Trabalho num banco."],
    ["Где я работаю?", "Я работаю в больнице."],
    ["Как зовут мою дочь?", "Мою дочь зовут Вера."],
    ["私の猫の名前は何ですか？", "私の猫の名前はミケです。"],
    ["私はどこで働いていますか？", "私は病院で働いています。"],
    ["どこに住んでいますか？", "長野に住んでいます。"],
    ["私の誕生日はいつですか？", "私の誕生日は5月3日です。"],
    ["私はコーヒーが好きですか？", "私はコーヒーが好きです。"],
    ["我有狗吗？", "我有狗。"],
    ["我的生日是什么时候？", "我的生日是5月3日。"],
    ["毎朝何を飲みますか", "毎朝紅茶を飲みます。"],
    ["我在哪里工作？", "我在医院工作。"],
    ["我的猫叫什么名字？", "我的猫叫咪咪，今年三岁。"]
  ])("%s %s", (question, statement) => {
    const { answer, citations } = answered(question, statement)
    expect(citations).toEqual(["m0"])
    expect(answer).toContain(statement.replace(/^Hallo! /u, ""))
  })
})

describe("nothing is claimed", () => {
  it.each([
    ["of another person", "Wogegen bin ich allergisch?", "Meine Frau ist allergisch gegen Nüsse."],
    ["of another person's", "¿Cómo se llama mi hermana?", "El gato de mi hermana se llama Tito."],
    ["of another person's", "猫の名前は何ですか", "姉の猫の名前はミケです。"],
    ["of another person", "我有狗吗？", "我妹妹有狗。"],
    ["that is denied", "我有狗吗？", "我没有狗。"],
    ["of another person", "どこに住んでいますか？", "姉は長野に住んでいます。"],
    ["of another person", "我在哪里工作？", "我妹妹在医院工作。"],
    ["of another person", "Habe ich einen Bruder?", "Meine Mutter hat einen Bruder."],
    ["that is supposed", "Habe ich einen Bruder?", "Wenn ich einen Bruder habe, sage ich es."],
    ["that is denied", "Wo wohne ich?", "Ich wohne nicht in Ulm."],
    ["that is denied", "¿Dónde vivo?", "No vivo en Quito."],
    ["that is supposed", "¿Dónde vivo?", "Si vivo en Quito, todo es caro."],
    ["that is supposed", "我住在哪里？", "如果我住在广州，就不会下雪。"],
    ["that somebody else thinks", "Wo wohne ich?", "Mein Chef denkt, ich wohne in Ulm."],
    ["that somebody else says", "¿Dónde vivo?", "Mi jefe dice que vivo en Quito."],
    ["that is to be translated", "Wo wohne ich?", "Übersetze das ins Englische. Ich wohne in Ulm."],
    ["that another one said", "Où est-ce que j'habite ?", "Luc : j'habite à Nantes."],
    ["without the part that is asked for", "Wann fahre ich nach Wien?", "Ich fahre nach Wien."],
    ["without the part that is asked for", "Wo wohnt mein Bruder?", "Mein Bruder wohnt allein."],
    ["in another tense", "Wo wohne ich?", "Ich wohnte in Ulm."],
    ["that is over in a joke", "Wo wohne ich?", "Ich wohne in Ulm. War nur Spaß!"],
    ["to a question that is not read", "أين أسكن؟", "أسكن في القاهرة."]
  ])("%s: %s %s", (_, question, statement) => {
    expect(answered(question, statement).grounded).toBe(false)
  })

  it("that a newer message may have changed", () => {
    expect(answered("Wo wohne ich?", "Ich wohne in Ulm.", "Ich bin nach Köln gezogen.").grounded).toBe(false)
    expect(answered("Wo wohne ich?", "Ich wohne in Ulm.", "Ich wohne jetzt in Köln.").citations).toEqual(["m1"])
  })
})
