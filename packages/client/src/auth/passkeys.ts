import { pathSegment, type Transport } from '../transport.ts'
import type { Ceremonies, CeremonyOptions } from './ceremony.ts'

export interface Passkey {
  readonly credential_id: string
  readonly display_name: string
  readonly transports: readonly string[]
  readonly created_at: string
  readonly last_used_at?: string
}

/** Passkeys of the signed-in user. */
export interface Passkeys {
  /** Asks the browser for a new one. @throws BasaltError passkey_cancelled, passkey_exists, passkey_wrong_site, … */
  add(name: string, options?: CeremonyOptions): Promise<void>
  list(): Promise<readonly Passkey[]>
  rename(credentialId: string, name: string): Promise<Passkey>
  remove(credentialId: string): Promise<void>
}

export function createPasskeys(transport: Transport, ceremonies: Ceremonies): Passkeys {
  const path = (id: string) => `auth/mfa/webauthn/credentials/${pathSegment(id)}`
  const ask = (method: string, address: string, body?: unknown) =>
    transport.request(method, address, { body, isRepeatable: method === 'GET' })
  return {
    async add(name, ceremony) {
      const options = await ask('POST', 'auth/mfa/webauthn/enroll', {})
      const attestation_response = await ceremonies.create(options, ceremony)
      const body = { display_name: name, attestation_response }
      await ask('POST', 'auth/mfa/webauthn/enroll/confirm', body)
    },
    list: async () =>
      ((await ask('GET', 'auth/mfa/webauthn/credentials')) as { credentials: Passkey[] }).credentials,
    rename: async (id, name) => (await ask('PATCH', path(id), { display_name: name })) as Passkey,
    remove: async (id) => void (await ask('DELETE', path(id))),
  }
}
