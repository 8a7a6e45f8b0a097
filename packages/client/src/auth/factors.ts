import { pathSegment, type Transport } from '../transport.ts'
import type { Factor } from './second-factor.ts'

/** Second factors of the signed-in user. */
export interface Factors {
  /** Lists the enrolled factors. */
  list(): Promise<readonly Factor[]>
  /** Removes a factor by its id. */
  remove(id: string): Promise<void>
  /** Starts the enrolment of an authenticator app. `uri` is the content of its QR code. */
  enrollTotp(): Promise<{ readonly factor_id: string; readonly uri: string; readonly secret: string }>
  /** Completes the enrolment with a code of the app. */
  confirmTotp(code: string): Promise<void>
  /** Sends a code to the email address of the user. */
  enrollEmail(): Promise<void>
  /** Completes the enrolment of the email address with the code. */
  confirmEmail(code: string): Promise<void>
  /** Sends a code to a phone number. */
  enrollSms(phone: string): Promise<void>
  /** Completes the enrolment of the phone number with the code. */
  confirmSms(phone: string, code: string): Promise<void>
  /** Creates ten backup codes and invalidates all earlier ones. The codes are returned only once. */
  makeBackupCodes(): Promise<readonly string[]>
  /** Returns the number of unused backup codes. */
  countBackupCodes(): Promise<number>
}

export function createFactors(transport: Transport): Factors {
  const send = (method: string, path: string, body?: unknown) =>
    transport.request(method, `auth/mfa/${path}`, { body, isRepeatable: method === 'GET' })
  return {
    list: async () => ((await send('GET', 'factors')) as { factors: Factor[] }).factors,
    remove: async (id) => void (await send('DELETE', `factors/${pathSegment(id)}`)),
    enrollTotp: async () =>
      (await send('POST', 'totp/enroll', {})) as { factor_id: string; uri: string; secret: string },
    confirmTotp: async (code) => void (await send('POST', 'totp/enroll/confirm', { code })),
    enrollEmail: async () => void (await send('POST', 'email/enroll', {})),
    confirmEmail: async (code) => void (await send('POST', 'email/enroll/confirm', { code })),
    enrollSms: async (phone) => void (await send('POST', 'sms/enroll', { phone })),
    confirmSms: async (phone, code) => void (await send('POST', 'sms/enroll/confirm', { phone, code })),
    makeBackupCodes: async () => ((await send('POST', 'backup/regenerate', {})) as { codes: string[] }).codes,
    countBackupCodes: async () => ((await send('GET', 'backup/count')) as { remaining: number }).remaining,
  }
}
