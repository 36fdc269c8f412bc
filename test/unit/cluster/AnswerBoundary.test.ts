import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { AnswerBoundary } from "@muniment/cluster/nodes/RequestLinks"

const head = (status: string, ...fields: ReadonlyArray<string>) =>
  ["HTTP/1.1 " + status, ...fields, "", ""].join("\r\n")

const whole: Record<string, string> = {
  "of a length": head("200 OK", "content-type: text/plain", "Content-Length: 5") + "hello",
  "without a body": head("200 OK", "content-length: 0"),
  "that has none": head("204 No Content", "date: today"),
  "not modified, with a length": head("304 Not Modified", "content-length: 7"),
  "in chunks":
    head("200 OK", "Transfer-Encoding: chunked") + "5\r\nhello\r\n1a;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
  "in chunks with a trailer": head("200 OK", "transfer-encoding: chunked") + "1\r\na\r\n0\r\nx: y\r\n\r\n",
  "after an interim one": head("100 Continue") + head("200 OK", "content-length: 2") + "ok"
}

describe("the boundary between answers", () => {
  it("is where nothing was asked yet, and nobody waits", () => {
    expect(new AnswerBoundary().isUnanswered).toBe(false)
  })

  for (const [name, answer] of Object.entries(whole))
    it(`is behind an answer ${name}, in whatever pieces it comes, and nowhere in it`, () => {
      fc.assert(
        fc.property(fc.array(fc.integer({ min: 1, max: answer.length }), { maxLength: 8 }), (sizes) => {
          const boundary = new AnswerBoundary()
          const bytes = Buffer.from(answer, "latin1")
          for (let time = 0; time < 2; time++) {
            boundary.asked()
            boundary.asked()
            expect(boundary.isUnanswered).toBe(true)
            let at = 0
            for (const size of [...sizes, bytes.byteLength]) {
              boundary.answered(bytes.subarray(at, at + size))
              at = Math.min(bytes.byteLength, at + size)
              const isBetween = name.includes("interim") && at <= head("100 Continue").length
              if (!isBetween) expect(boundary.isUnanswered).toBe(false)
            }
          }
          boundary.asked()
          expect(boundary.isUnanswered).toBe(true)
        })
      )
    })

  it("is after an interim answer, for which the caller went on", () => {
    const boundary = new AnswerBoundary()
    boundary.asked()
    boundary.answered(Buffer.from(head("100 Continue")))
    boundary.asked()
    expect(boundary.isUnanswered).toBe(true)
  })

  it("is in doubt where requests and answers overlap, and stays so", () => {
    const bytes = Buffer.from(whole["of a length"]!)
    const boundary = new AnswerBoundary()
    boundary.asked()
    boundary.answered(bytes.subarray(0, -1))
    boundary.asked()
    boundary.answered(bytes.subarray(-1))
    boundary.asked()
    expect(boundary.isUnanswered).toBe(false)
  })

  for (const text of [
    head("101 Switching Protocols", "upgrade: x"),
    head("200 OK", "content-type: text/event-stream"),
    "SSH-2.0\r\n\r\n",
    head("200 OK", "transfer-encoding: chunked") + "no size\r\n",
    "HTTP/1.1 200 OK\r\n" + "x".repeat(70_000)
  ])
    it(`is nowhere behind ${JSON.stringify(text.slice(0, 60))}`, () => {
      const boundary = new AnswerBoundary()
      boundary.asked()
      boundary.answered(Buffer.from(text))
      boundary.asked()
      expect(boundary.isUnanswered).toBe(false)
    })
})
