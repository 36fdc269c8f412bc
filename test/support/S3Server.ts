/** A server on loopback that speaks the protocol of S3 and verifies every signature. */
import { createRequire } from "node:module"

export interface S3Server {
  readonly port: number
  readonly close: () => Promise<void>
}

/** The bucket lies in the directory. */
export const startS3Server = async (directory: string, bucket: string): Promise<S3Server> => {
  const server = new S3rver({
    port: 0,
    address: "127.0.0.1",
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }]
  })
  const { port } = await server.run()
  return { port, close: () => server.close() }
}

/** Environment of a client whose calls go to that port. */
export const s3Environment = (port: number) => ({
  AWS_ACCESS_KEY_ID: "S3RVER",
  AWS_SECRET_ACCESS_KEY: "S3RVER",
  AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`
})

// A CommonJS package without types.
const S3rver = createRequire(import.meta.url)("@20minutes/s3rver") as new (options: object) => {
  readonly run: () => Promise<{ readonly port: number }>
  readonly close: () => Promise<void>
}
