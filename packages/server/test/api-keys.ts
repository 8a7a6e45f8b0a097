import type { TestApp } from './test-app.ts'

/** API key as created, with its secret. */
export interface TestApiKey {
  readonly key: string
  readonly apiKey: { readonly id: string; readonly [field: string]: unknown }
}

/** Creates an API key as the administrator. */
export async function createApiKey(
  app: TestApp,
  body: { readonly userId: string; readonly [field: string]: unknown },
): Promise<TestApiKey> {
  const response = await app.request('POST', '/api/admin/api-keys', {
    token: await app.adminToken(),
    body: { name: 'key', ...body },
  })
  if (response.status !== 201) throw new Error(`api-keys: ${response.text}`)
  return response.json
}

/** Creates an app as the administrator and returns its id. */
export async function createApplication(
  app: TestApp,
  body: { readonly ownerUserId: string; readonly [field: string]: unknown },
): Promise<string> {
  const response = await app.request('POST', '/api/admin/apps', {
    token: await app.adminToken(),
    body: { name: 'app', ...body },
  })
  if (response.status !== 201) throw new Error(`apps: ${response.text}`)
  return response.json.id
}
