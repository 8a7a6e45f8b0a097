import { pathSegment, type Transport } from '../transport.ts'
import type { Factor } from './second-factor.ts'

/** Second factors of the signed-in user. */
export interface Factors {
  list(): Promise<readonly Factor[]>
  remove(id: string): Promise<void>
  /** For an authenticator app; `uri` is what its QR code holds. */
  enrollTotp(): Promise<{ readonly factor_id: string; readonly uri: string; readonly secret: string }>
  confirmTotp(code: string): Promise<void>
  /** Sends a code to the user's address. */
  enrollEmail(): Promise<void>
  confirmEmail(code: string): Promise<void>
  enrollSms(phone: string): Promise<void>
  confirmSms(phone: string, code: string): Promise<void>
  /** Ten codes, shown once; those of before are void. */
  makeBackupCodes(): Promise<readonly string[]>
  countBackupCodes(): Promise<number>
}

export function createFactors(transport: Transport): Factors {
  const ask = (method: string, path: string, body?: unknown) =>
    transport.request(method, `auth/mfa/${path}`, { body, isRepeatable: method === 'GET' })
  return {
    list: async () => ((await ask('GET', 'factors')) as { factors: Factor[] }).factors,
    remove: async (id) => void (await ask('DELETE', `factors/${pathSegment(id)}`)),
    enrollTotp: async () =>
      (await ask('POST', 'totp/enroll', {})) as { factor_id: string; uri: string; secret: string },
    confirmTotp: async (code) => void (await ask('POST', 'totp/enroll/confirm', { code })),
    enrollEmail: async () => void (await ask('POST', 'email/enroll', {})),
    confirmEmail: async (code) => void (await ask('POST', 'email/enroll/confirm', { code })),
    enrollSms: async (phone) => void (await ask('POST', 'sms/enroll', { phone })),
    confirmSms: async (phone, code) => void (await ask('POST', 'sms/enroll/confirm', { phone, code })),
    makeBackupCodes: async () => ((await ask('POST', 'backup/regenerate', {})) as { codes: string[] }).codes,
    countBackupCodes: async () => ((await ask('GET', 'backup/count')) as { remaining: number }).remaining,
  }
}
