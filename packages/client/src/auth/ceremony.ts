import { BasaltError } from '../errors.ts'

export interface CeremonyOptions {
  readonly signal?: AbortSignal | undefined
}

/** How a ceremony ended without an answer, and without a failure. */
export type Ending = 'superseded' | 'expired'

/** What the browser does with a passkey. A page has one ceremony at a time. */
export interface Ceremonies {
  /** Makes a passkey. @param options as JSON */
  create(options: unknown, ceremony?: CeremonyOptions): Promise<unknown>
  /** Uses one. @param options as JSON */
  get(options: unknown, ceremony?: CeremonyOptions): Promise<unknown>
  /** Uses one that is chosen in a field of the page; until another ceremony begins, or the challenge expires. */
  offer(options: unknown, ceremony?: CeremonyOptions): Promise<{ readonly answer: unknown } | Ending>
}

export function createCeremonies(): Ceremonies {
  let running: AbortController | undefined
  /** The last that was offered, which anything else may end. */
  let offered: AbortController | undefined

  async function run(
    ask: (signal: AbortSignal) => Promise<Credential | null>,
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
      const credential = await ask(own.signal)
      if (credential === null) throw new DOMException('no passkey was chosen', 'NotAllowedError')
      // What `create` and `get` answer when they were asked for a public key.
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
      const ask = async (signal: AbortSignal) => {
        const publicKey = parseRequest(options)
        return await navigator.credentials.get({ publicKey, signal, mediation: 'conditional' })
      }
      // What a person has asked for continues.
      if (running !== undefined && running !== offered) return 'superseded'
      // Browsers ignore it here, but the server does not.
      const { timeout = 300_000 } = options as { timeout?: number }
      try {
        // Chosen at the last moment, it still has to reach the server.
        return { answer: await run(ask, ceremony, timeout * 0.8) }
      } catch (error) {
        if (error === ended.superseded) return 'superseded'
        if (error === ended.expired) return 'expired'
        throw error
      }
    },
  }
}

const ended = {
  superseded: new BasaltError('another passkey was asked for', { error: 'passkey_cancelled', status: 0 }),
  expired: new BasaltError('the challenge has expired', { error: 'passkey_cancelled', status: 0 }),
}

/** Older compilers have no type for it. */
function parseRequest(options: unknown): PublicKeyCredentialRequestOptions {
  return PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON)
}

/** Names what a browser says (Web Authentication, §5.1.3 and §5.1.4). */
function explain(cause: unknown): BasaltError {
  const name = cause instanceof DOMException ? cause.name : ''
  const [error, message] = explanations[name] ?? [
    'passkey_unsupported',
    'this browser cannot do this with passkeys',
  ]
  return new BasaltError(message, { error, status: 0, cause })
}

const explanations: Readonly<Record<string, readonly [error: string, message: string]>> = {
  // Of all that browsers do not want a page to know, too.
  NotAllowedError: ['passkey_cancelled', 'no passkey was chosen'],
  AbortError: ['passkey_cancelled', 'no passkey was chosen'],
  InvalidStateError: ['passkey_exists', 'this device has a passkey of the account already'],
  SecurityError: ['passkey_wrong_site', 'the page is not on the host that the passkeys belong to'],
}
