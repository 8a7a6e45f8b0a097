import fc from 'fast-check'
import { cbor } from './authenticator.ts'

/**
 * Responses of a browser, broken in every way: members of another type, changed bytes, invalid or unexpected CBOR.
 */

type Json = Readonly<Record<string, unknown>>

/** Generates any value, or the right response with a part of it replaced. */
export function anyBroken<Answer extends { readonly response: object }>(
  right: Answer,
): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.jsonValue() },
    { weight: 4, arbitrary: replaced({ ...right }, fc.jsonValue()) },
    {
      weight: 4,
      arbitrary: replaced({ ...right.response }, fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }))).map(
        (response) => ({ ...right, response }),
      ),
    },
    {
      weight: 12,
      arbitrary: fc
        .constantFrom(...Object.entries(right.response).filter(([, value]) => typeof value === 'string'))
        .chain(([name, value]) =>
          anyBytes(Buffer.from(value, 'base64url')).map((bytes) => [name, bytes] as const),
        )
        .map(([name, bytes]) => ({
          ...right,
          response: { ...right.response, [name]: bytes.toString('base64url') },
        })),
    },
  )
}

/** Generates the object with one of its members replaced or left out. */
function replaced(object: Json, values: fc.Arbitrary<unknown>): fc.Arbitrary<Json> {
  return fc
    .tuple(fc.constantFrom(...Object.keys(object)), fc.option(values, { nil: undefined }))
    .map(([name, value]) => ({ ...object, [name]: value }))
}

/** Generates the right bytes with a few changed, cut off or added, or other bytes. */
export function anyBytes(right: Buffer): fc.Arbitrary<Buffer> {
  const at = fc.nat(Math.max(0, right.length - 1))
  return fc.oneof(
    fc.tuple(at, fc.integer({ min: 1, max: 255 })).map(([index, bits]) => {
      const bytes = Buffer.from(right)
      bytes.writeUInt8((bytes[index] ?? 0) ^ bits, index)
      return bytes
    }),
    at.map((length) => right.subarray(0, length)),
    fc
      .tuple(at, fc.uint8Array({ minLength: 1, maxLength: 40 }))
      .map(([index, more]) => splice(right, index, more)),
    fc.tuple(at, at).map(([from, to]) => splice(right, from, right.subarray(from, to))),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    anyCbor.map(cbor),
    fc.constantFrom(...hostileCbor),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    anyClientData.map((value) => Buffer.from(JSON.stringify(value))),
  )
}

function splice(bytes: Buffer, index: number, more: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, index), more, bytes.subarray(index)])
}

const scalar = fc.oneof(
  fc.integer({ min: -70_000 + 4465, max: 65_535 }),
  fc.string({ maxLength: 20 }),
  fc.uint8Array({ maxLength: 300 }),
  fc.constant(null),
)
const { anyCbor } = fc.letrec<{ anyCbor: unknown }>((tie) => ({
  anyCbor: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('anyCbor'), { maxLength: 4 }),
    fc
      .array(
        fc.tuple(
          fc.oneof(
            fc.constantFrom('fmt', 'attStmt', 'authData', 'x5c', 'sig', 'alg', 1, 3, -1, -2, -3),
            scalar,
          ),
          tie('anyCbor'),
        ),
        { maxLength: 5 },
      )
      .map((entries) => new Map(entries)),
  ),
}))

/** CBOR of excessive lengths and depths, and forbidden items. */
const hostileCbor: readonly Buffer[] = [
  '9bffffffffffffffff',
  'bbffffffffffffffff',
  '5bffffffffffffffff',
  '9b001fffffffffffff',
  '9affffffff',
  'baffffffff',
  '5affffffff',
  '9f',
  'bf',
  '5f',
  'ff',
  'c0',
  'f90000',
  'f97e00',
  'fb7ff0000000000000',
  'a2616101616102',
  'a1a001',
  'a3666174745374746d',
  'a1695f5f70726f746f5f5fa1617801',
  '81'.repeat(6000),
  'a10181'.repeat(2000),
  'd8'.repeat(6000),
].map((hex) => Buffer.from(hex, 'hex'))

const anyClientData = fc.record(
  {
    type: fc.oneof(fc.constantFrom('webauthn.create', 'webauthn.get'), fc.jsonValue()),
    challenge: fc.oneof(fc.base64String({ maxLength: 48 }), fc.string({ unit: 'binary' }), fc.jsonValue()),
    origin: fc.oneof(fc.webUrl(), fc.jsonValue()),
    crossOrigin: fc.jsonValue(),
    topOrigin: fc.jsonValue(),
    tokenBinding: fc.jsonValue(),
    __proto__: fc.jsonValue(),
  },
  { requiredKeys: [] },
)
