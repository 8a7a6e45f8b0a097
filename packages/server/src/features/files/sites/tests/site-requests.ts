import { createHash } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import type { TestApp, TestResponse } from '../../../../../test/test-app.ts'
import type { Deploy } from '../administration/deploy.ts'
import type { Site } from '../administration/site.ts'

export const sitesPath = '/api/admin/sites'

export async function requestSites(
  app: TestApp,
  method: string,
  path: string,
  body?: unknown,
): Promise<TestResponse> {
  return await app.request(method, `${sitesPath}${path}`, { token: await app.adminToken(), body })
}

let count = 0

export async function createSite(app: TestApp, more: object = {}): Promise<Site> {
  count += 1
  return (await requestSites(app, 'POST', '', { name: `Site ${count}`, slug: `site-${count}`, ...more })).json
}

export async function createDeploy(app: TestApp, { id }: Pick<Site, 'id'>): Promise<Deploy> {
  return (await requestSites(app, 'POST', `/${id}/deploys`)).json
}

/** Sends any form, as `fetch` writes it. */
export async function sendForm(
  app: TestApp,
  { siteId, id }: Pick<Deploy, 'siteId' | 'id'>,
  form: FormData,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const response = await fetch(`${app.url}${sitesPath}/${siteId}/deploys/${id}/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await app.adminToken()}` },
    body: form,
  })
  return { status: response.status, json: await response.json() }
}

export async function upload(
  app: TestApp,
  deploy: Pick<Deploy, 'siteId' | 'id'>,
  path: string,
  content: string | Uint8Array<ArrayBuffer>,
) {
  const form = new FormData()
  form.append('name', path)
  form.append('file', new Blob([content]), 'blob')
  return await sendForm(app, deploy, form)
}

/** Creates a live deploy with these files. */
export async function deployFiles(
  app: TestApp,
  site: Pick<Site, 'id'>,
  files: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>,
): Promise<Deploy> {
  const deploy = await createDeploy(app, site)
  for (const [path, content] of Object.entries(files)) {
    const { status, json } = await upload(app, deploy, path, content)
    if (status !== 201) throw new Error(`${path}: ${JSON.stringify(json)}`)
  }
  return (await requestSites(app, 'POST', `/${site.id}/deploys/${deploy.id}/promote`)).json
}

export function sha256(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}

export interface SiteResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** Requests exactly this target and host, because `fetch` would tidy both. */
export function getRaw(
  { url }: Pick<TestApp, 'url'>,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<SiteResponse> {
  const { port } = new URL(url)
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, body: Buffer.concat(chunks) })
      })
      response.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}
