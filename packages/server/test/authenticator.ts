import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/**
 * Authenticator with its browser, in software. It creates and uses passkeys according to WebAuthn L3 §5 and §6, and
 * breaks any one step on request.
 */
export interface Authenticator {
  /** Passkeys that it holds, the newest last. */
  readonly passkeys: HeldPasskey[]
  /** Creates a passkey as `navigator.credentials.create` does, in the form of `toJSON()`. */
  create(options: CreationOptions, flaws?: CreationFlaws): AttestationJson
  /** Makes an assertion as `navigator.credentials.get` does, in the form of `toJSON()`. */
  get(options: RequestOptions, flaws?: AssertionFlaws): AssertionJson
}

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256'

export interface AuthenticatorOptions {
  /** Origin of the page that uses the authenticator. */
  readonly origin: string
  readonly algorithm?: Algorithm
  /** True if the signature counter grows. The counter of synced passkeys stays zero. */
  readonly counts?: boolean
  readonly isBackupEligible?: boolean
  readonly isBackedUp?: boolean
  readonly verifiesUser?: boolean
  readonly transports?: readonly string[]
}

/** Passkey with its private key, which never leaves an authenticator. */
export interface HeldPasskey {
  readonly id: Buffer
  readonly rpId: string
  readonly userHandle: Buffer
  readonly privateKey: KeyObject
  readonly algorithm: Algorithm
  signCount: number
}

export interface CreationOptions {
  readonly rp: { readonly id: string }
  readonly user: { readonly id: string }
  readonly challenge: string
  readonly excludeCredentials: readonly { readonly id: string }[]
}

export interface RequestOptions {
  readonly rpId: string
  readonly challenge: string
  readonly allowCredentials?: readonly { readonly id: string }[]
}

export interface Flags {
  readonly up?: boolean
  readonly uv?: boolean
  readonly be?: boolean
  readonly bs?: boolean
  readonly at?: boolean
  readonly ed?: boolean
}

interface Flaws {
  /** Members that replace those of the client data. */
  readonly clientData?: Readonly<Record<string, unknown>>
  /** Whole client data as it is sent. */
  readonly clientDataBytes?: Buffer
  readonly rpId?: string
  readonly flags?: Flags
  readonly signCount?: number
  /** Changes the right authenticator data. */
  readonly authenticatorData?: (right: Buffer) => Buffer
}

export interface CreationFlaws extends Flaws {
  readonly id?: Buffer
  readonly format?: string
  readonly statement?: (signed: Buffer, privateKey: KeyObject) => ReadonlyMap<string, unknown>
  readonly publicKey?: (right: Map<number, unknown>) => unknown
  readonly attestationObject?: (right: Buffer) => Buffer
}

export interface AssertionFlaws extends Flaws {
  /** Passkey that signs instead of the requested one. */
  readonly passkey?: HeldPasskey
  readonly id?: Buffer
  readonly userHandle?: string | null
  readonly signedBy?: KeyObject
  readonly signature?: (right: Buffer) => Buffer
}

export interface AttestationJson {
  readonly id: string
  readonly rawId: string
  readonly type: string
  readonly response: {
    readonly clientDataJSON: string
    readonly attestationObject: string
    readonly transports?: readonly string[]
  }
  readonly clientExtensionResults: object
}

export interface AssertionJson {
  readonly id: string
  readonly rawId: string
  readonly type: string
  readonly response: {
    readonly clientDataJSON: string
    readonly authenticatorData: string
    readonly signature: string
    readonly userHandle: string | null
  }
  readonly clientExtensionResults: object
}

const coseAlgorithms: Readonly<Record<Algorithm, number>> = { ES256: -7, EdDSA: -8, RS256: -257 }

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { origin, algorithm = 'ES256', counts = true, verifiesUser = true, transports } = options
  const passkeys: HeldPasskey[] = []
  const flagsOf = (more: Flags) => ({
    up: true,
    uv: verifiesUser,
    be: options.isBackupEligible ?? false,
    bs: options.isBackedUp ?? false,
    ...more,
  })

  return {
    passkeys,
    create({ rp, user, challenge, excludeCredentials }, flaws = {}) {
      if (excludeCredentials.some(({ id }) => passkeys.some((each) => text(each.id) === id))) {
        throw new Error('InvalidStateError: the authenticator holds a passkey of this user already')
      }
      const { publicKey, privateKey } = generateKeys(algorithm)
      const id = flaws.id ?? randomBytes(32)
      const userHandle = Buffer.from(user.id, 'base64url')
      const passkey = { id, rpId: rp.id, userHandle, privateKey, algorithm, signCount: 0 }
      passkeys.push(passkey)
      const cose = coseKey(publicKey, algorithm)
      const data = {
        rpId: flaws.rpId ?? rp.id,
        flags: flagsOf({ at: true, ...flaws.flags }),
        signCount: flaws.signCount ?? 0,
        attested: attestedData(id, flaws.publicKey?.(cose) ?? cose),
      }
      const clientDataJson = clientData('webauthn.create', challenge, origin, flaws)
      const authData = (flaws.authenticatorData ?? same)(authenticatorData(data))
      const signed = Buffer.concat([authData, sha256(clientDataJson)])
      const attestation = new Map<string, unknown>([
        ['fmt', flaws.format ?? 'none'],
        ['attStmt', flaws.statement?.(signed, privateKey) ?? new Map()],
        ['authData', authData],
      ])
      return {
        id: text(id),
        rawId: text(id),
        type: 'public-key',
        response: {
          clientDataJSON: text(clientDataJson),
          attestationObject: text((flaws.attestationObject ?? same)(cbor(attestation))),
          ...(transports === undefined ? {} : { transports }),
        },
        clientExtensionResults: {},
      }
    },
    get({ rpId, challenge, allowCredentials }, flaws = {}) {
      const passkey =
        flaws.passkey ??
        passkeys.findLast(
          (each) => each.rpId === rpId && (allowCredentials?.some(({ id }) => text(each.id) === id) ?? true),
        )
      if (passkey === undefined) throw new Error('NotAllowedError: no passkey that was asked for')
      if (counts) passkey.signCount += 1
      const clientDataJson = clientData('webauthn.get', challenge, origin, flaws)
      const right = authenticatorData({
        rpId: flaws.rpId ?? rpId,
        flags: flagsOf(flaws.flags ?? {}),
        signCount: flaws.signCount ?? passkey.signCount,
      })
      const authData = (flaws.authenticatorData ?? same)(right)
      const signed = Buffer.concat([authData, sha256(clientDataJson)])
      const signature = signWith(flaws.signedBy ?? passkey.privateKey, passkey.algorithm, signed)
      const id = text(flaws.id ?? passkey.id)
      return {
        id,
        rawId: id,
        type: 'public-key',
        response: {
          clientDataJSON: text(clientDataJson),
          authenticatorData: text(authData),
          signature: text((flaws.signature ?? same)(signature)),
          userHandle: flaws.userHandle === undefined ? text(passkey.userHandle) : flaws.userHandle,
        },
        clientExtensionResults: {},
      }
    },
  }
}

