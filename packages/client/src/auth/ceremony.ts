import { BasaltError } from '../errors.ts'

/** Options of a passkey ceremony. */
export interface CeremonyOptions {
  /** Signal that ends the ceremony. */
  readonly signal?: AbortSignal | undefined
}

/** Outcome of a ceremony that ended without a passkey and without an error. */
export type CeremonyOutcome = 'superseded' | 'expired'

/** Passkey ceremonies in the browser. A page runs one ceremony at a time. */
export interface Ceremonies {
  /** Creates a passkey. @param options creation options as JSON */
  create(options: unknown, ceremony?: CeremonyOptions): Promise<unknown>
  /** Asserts a passkey. @param options request options as JSON */
  get(options: unknown, ceremony?: CeremonyOptions): Promise<unknown>
  /**
   * Offers passkeys in an input field (conditional mediation), until one is chosen, another ceremony starts or the challenge
   * expires.
   */
  offer(
    options: unknown,
    ceremony?: CeremonyOptions,
  ): Promise<{ readonly response: unknown } | CeremonyOutcome>
}

export function createCeremonies(): Ceremonies {
  let running: AbortController | undefined
  /** Ceremony of the latest offer, which any other ceremony may supersede. */
  let offered: AbortController | undefined

  async function run(
    request: (signal: AbortSignal) => Promise<Credential | null>,
    { signal }: CeremonyOptions,
    lastsMs?: number,
  ): Promise<unknown> {
    signal?.throwIfAborted()
    running?.abort(ended.superseded)
    const own = new AbortController()
    running = own
    if (lastsMs !== undefined) offered = own
    const abort = () => own.abort(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    const timer = lastsMs === undefined ? undefined : setTimeout(() => own.abort(ended.expired), lastsMs)
    try {
      const credential = await request(own.signal)
      if (credential === null) throw new DOMException('no passkey was chosen', 'NotAllowedError')
      // `create` and `get` return a public key credential for public key options.
      return (credential as PublicKeyCredential).toJSON()
    } catch (error) {
      if (own.signal.aborted) throw own.signal.reason
      throw explain(error)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      if (running === own) running = undefined
    }
  }

  return {
    create: (options, ceremony = {}) =>
      run(async (signal) => {
        const json = options as PublicKeyCredentialCreationOptionsJSON
        const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(json)
        return await navigator.credentials.create({ publicKey, signal })
      }, ceremony),
    get: (options, ceremony = {}) =>
      run(async (signal) => {
        const publicKey = parseRequest(options)
        return await navigator.credentials.get({ publicKey, signal })
      }, ceremony),
    async offer(options, ceremony = {}) {
      const request = async (signal: AbortSignal) => {
        const publicKey = parseRequest(options)
        return await navigator.credentials.get({ publicKey, signal, mediation: 'conditional' })
      }
      // A ceremony that the user started continues.
      if (running !== undefined && running !== offered) return 'superseded'
      // Browsers ignore the timeout of conditional mediation, but the server enforces it.
      const { timeout = 300_000 } = options as { timeout?: number }
      try {
        // A passkey chosen at the last moment still has to reach the server.
        return { response: await run(request, ceremony, timeout * 0.8) }
      } catch (error) {
        if (error === ended.superseded) return 'superseded'
        if (error === ended.expired) return 'expired'
        throw error
      }
    },
  }
}

const ended = {
  superseded: new BasaltError('another passkey request has started', {
    error: 'passkey_cancelled',
    status: 0,
  }),
  expired: new BasaltError('the challenge has expired', { error: 'passkey_cancelled', status: 0 }),
}

/** Parses request options. Older compilers have no type for them. */
function parseRequest(options: unknown): PublicKeyCredentialRequestOptions {
  return PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON)
}

/** Maps a browser exception to an error code (Web Authentication, sections 5.1.3 and 5.1.4). */
function explain(cause: unknown): BasaltError {
  const name = cause instanceof DOMException ? cause.name : ''
  const [error, message] = explanations[name] ?? [
    'passkey_unsupported',
    'this browser cannot do this with passkeys',
  ]
  return new BasaltError(message, { error, status: 0, cause })
}

const explanations: Readonly<Record<string, readonly [error: string, message: string]>> = {
  // Browsers also use it for everything that they hide from a page.
  NotAllowedError: ['passkey_cancelled', 'no passkey was chosen'],
  AbortError: ['passkey_cancelled', 'no passkey was chosen'],
  InvalidStateError: ['passkey_exists', 'this device has a passkey of the account already'],
  SecurityError: ['passkey_wrong_site', 'the page is not on the host that the passkeys belong to'],
}
