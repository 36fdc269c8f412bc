/**
 * Stands in for packages that a dependency declares and this project never uses: `package.json` at the root overrides
 * them with this folder. Each would otherwise be installed, some with a native library or hundreds of packages.
 *
 * - onnxruntime-web, sharp: the browser runtime and the images of @huggingface/transformers; we embed text, in Node.
 * - redis: peer of @effect/platform-node, loaded by its NodeRedis alone. Import its modules by path, never its index.
 * - wagmi: the browser paywall of x402, which the tests' payment client of protocol version 1 does not load.
 */
export default () => {
  throw new Error("this package is replaced by scripts/absent; remove its override in package.json to use it")
}
