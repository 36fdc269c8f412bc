import { describe, expect } from "vitest"
import { Effect, Redacted } from "effect"
import fc from "fast-check"
import {
  AccountRole,
  type Address,
  appendTransactionMessageInstructions,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  type Instruction,
  partiallySignTransaction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash
} from "@solana/kit"
import {
  AuthorityType,
  getApproveInstruction,
  getSetAuthorityInstruction,
  getTransferInstruction
} from "@solana-program/token"
import { usdcMints } from "../../../../scripts/devchains/SolanaTokens.ts"
import { ChainUnavailable, PaymentInvalid } from "../../../../packages/payments/src/chain/PaymentChain.ts"
import { svmChain } from "../../../../packages/payments/src/svm/SvmChain.ts"
import { computeUnitsMax, lighthouseProgram, priorityFeeLamportsMax } from "@muniment/payments/svm/SvmVerify"
import {
  bytesOf,
  limit,
  memo,
  operator,
  operatorHolding,
  payer,
  payerHolding,
  paymentOf,
  type PaymentParts,
  payTo,
  payToHolding,
  price,
  someBlockhash,
  stranger,
  strangerHolding,
  transfer,
  units,
  withBytes
} from "./SvmPayments.ts"
import { repetitions } from "../../../support/Repetitions.ts"
import { it } from "../../../support/it.ts"

const chain = svmChain({
  network: "solana-devnet",
  payTo: payTo.address,
  rpcUrl: undefined,
  operatorKey: Redacted.make(operator.keyText),
  confirmations: "confirmed"
})

const verify = (payload: { readonly transaction: string }) =>
  Effect.flatMap(chain.claim(payload), (claim) => chain.verifyOffline(claim, units))

const reasonOf = (parts: Parts) =>
  made(parts).pipe(
    Effect.flatMap(verify),
    Effect.flip,
    Effect.map((error) => (error instanceof PaymentInvalid ? error.reason : error._tag))
  )

const feePayerAsAccount = { address: operator.address, role: AccountRole.READONLY }
const lighthouse: Instruction = { programAddress: lighthouseProgram, accounts: [], data: new Uint8Array([9]) }
const stock = [limit(), price(), transfer()]
const secondTransfer = transfer({ amount: 1 })
const systemProgram = "11111111111111111111111111111111" as Address
const token2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb" as Address
const computePriceTag = 3
const limitAtMaxPrice = limit(computeUnitsMax)
const tooDear = (priorityFeeLamportsMax * 1_000_000) / computeUnitsMax + 1
const afterTransfer = "an instruction after the transfer is neither Memo nor Lighthouse"

/** Parts, or the instructions alone. */
type Parts = PaymentParts | ReadonlyArray<Instruction>
const made = (parts: Parts = {}) =>
  Effect.promise(() => paymentOf(Array.isArray(parts) ? { instructions: parts } : (parts as PaymentParts)))

