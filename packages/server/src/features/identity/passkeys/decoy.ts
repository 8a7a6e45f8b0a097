import type { CredentialDescriptor } from '../../operations/webauthn/index.ts'
import { type AccountKeys, hashCode } from '../accounts/index.ts'

/** Lengths of credential ids of common passkeys, and the transports that browsers name for them. */
const kinds = [
  { bytes: 16, transports: ['hybrid', 'internal'] },
  { bytes: 20, transports: ['hybrid', 'internal'] },
  { bytes: 32, transports: ['internal'] },
  { bytes: 16, transports: [] },
  { bytes: 20, transports: [] },
  { bytes: 32, transports: [] },
] as const

/**
 * Invents passkeys, the same ones for an address each time, so that they do not reveal whether there is an
 * account.
 */
export function decoyCredentials(keys: AccountKeys, email: string): CredentialDescriptor[] {
  const derive = (detail: string) => hashCode(keys, 'passkey decoy', email, detail)
  const shape = derive('shape')
  const kind = kinds[shape.readUInt8(0) % kinds.length] ?? kinds[0]
  const count = shape.readUInt8(1) < 32 ? 2 : 1
  return Array.from({ length: count }, (_, index) => ({
    credential_id: derive(String(index)).subarray(0, kind.bytes).toString('base64url'),
    transports: kind.transports,
  }))
}

/**
 * Key (ES256) without a private half. An assertion of an unknown passkey is verified against it, and rejected
 * after the same work.
 */
export const decoyKey = {
  publicKey: Buffer.from(
    'a501020326200121582068a466d1cf6e880c9cab6ded81f93c8186f477634eb23c714b3db33cdc810b4f' +
      '225820dda77f1108b73e0a49f4a1d2b8d42117361a0bc6738aaf697834792d8c284037',
    'hex',
  ),
  isBackupEligible: false,
} as const
