import type { Transport } from '../transport.ts'

export interface Passkey {
  readonly credential_id: string
  readonly display_name: string
  readonly transports: readonly string[]
  readonly created_at: string
  readonly last_used_at?: string
}

/** Passkeys of the signed-in user. */
export interface Passkeys {
  /** Asks the browser for a new one. */
  add(name: string): Promise<void>
  list(): Promise<readonly Passkey[]>
  rename(credentialId: string, name: string): Promise<Passkey>
  remove(credentialId: string): Promise<void>
}

export function createPasskeys(transport: Transport): Passkeys {
  const path = (id: string) => `auth/mfa/webauthn/credentials/${encodeURIComponent(id)}`
  const ask = (method: string, address: string, body?: unknown) =>
    transport.request(method, address, { body, isRepeatable: method === 'GET' })
  return {
    async add(name) {
      const options = (await ask(
        'POST',
        'auth/mfa/webauthn/enroll',
        {},
      )) as PublicKeyCredentialCreationOptionsJSON
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
      const credential = await navigator.credentials.create({ publicKey })
      const body = { display_name: name, attestation_response: toJson(credential) }
      await ask('POST', 'auth/mfa/webauthn/enroll/confirm', body)
    },
    list: async () =>
      ((await ask('GET', 'auth/mfa/webauthn/credentials')) as { credentials: Passkey[] }).credentials,
    rename: async (id, name) => (await ask('PATCH', path(id), { display_name: name })) as Passkey,
    remove: async (id) => void (await ask('DELETE', path(id))),
  }
}

/** What the browser answers to a challenge. @param options as JSON; older compilers have no type for it */
export async function getAssertion(options: unknown): Promise<unknown> {
  const json = options as PublicKeyCredentialRequestOptionsJSON
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(json)
  return toJson(await navigator.credentials.get({ publicKey }))
}

function toJson(credential: Credential | null): unknown {
  if (credential === null) throw new DOMException('no passkey was chosen', 'NotAllowedError')
  // What `create` and `get` answer when they were asked for a public key.
  return (credential as PublicKeyCredential).toJSON()
}