export function generateKeys(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' })
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('rsa', { modulusLength: 2048 })
}

/** Signs in the format of authenticators: ASN.1 for ES256 (WebAuthn L3 §6.5.5). */
export function signWith(key: KeyObject, algorithm: Algorithm, data: Buffer): Buffer {
  return sign(algorithm === 'EdDSA' ? null : 'sha256', data, key)
}

/** Encodes a COSE_Key (RFC 9052 §7). */
export function coseKey(publicKey: KeyObject, algorithm: Algorithm): Map<number, unknown> {
  const jwk = publicKey.export({ format: 'jwk' })
  const part = (value: unknown) => Buffer.from(String(value), 'base64url')
  const alg = coseAlgorithms[algorithm]
  const labels: Record<Algorithm, [number, unknown][]> = {
    ES256: [
      [1, 2],
      [3, alg],
      [-1, 1],
      [-2, part(jwk.x)],
      [-3, part(jwk.y)],
    ],
    EdDSA: [
      [1, 1],
      [3, alg],
      [-1, 6],
      [-2, part(jwk.x)],
    ],
    RS256: [
      [1, 3],
      [3, alg],
      [-1, part(jwk.n)],
      [-2, part(jwk.e)],
    ],
  }
  return new Map(labels[algorithm])
}

interface AuthenticatorData {
  readonly rpId: string
  readonly flags: Flags
  readonly signCount: number
  readonly attested?: Buffer
}

/** Encodes authenticator data (WebAuthn L3 §6.1). */
function authenticatorData({ rpId, flags, signCount, attested }: AuthenticatorData): Buffer {
  const { up, uv, be, bs, at, ed } = flags
  const bits = [up, false, uv, be, bs, false, at, ed]
  const head = Buffer.alloc(5)
  head.writeUInt8(bits.reduce((sum, bit, index) => sum + (bit === true ? 2 ** index : 0), 0))
  head.writeUInt32BE(signCount, 1)
  return Buffer.concat([sha256(Buffer.from(rpId)), head, attested ?? Buffer.alloc(0)])
}

/** Encodes attested credential data (WebAuthn L3 §6.5.1). */
function attestedData(id: Buffer, publicKey: unknown): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(id.length)
  return Buffer.concat([Buffer.alloc(16), length, id, cbor(publicKey)])
}

function clientData(
  type: string,
  challenge: string,
  origin: string,
  { clientData: others = {}, clientDataBytes }: Flaws,
): Buffer {
  if (clientDataBytes !== undefined) return clientDataBytes
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...others }))
}

/** Encodes CBOR (RFC 8949), as far as it is used here. */
export function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
  if (value instanceof Uint8Array) return Buffer.concat([cborHead(2, value.length), value])
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Array.isArray(value)) return Buffer.concat([cborHead(4, value.length), ...value.map(cbor)])
  if (value instanceof Map) {
    return Buffer.concat([cborHead(5, value.size), ...[...value].flatMap(([k, v]) => [cbor(k), cbor(v)])])
  }
  if (value === null) return Buffer.from([0xf6])
  throw new TypeError(`no CBOR for ${typeof value}`)
}

function cborHead(major: number, argument: number): Buffer {
  const first = major << 5
  if (argument < 24) return Buffer.from([first | argument])
  if (argument < 0x100) return Buffer.from([first | 24, argument])
  return Buffer.from([first | 25, argument >> 8, argument & 0xff])
}

function sha256(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

function text(bytes: Buffer): string {
  return bytes.toString('base64url')
}

function same(bytes: Buffer): Buffer {
  return bytes
}
