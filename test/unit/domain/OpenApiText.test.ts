/** The document as text: its content is held by `test/integration/openapi.test.ts`. */
import { expect, it } from "vitest"
import { openApiDocument, openApiText } from "@muniment/domain/api/OpenApiDocument"

it("is made once, whoever asks, and names the origin that each asked for", () => {
  let times = 0
  const textFor = openApiText(() => {
    times += 1
    return openApiDocument()
  })
  const urls = ["https://memory.example.com", 'http://a"b', "http://127.0.0.1:3030"]
  const texts = urls.map(textFor)
  expect(texts.map((text) => JSON.parse(text))).toEqual(
    urls.map((url) => JSON.parse(JSON.stringify(openApiDocument(url))))
  )
  expect(times).toBe(1)
})
