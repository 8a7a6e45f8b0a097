import type { Transport } from '../transport.ts'
import type { Ceremonies, CeremonyOptions } from './ceremony.ts'
import type { Tokens } from './session.ts'

export interface Factor {
  readonly id: string
  readonly method: 'totp' | 'email' | 'sms'
  readonly label: string
  readonly phone?: string
  readonly email?: string
}

/** A sign-in that waits for its second factor. */
export interface SecondFactor<Result> {
  /** To continue elsewhere; it opens nothing but the second factor. */
  readonly token: string
  factors(): Promise<readonly Factor[]>
  /** Sends a code, by `email` and `sms`, and answers what belongs to it. */
  challenge(method: Factor['method']): Promise<{ readonly challengeId: string }>
  verify(
    method: Factor['method'],
    answer: { readonly challengeId: string; readonly code: string },
  ): Promise<Result>
  verifyBackupCode(code: string): Promise<Result>
  /** In a browser. */
  verifyPasskey(options?: CeremonyOptions): Promise<Result>
}

export function createSecondFactor<Result>(
  transport: Transport,
  token: string,
  ceremonies: Ceremonies,
  complete: (tokens: Tokens) => Promise<Result>,
): SecondFactor<Result> {
  const ask = (method: string, path: string, body?: unknown) =>
    transport.request(method, `auth/mfa/${path}`, { token, body, isRepeatable: method === 'GET' })
  const post = async (path: string, body: unknown) =>
    await complete((await ask('POST', path, body)) as Tokens)
  return {
    token,
    factors: async () => ((await ask('GET', 'factors')) as { factors: Factor[] }).factors,
    async challenge(method) {
      const { challenge_id: challengeId } = (await ask('POST', `${method}/challenge`, {})) as {
        challenge_id: string
      }
      return { challengeId }
    },
    verify: (method, { challengeId, code }) => post(`${method}/verify`, { challenge_id: challengeId, code }),
    verifyBackupCode: (code) => post('backup/verify', { code }),
    async verifyPasskey(ceremony) {
      const { challenge_id, options } = (await ask('POST', 'webauthn/challenge', {})) as {
        challenge_id: string
        options: unknown
      }
      const assertion_response = await ceremonies.get(options, ceremony)
      return await post('webauthn/verify', { challenge_id, assertion_response })
    },
  }
}