const breaches: ReadonlyArray<readonly [string, Parts, string]> = [
  ["another fee payer", { feePayer: stranger.address }, "the first account is not our fee payer"],
  [
    "a third signer",
    {
      instructions: [
        ...stock,
        { ...memo("x"), accounts: [{ address: stranger.address, role: AccountRole.READONLY_SIGNER }] }
      ],
      signers: [payer.signer, stranger.signer]
    },
    "more than 2 signers"
  ],
  ["no memo and no compute price", [limit(), transfer()], "not 3 to 7 instructions"],
  ["five memos", [...stock, memo("1"), memo("2"), memo("3"), memo("4"), memo("5")], "not 3 to 7 instructions"],
  ["price before limit", [price(), limit(), transfer()], "the first instruction does not set the compute limit"],
  ["two limits", [limit(), limit(), transfer()], "the second instruction does not set the compute price"],
  [
    "a price with bytes after it",
    [limit(), { ...price(), data: new Uint8Array(10).with(0, computePriceTag) }, transfer()],
    "the second instruction does not set the compute price"
  ],
  [
    "a memo before the transfer",
    [limit(), price(), memo("x"), transfer()],
    "the third instruction is not a TransferChecked of the Token program"
  ],
  ["a second transfer", [...stock, secondTransfer], afterTransfer],
  ["a second compute price", [...stock, price(5_000_000)], afterTransfer],
  [
    "an unchecked transfer of the same",
    [
      ...stock,
      getTransferInstruction({
        source: payerHolding,
        destination: strangerHolding,
        authority: payer.signer,
        amount: 1
      })
    ],
    afterTransfer
  ],
  [
    "an approval",
    [
      ...stock,
      getApproveInstruction({ source: payerHolding, delegate: stranger.address, owner: payer.signer, amount: 1 })
    ],
    afterTransfer
  ],
  [
    "a change of authority",
    [
      ...stock,
      getSetAuthorityInstruction({
        owned: payerHolding,
        owner: payer.signer,
        authorityType: AuthorityType.AccountOwner,
        newAuthority: stranger.address
      })
    ],
    afterTransfer
  ],
  [
    "a program that nobody knows",
    [...stock, { programAddress: stranger.address, accounts: [], data: new Uint8Array() }],
    afterTransfer
  ],
  [
    "lamports of the fee payer",
    [
      ...stock,
      {
        programAddress: systemProgram,
        accounts: [
          { address: operator.address, role: AccountRole.WRITABLE_SIGNER },
          { address: payer.address, role: AccountRole.WRITABLE }
        ],
        data: new Uint8Array([2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
      }
    ],
    afterTransfer
  ],
  [
    "a compute limit beyond measure",
    [limit(computeUnitsMax + 1), price(), transfer()],
    "the compute limit exceeds 400000"
  ],
  [
    "a compute price beyond measure",
    [limit(1), price(5_000_001), transfer()],
    "the compute price exceeds 5000000 millionths of a lamport"
  ],
  [
    "a limit and a price that are dear together",
    [limitAtMaxPrice, price(tooDear), transfer()],
    "the priority fee exceeds 50000 lamports"
  ],
  ["another mint", [limit(), price(), transfer({ mint: usdcMints.mainnet })], "the mint is not USDC's"],
  ["other decimals", [limit(), price(), transfer({ decimals: 9 })], "the transfer does not state 6 decimals"],
  [
    "another destination",
    [limit(), price(), transfer({ destination: strangerHolding })],
    "the destination is not our associated token account"
  ],
  [
    "our wallet instead of its token account",
    [limit(), price(), transfer({ destination: payTo.address })],
    "the destination is not our associated token account"
  ],
  ["less", [limit(), price(), transfer({ amount: units - 1 })], "the amount is not the one asked for"],
  ["more", [limit(), price(), transfer({ amount: units + 1 })], "the amount is not the one asked for"],
  [
    "the fee payer as payer",
    { instructions: [limit(), price(), transfer({ authority: operator.signer })], signers: [operator.signer] },
    "the fee payer cannot be the payer"
  ],
  [
    "the recipient as payer",
    { instructions: [limit(), price(), transfer({ authority: payTo.signer })], signers: [payTo.signer] },
    "the recipient cannot be the payer"
  ],
  [
    "the fee payer's tokens",
    [limit(), price(), transfer({ source: operatorHolding })],
    "the source is an account of ours"
  ],
  [
    "our tokens to ourselves",
    [limit(), price(), transfer({ source: payToHolding })],
    "the source is an account of ours"
  ],
  [
    "the fee payer in a memo",
    [...stock, { ...memo("x"), accounts: [feePayerAsAccount] }],
    "the fee payer stands in an instruction"
  ],
  [
    "the fee payer as who pays in Lighthouse",
    [...stock, { ...lighthouse, accounts: [{ address: operator.address, role: AccountRole.WRITABLE_SIGNER }] }],
    "the fee payer stands in an instruction"
  ],
  ["no signature", { signers: [] }, "a signature is missing or not valid"]
]

describe("the rules of a payment on Solana", () => {
  it.effect.each(breaches)("refuse %s", function* ([, parts, reason]) {
    expect(yield* reasonOf(parts)).toBe(reason)
  })

  const accepted: ReadonlyArray<readonly [string, Parts]> = [
    ["what a v2 client makes", {}],
    ["what a v1 client makes, without a memo", [limit(6_500), price(), transfer()]],
    ["a legacy transaction", { version: "legacy" }],
    [
      "a wallet's assertions around a dear price",
      [limit(computeUnitsMax), price(tooDear - 1), transfer(), lighthouse, lighthouse, memo("x")]
    ],
    ["a source that is not the payer's associated account", [limit(), price(), transfer({ source: strangerHolding })]],
    ["the fee payer's slot filled with anything", { signers: [payer.signer, operator.signer] }]
  ]
  it.effect.each(accepted)("take %s, and so does the library", ([, parts]) => Effect.flatMap(made(parts), verify))

  it.effect("refuse an address lookup table", function* () {
    const table = stranger.address
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayer(operator.address, empty),
      (paid) =>
        setTransactionMessageLifetimeUsingBlockhash({ blockhash: someBlockhash, lastValidBlockHeight: 0n }, paid),
      (timed) =>
        appendTransactionMessageInstructions(
          [...stock, { ...memo("x"), accounts: [{ address: strangerHolding, role: AccountRole.READONLY }] }],
          timed
        ),
      (full) => compressTransactionMessageUsingAddressLookupTables(full, { [table]: [strangerHolding] })
    )
    const signed = yield* Effect.promise(() =>
      partiallySignTransaction([payer.signer.keyPair], compileTransaction(message))
    )
    const error = yield* Effect.flip(verify({ transaction: getBase64EncodedWireTransaction(signed) }))
    expect(error).toMatchObject({ _tag: "PaymentInvalid", reason: "address lookup tables are not accepted" })
  })

  it.effect("refuse a signature of another message", function* () {
    const [one, other] = yield* Effect.promise(() =>
      Promise.all([paymentOf(), paymentOf({ instructions: [...stock, memo("two")] })])
    )
    const signatures = bytesOf(other.transaction).slice(0, signaturesBytes)
    const error = yield* Effect.flip(
      verify(
        withBytes(one, (bytes) => {
          bytes.set(signatures)
          return bytes
        })
      )
    )
    expect(error).toMatchObject({ reason: "a signature is missing or not valid" })
  })

  it.effect("refuse every payment of which one bit has changed, but in the fee payer's slot", function* () {
    const payment = yield* made()
    const bytes = bytesOf(payment.transaction)
    const changes = fc.sample(
      fc.tuple(fc.integer({ min: 65, max: bytes.length - 1 }), fc.integer({ min: 0, max: 7 })),
      { numRuns: repetitions(300), seed: 402 }
    )
    for (const [at, bit] of changes) {
      const changed = withBytes(payment, (copy) => copy.with(at, copy[at]! ^ (1 << bit)))
      expect(yield* Effect.flip(verify(changed))).toBeInstanceOf(PaymentInvalid)
    }
  })

  it.effect("leave a payment that keeps them to the network", function* () {
    const claim = yield* Effect.flatMap(made(), chain.claim)
    expect(yield* Effect.flip(chain.verify(claim, units))).toBeInstanceOf(ChainUnavailable)
  })

  it.effect(
    "keep the operator from signing what breaks them; amount and receiver were compared before the claim",
    function* () {
      for (const [, parts, reason] of breaches.filter(
        ([, , why]) => !/^the (amount|destination|recipient)/.test(why)
      )) {
        const claim = yield* Effect.flatMap(made(parts), chain.claim)
        expect(yield* Effect.flip(chain.sign(claim))).toMatchObject({ _tag: "PaymentInvalid", reason })
      }
    }
  )
})

/** Count, then the fee payer's and the payer's. */
const signaturesBytes = 129

describe("a claim", () => {
  it.effect("is named by its message, whoever has signed it", function* () {
    const claims = yield* Effect.all(
      [[payer.signer], [payer.signer, operator.signer], []].map((signers) =>
        Effect.flatMap(made({ signers }), chain.claim)
      )
    )
    expect(new Set(claims.map(({ id }) => id)).size).toBe(1)
    expect(claims[0]).toMatchObject({ network: "solana-devnet", payer: payer.address })
    expect(claims[0]?.id).toMatch(/^svm:devnet:[0-9a-f]{64}$/)
  })

  it.effect("can be claimed again from its own payload", function* () {
    const claim = yield* Effect.flatMap(made(), chain.claim)
    expect(yield* chain.claim(JSON.parse(JSON.stringify(claim.payload)))).toEqual(claim)
  })

  const unreadable: ReadonlyArray<readonly [string, (transaction: string) => unknown, string]> = [
    ["nothing", () => undefined, "the payload holds no transaction"],
    ["a text", (transaction) => transaction, "the payload holds no transaction"],
    ["a number", () => ({ transaction: 1 }), "the payload holds no transaction"],
    ["no Base64", (transaction) => ({ transaction: `${transaction.slice(4)}!!!!` }), "the transaction is not Base64"],
    ["junk", () => ({ transaction: "AAAA" }), "the transaction could not be decoded"],
    ["more bytes than a packet", () => ({ transaction: "A".repeat(1_648) }), "the transaction exceeds 1232 bytes"],
    [
      "bytes after its message",
      (transaction) => withBytes({ transaction }, (bytes) => new Uint8Array([...bytes, 0])),
      "the transaction could not be decoded"
    ],
    [
      "a count that is written longer than it has to be",
      (transaction) => withBytes({ transaction }, (bytes) => new Uint8Array([0x80 | bytes[0]!, 0, ...bytes.slice(1)])),
      "the transaction could not be decoded"
    ]
  ]
  it.effect.each(unreadable)("is not made of %s", function* ([, spoil, reason]) {
    const { transaction } = yield* made()
    expect(yield* Effect.flip(chain.claim(spoil(transaction)))).toMatchObject({ _tag: "PaymentInvalid", reason })
  })

  it.effect("needs a transfer of the Token program", function* () {
    const ofToken2022 = { ...transfer(), programAddress: token2022 }
    const instructions = [limit(), price(), ofToken2022, memo("x")]
    const error = yield* Effect.flatMap(made({ instructions }), chain.claim).pipe(Effect.flip)
    expect(error.reason).toBe("the transaction contains no TransferChecked of the Token program")
  })
})

describe("svmChain", () => {
  it("offers to pay in the words of protocol version 1, with its fee payer", () => {
    const quote = { units, resource: "https://example.org/v1/credits/deposit", description: "Deposit" }
    expect(chain.requirement(quote)).toEqual({
      scheme: "exact",
      network: "solana-devnet",
      maxAmountRequired: "500000",
      resource: quote.resource,
      description: "Deposit",
      mimeType: "application/json",
      payTo: payTo.address,
      maxTimeoutSeconds: 60,
      asset: usdcMints.devnet,
      extra: { feePayer: operator.address }
    })
  })

  it("refuses a key or an address that is none, and does not repeat the key", () => {
    const options = { network: "solana", rpcUrl: undefined, confirmations: "confirmed" } as const
    const secret = operator.keyText.slice(2)
    const withKey = () => svmChain({ ...options, payTo: payTo.address, operatorKey: Redacted.make(secret) })
    expect(withKey).toThrow("the operator's Solana key cannot be read")
    expect(withKey).not.toThrow(secret)
    expect(() => svmChain({ ...options, payTo: "nowhere", operatorKey: undefined })).toThrow()
  })

  it.effect("without a key signs nothing", function* () {
    const keyless = svmChain({
      network: "solana-devnet",
      payTo: payTo.address,
      rpcUrl: undefined,
      operatorKey: undefined,
      feePayer: operator.address,
      confirmations: "confirmed"
    })
    const claim = yield* Effect.flatMap(made(), keyless.claim)
    yield* keyless.verifyOffline(claim, units)
    const signed = { hash: "1", raw: "" }
    for (const call of [keyless.verify(claim, units), keyless.sign(claim), keyless.broadcast(claim, signed)]) {
      expect(yield* Effect.flip(call)).toBeInstanceOf(ChainUnavailable)
    }
    expect(yield* Effect.flip(keyless.look(claim, signed, units))).toBeInstanceOf(ChainUnavailable)
  })
})
