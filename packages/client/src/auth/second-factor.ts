import type { Transport } from '../transport.ts'
import type { Ceremonies, CeremonyOptions } from './ceremony.ts'
import type { Tokens } from './session.ts'

/** Enrolled second factor. */
export interface Factor {
  readonly id: string
  readonly method: 'totp' | 'email' | 'sms'
  /** Name of the factor to show to the user. */
  readonly label: string
  readonly phone?: string
  readonly email?: string
}

/** Sign-in that requires a second factor. */
export interface SecondFactor<Result> {
  /** Token that allows nothing but the second factor, to continue on another page. */
  readonly token: string
  /** Lists the factors that the user can choose from. */
  factors(): Promise<readonly Factor[]>
  /** Creates a challenge, and sends a code for `email` and `sms`. Pass the result to `verify`. */
  challenge(method: Factor['method']): Promise<{ readonly challengeId: string }>
  /** Completes the sign-in with a code. */
  verify(
    method: Factor['method'],
    answer: { readonly challengeId: string; readonly code: string },
  ): Promise<Result>
  /** Completes the sign-in with a backup code. */
  verifyBackupCode(code: string): Promise<Result>
  /** Completes the sign-in with a passkey, in a browser. */
  verifyPasskey(options?: CeremonyOptions): Promise<Result>
}

export function createSecondFactor<Result>(
  transport: Transport,
  token: string,
  ceremonies: Ceremonies,
  complete: (tokens: Tokens) => Promise<Result>,
): SecondFactor<Result> {
  const send = (method: string, path: string, body?: unknown) =>
    transport.request(method, `auth/mfa/${path}`, { token, body, isRepeatable: method === 'GET' })
  const post = async (path: string, body: unknown) =>
    await complete((await send('POST', path, body)) as Tokens)
  return {
    token,
    factors: async () => ((await send('GET', 'factors')) as { factors: Factor[] }).factors,
    async challenge(method) {
      const { challenge_id: challengeId } = (await send('POST', `${method}/challenge`, {})) as {
        challenge_id: string
      }
      return { challengeId }
    },
    verify: (method, { challengeId, code }) => post(`${method}/verify`, { challenge_id: challengeId, code }),
    verifyBackupCode: (code) => post('backup/verify', { code }),
    async verifyPasskey(ceremony) {
      const { challenge_id, options } = (await send('POST', 'webauthn/challenge', {})) as {
        challenge_id: string
        options: unknown
      }
      const assertion_response = await ceremonies.get(options, ceremony)
      return await post('webauthn/verify', { challenge_id, assertion_response })
    },
  }
}
