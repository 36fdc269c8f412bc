/** Version of the service, as its root package.json has it. */
export const serviceVersion = "0.1.0"
