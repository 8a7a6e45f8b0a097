import { pathSegment, type Transport } from '../transport.ts'
import type { Ceremonies, CeremonyOptions } from './ceremony.ts'

/** Registered passkey. */
export interface Passkey {
  readonly credential_id: string
  /** Name that the user gave it. */
  readonly display_name: string
  readonly transports: readonly string[]
  readonly created_at: string
  readonly last_used_at?: string
}

/** Passkeys of the signed-in user. */
export interface Passkeys {
  /**
   * Registers a new passkey in the browser, under this name.
   * @throws BasaltError `passkey_cancelled`, `passkey_exists`, `passkey_unsupported` or `passkey_wrong_site`
   */
  add(name: string, options?: CeremonyOptions): Promise<void>
  /** Lists the registered passkeys. */
  list(): Promise<readonly Passkey[]>
  /** Renames a passkey. */
  rename(credentialId: string, name: string): Promise<Passkey>
  /** Removes a passkey. */
  remove(credentialId: string): Promise<void>
}

export function createPasskeys(transport: Transport, ceremonies: Ceremonies): Passkeys {
  const path = (id: string) => `auth/mfa/webauthn/credentials/${pathSegment(id)}`
  const send = (method: string, address: string, body?: unknown) =>
    transport.request(method, address, { body, isRepeatable: method === 'GET' })
  return {
    async add(name, ceremony) {
      const options = await send('POST', 'auth/mfa/webauthn/enroll', {})
      const attestation_response = await ceremonies.create(options, ceremony)
      const body = { display_name: name, attestation_response }
      await send('POST', 'auth/mfa/webauthn/enroll/confirm', body)
    },
    list: async () =>
      ((await send('GET', 'auth/mfa/webauthn/credentials')) as { credentials: Passkey[] }).credentials,
    rename: async (id, name) => (await send('PATCH', path(id), { display_name: name })) as Passkey,
    remove: async (id) => void (await send('DELETE', path(id))),
  }
}
