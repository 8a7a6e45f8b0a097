import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { getRaw } from '../../src/features/files/sites/tests/site-requests.ts'
import { type Reply, sendRequest } from '../send-request.ts'
import { type ServerProcess, startServer } from '../server-process.ts'
import { testAdminPassword } from '../test-config.ts'
import { findFreePort, startThrowAwayCluster, type ThrowAwayCluster } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'

let cluster: ThrowAwayCluster
let token: string

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create role basalt login createrole')
  await cluster.sql('postgres', 'create database shop owner basalt')
})
afterAll(() => cluster[Symbol.asyncDispose]())

async function start(port: number): Promise<ServerProcess> {
  return await startServer({
    config: {
      'database.url': `postgresql://basalt@127.0.0.1:${cluster.port}/shop`,
      'server.port': String(port),
    },
  })
}

async function admin({ url }: ServerProcess, method: string, path: string, body?: unknown): Promise<Reply> {
  return await sendRequest(method, `${url}/api/admin/sites${path}`, { token, body })
}

async function upload(
  { url }: ServerProcess,
  deploy: string,
  path: string,
  content: string,
): Promise<boolean> {
  const form = new FormData()
  form.append('name', path)
  form.append('file', new Blob([content]), 'file')
  // In memory, because a stream of it breaks the process when the server dies before its end.
  const encoded = new Response(form)
  const answer = await fetch(`${url}/api/admin/sites/${deploy}/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': encoded.headers.get('content-type') ?? '',
    },
    body: await encoded.arrayBuffer(),
  }).catch(() => undefined)
  return answer?.status === 201
}

/** Requests a page as a visitor; returns the error if that fails. */
async function visit(node: ServerProcess, path: string): Promise<string> {
  const { status, body } = await getRaw(node, path, { host: 'shop.localhost' })
  return status === 200 ? body.toString() : `${status}`
}

const count = 40
const contentOf = (build: string, index: number) => `${build}, file ${index}`

test('sites › nodes killed during uploads and promotions lose no acknowledged file, and exactly one deploy is live', async () => {
  const ports = [await findFreePort(), await findFreePort()] as const
  let first = await start(ports[0])
  await using second = await start(ports[1])
  const signedIn = await sendRequest('POST', `${first.url}/api/admin/auth`, {
    body: { password: testAdminPassword },
  })
  token = signedIn.json.token
  const { id: site } = (await admin(first, 'POST', '', { name: 'Shop', slug: 'shop' })).json
  const begin = async (node: ServerProcess) => {
    const { id } = (await admin(node, 'POST', `/${site}/deploys`)).json
    return `${site}/deploys/${id}`
  }
  const old = await begin(first)
  await upload(first, old, 'index.html', 'old')
  await upload(first, old, 'asset.txt', 'old')
  expect((await admin(first, 'POST', `/${old}/promote`)).status).toBe(200)

  // The node is killed in the middle of the uploads.
  const next = await begin(first)
  const acknowledged: number[] = []
  const sending = Array.from({ length: count }, async (_, index) => {
    if (await upload(first, next, `${index}.txt`, contentOf('next', index))) acknowledged.push(index)
  })
  await waitFor('some uploads', () => acknowledged.length > 5)
  await first.stop('SIGKILL')
  await Promise.all(sending)
  expect(acknowledged.length).toBeLessThan(count)
  const stored = await cluster.sql<{ path: string; size: number }>(
    'shop',
    `select path, size from basalt.site_files where deploy_id = '${next.slice(-36)}'`,
  )
  const paths = new Set(stored.map(({ path }) => path))
  expect(acknowledged.filter((index) => !paths.has(`${index}.txt`))).toEqual([])
  const counted = (await admin(second, 'GET', `/${next}`)).json
  expect([counted.fileCount, counted.totalBytes, counted.status]).toEqual([
    stored.length,
    stored.reduce((sum, { size }) => sum + size, 0),
    'uploading',
  ])
  await waitFor('the live deploy', async () => (await visit(second, '/asset.txt')) === 'old')
  expect(
    await cluster.sql(
      'shop',
      'select from basalt.site_blobs b where not exists (select from basalt.site_files f where f.sha256 = b.sha256)',
    ),
  ).toEqual([])

  // The upload resumes on the other node.
  const build = Array.from({ length: count }, (_, index) => contentOf('next', index))
  const files = build.map((content, index) => ({
    path: `${index}.txt`,
    sha256: createHash('sha256').update(content).digest('hex'),
    size: content.length,
  }))
  const { missing } = (await admin(second, 'POST', `/${next}/manifest`, { files })).json
  expect(missing).toHaveLength(count - stored.length)
  for (const [index, { path, sha256 }] of files.entries()) {
    if (missing.includes(sha256))
      expect(await upload(second, next, path, contentOf('next', index))).toBe(true)
  }
  for (const name of ['index.html', 'asset.txt']) await upload(second, next, name, 'next')
  expect((await admin(second, 'GET', `/${next}`)).json.fileCount).toBe(count + 2)

  // The node is killed in the middle of promotions.
  first = await start(ports[0])
  const promotions = Array.from({ length: 20 }, (_, index) =>
    admin(index % 2 === 0 ? first : second, 'POST', `/${index % 4 < 2 ? next : old}/promote`).catch(
      () => undefined,
    ),
  )
  await Promise.race(promotions)
  await first.stop('SIGKILL')
  await Promise.all(promotions)
  const { deploys } = (await admin(second, 'GET', `/${site}/deploys`)).json
  expect(deploys.map(({ status }: { status: string }) => status).toSorted()).toEqual(['live', 'superseded'])
  expect((await admin(second, 'POST', `/${site}/deploys/rollback`)).status).toBe(200)
  expect((await admin(second, 'POST', `/${next}/promote`)).status).toBeOneOf([200, 409])
  await waitFor('the next build', async () => (await visit(second, '/asset.txt')) === 'next')
  expect([await visit(second, '/'), await visit(second, '/39.txt')]).toEqual(['next', contentOf('next', 39)])
})
