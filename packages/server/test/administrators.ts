import { expect } from 'vitest'
import type { TestApp } from './test-app.ts'

/** Password of the administrators below. */
export const administratorPassword = 'a long password'

/**
 * Invites `<role>@example.com`, and accepts the invitation.
 *
 * @param owner token of the inviting owner; that of the first administrator by default
 * @returns a token of the administrator
 */
export async function inviteAdministrator(app: TestApp, role: string, owner?: string): Promise<string> {
  const email = `${role}@example.com`
  const invited = await app.request('POST', '/api/admin/administrators', {
    token: owner ?? (await app.adminToken()),
    body: { email, role },
  })
  expect(invited.status).toBe(201)
  const body = { code: invited.json.invitation.code, password: administratorPassword }
  expect((await app.request('POST', '/api/admin/auth/password', { body })).status).toBe(204)
  return await signInAs(app, email)
}

/** Signs in with the password of an accepted invitation. @returns a token */
export async function signInAs(app: TestApp, email: string): Promise<string> {
  const body = { email, password: administratorPassword }
  const response = await app.request('POST', '/api/admin/auth', { body })
  expect(response.status).toBe(200)
  return response.json.token
}
