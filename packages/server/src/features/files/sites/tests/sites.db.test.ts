import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { Deploy } from '../administration/deploy.ts'
import {
  createDeploy,
  createSite,
  deployFiles,
  requestSites,
  sendForm,
  sha256,
  upload,
} from './site-requests.ts'

let database: TestDatabase
let app: TestApp
let second: TestApp

const unknownId = '00000000-0000-4000-8000-000000000000'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

beforeAll(async () => {
  database = await createTestDatabase()
  const config = { 'sites.max_file_size': '20000' }
  app = await createTestApp({ database, config })
  second = await createTestApp({ database, config })
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

interface Answer {
  readonly status: number
  readonly json: unknown
}

function expectError(response: Answer, status: number, message: string, error: string) {
  const whole = { status, headers: new Headers(), text: '', json: response.json }
  expect([response.status, envelope(whole)]).toEqual([status, { code: status, message, error }])
}

async function statusesOf(siteId: string): Promise<Record<string, string>> {
  const { json } = await requestSites(app, 'GET', `/${siteId}/deploys`)
  return Object.fromEntries(json.deploys.map(({ id, status }: Deploy) => [id, status]))
}

describe('sites › administration', () => {
  test('creates, returns, lists, changes and deletes a site, and audits each change', async () => {
    await app.sql(`delete from basalt.audit where action like 'sites.%'`)
    const created = await requestSites(app, 'POST', '', { name: ' Blog ', slug: ' My-Blog1 ' })
    const site = {
      id: uuid,
      name: 'Blog',
      slug: 'my-blog1',
      spaMode: false,
      createdAt: timestamp,
      updatedAt: timestamp,
      url: app.url.replace('127.0.0.1', 'my-blog1.localhost'),
    }
    expect([created.status, created.json]).toEqual([201, site])
    const { id } = created.json
    expect((await requestSites(app, 'GET', `/${id}`)).json).toEqual(created.json)
    expect((await requestSites(app, 'GET', '')).json).toEqual({
      sites: [created.json],
      totalCount: 1,
      page: 1,
      perPage: 20,
    })
    const changed = await requestSites(app, 'PUT', `/${id}`, { spaMode: true, clearCustomDomain: true })
    expect([changed.status, changed.json]).toEqual([200, { ...site, spaMode: true }])
    expect((await requestSites(app, 'PUT', `/${id}`, { name: 'News' })).json).toMatchObject({
      name: 'News',
      spaMode: true,
    })
    const deleted = await requestSites(app, 'DELETE', `/${id}`)
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expectError(await requestSites(app, 'GET', `/${id}`), 404, 'site not found', 'site_not_found')
    const audit = await app.sql(
      `select actor, action, target, detail from basalt.audit where action like 'sites.%' order by id`,
    )
    expect(audit).toEqual(
      [
        ['sites.create', { name: 'Blog', slug: 'my-blog1', spaMode: false }],
        ['sites.update', { name: 'Blog', spaMode: true }],
        ['sites.update', { name: 'News', spaMode: true }],
        ['sites.delete', { slug: 'my-blog1' }],
      ].map(([action, detail]) => ({ actor: 'admin', action, target: id, detail })),
    )
  })

  test.each<readonly [body: object, message: string, error: string]>([
    [{ slug: 'x' }, 'site name is required', 'site_name_required'],
    [{ name: ' ', slug: 'x' }, 'site name is required', 'site_name_required'],
    [{ name: 'x' }, 'site slug is required', 'site_slug_required'],
    [{ name: 'x', slug: ' ' }, 'site slug is required', 'site_slug_required'],
    [{ name: 'x', slug: 'x', customDomainId: 'y' }, 'invalid domain id format', 'invalid_domain_id'],
    [{ name: 1, slug: 'x' }, 'name: must be string', 'invalid_request'],
    [{ name: 'x', slug: 'x', spaMode: 'yes' }, 'spaMode: must be boolean', 'invalid_request'],
    [
      { name: 'a\0b', slug: 'x' },
      'site name must have at most 200 characters and no control characters',
      'invalid_site_name',
    ],
    ...['a.b', '-a', 'a-', 'a_b', 'ä', 'a b', 'x'.repeat(64), '../x'].map(
      (slug) =>
        [
          { name: 'x', slug },
          'site slug must be a DNS label: letters, digits and hyphens between them, at most 63',
          'invalid_site_slug',
        ] as const,
    ),
  ])('creating with %j is a 400', async (body, message, error) => {
    expectError(await requestSites(app, 'POST', '', body), 400, message, error)
  })

  test('returns 404 for an unknown domain', async () => {
    const body = { name: 'x', slug: 'with-domain', customDomainId: unknownId }
    expectError(await requestSites(app, 'POST', '', body), 404, 'domain not found', 'domain_not_found')
  })

  test('creates one of ten concurrent sites with one slug on two nodes', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        requestSites([app, second][index % 2] ?? app, 'POST', '', { name: 'x', slug: 'Same' }),
      ),
    )
    const refused = answers.filter(({ status }) => status !== 201)
    expect(refused).toHaveLength(9)
    for (const each of refused) expectError(each, 409, 'site slug already taken', 'site_slug_taken')
  })

  test('replaces a page size out of bounds by 20', async () => {
    for (const perPage of [0, -1, 101]) {
      expect((await requestSites(app, 'GET', `?perPage=${perPage}&page=0`)).json).toMatchObject({
        page: 1,
        perPage: 20,
      })
    }
    const { json } = await requestSites(app, 'GET', '?perPage=1&page=2')
    expect(json).toMatchObject({ page: 2, perPage: 1 })
    expect(json.sites.length).toBeLessThanOrEqual(1)
    expectError(
      await requestSites(app, 'GET', '?perPage=x'),
      400,
      'perPage: must be integer',
      'invalid_request',
    )
  })

  test('ids are checked, and what is not there is a 404', async () => {
    const site = await createSite(app)
    for (const [method, path, body] of [
      ['GET', ''],
      ['PUT', '', {}],
      ['DELETE', ''],
      ['GET', '/deploys'],
      ['POST', '/deploys'],
      ['POST', '/deploys/rollback'],
    ] as const) {
      expectError(
        await requestSites(app, method, `/x${path}`, body),
        400,
        'invalid site id format',
        'invalid_site_id',
      )
      expectError(
        await requestSites(app, method, `/${unknownId}${path}`, body),
        404,
        'site not found',
        'site_not_found',
      )
    }
    for (const [method, path, body] of [
      ['GET', ''],
      ['POST', '/fail', {}],
      ['POST', '/promote'],
      ['POST', '/manifest', { files: [] }],
    ] as const) {
      const under = `/${site.id}/deploys`
      expectError(
        await requestSites(app, method, `${under}/x${path}`, body),
        400,
        'invalid deploy id format',
        'invalid_deploy_id',
      )
      expectError(
        await requestSites(app, method, `${under}/${unknownId}${path}`, body),
        404,
        'deploy not found',
        'deploy_not_found',
      )
    }
    // A deploy of another site is not found either.
    const other = await createDeploy(app, await createSite(app))
    expectError(
      await requestSites(app, 'GET', `/${site.id}/deploys/${other.id}`),
      404,
      'deploy not found',
      'deploy_not_found',
    )
  })
})

describe('sites › uploads', () => {
  test('files are added to a deploy, a second one of the same name replaces the first', async () => {
    const site = await createSite(app)
    const deploy = await createDeploy(app, site)
    expect(deploy).toEqual({
      id: uuid,
      siteId: site.id,
      status: 'uploading',
      fileCount: 0,
      totalBytes: 0,
      createdAt: timestamp,
      updatedAt: timestamp,
    })
    expect(await upload(app, deploy, 'index.html', 'hello')).toEqual({
      status: 201,
      json: { ...deploy, fileCount: 1, totalBytes: 5, updatedAt: timestamp },
    })
    expect((await upload(app, deploy, './index.html', 'hello, world')).json).toMatchObject({
      fileCount: 1,
      totalBytes: 12,
    })
    const form = new FormData()
    form.append('file', new Blob(['x']), '_app/[...slug].js')
    expect((await sendForm(app, deploy, form)).json).toMatchObject({ fileCount: 2, totalBytes: 13 })
    expect((await requestSites(app, 'GET', `/${site.id}/deploys/${deploy.id}`)).json).toMatchObject({
      fileCount: 2,
      totalBytes: 13,
    })
    expect(
      await app.sql('select path, content_type from basalt.site_files where deploy_id = $1 order by path', [
        deploy.id,
      ]),
    ).toEqual([
      { path: '_app/[...slug].js', content_type: 'text/javascript; charset=utf-8' },
      { path: 'index.html', content_type: 'text/html; charset=utf-8' },
    ])
  })

  test('forms and names that are none are a 400', async () => {
    const deploy = await createDeploy(app, await createSite(app))
    const path = `/${deploy.siteId}/deploys/${deploy.id}/files`
    expectError(
      await requestSites(app, 'POST', path, {}),
      400,
      'invalid multipart form',
      'invalid_multipart_form',
    )
    expectError(
      await requestSites(app, 'POST', path),
      400,
      'invalid multipart form',
      'invalid_multipart_form',
    )
    const missing = 'missing "file" field in multipart form'
    const text = new FormData()
    text.append('file', 'a text')
    expectError(await sendForm(app, deploy, text), 400, missing, 'file_missing')
    const twice = new FormData()
    twice.append('file', new Blob(['a']), 'a')
    twice.append('file', new Blob(['b']), 'b')
    expectError(await sendForm(app, deploy, twice), 400, missing, 'file_missing')
    for (const [name, message, error] of [
      [' ', 'file name is required', 'file_name_required'],
      ['/a', 'file name must be relative', 'file_name_not_relative'],
      ['a/../b', 'file name must stay within the deploy directory', 'file_name_outside'],
    ] as const) {
      expectError(await upload(app, deploy, name, 'x'), 400, message, error)
    }
    expect((await requestSites(app, 'GET', `/${deploy.siteId}/deploys/${deploy.id}`)).json).toEqual(deploy)
  })

  test('returns 413 for a file beyond the limit', async () => {
    const deploy = await createDeploy(app, await createSite(app))
    const message = 'the file is larger than 20000 bytes'
    for (const size of [20_001, 100_000]) {
      expectError(await upload(app, deploy, 'a', 'x'.repeat(size)), 413, message, 'site_file_too_large')
    }
    expect((await upload(app, deploy, 'a', 'x'.repeat(20_000))).status).toBe(201)
  })

  test('adds the known files of a manifest and names the rest once', async () => {
    const site = await createSite(app)
    await deployFiles(app, site, { 'index.html': 'known page' })
    const deploy = await createDeploy(app, site)
    const files = [
      { path: 'index.html', sha256: sha256('known page').toUpperCase(), size: 10 },
      { path: 'a.js', sha256: sha256('unknown script'), size: 14 },
      { path: 'b.js', sha256: sha256('unknown script'), size: 14 },
    ]
    const path = `/${site.id}/deploys/${deploy.id}`
    const answer = await requestSites(app, 'POST', `${path}/manifest`, { files })
    expect([answer.status, answer.json]).toEqual([200, { missing: [sha256('unknown script')] }])
    expect((await requestSites(app, 'GET', path)).json).toMatchObject({ fileCount: 1, totalBytes: 10 })
    await upload(app, deploy, 'a.js', 'unknown script')
    expect((await requestSites(app, 'POST', `${path}/manifest`, { files })).json).toEqual({ missing: [] })
    expect((await requestSites(app, 'GET', path)).json).toMatchObject({ fileCount: 3, totalBytes: 38 })
    for (const [file, message, error] of [
      [
        { path: 'a', sha256: 'x', size: 1 },
        'files.0.sha256 must be 64 hexadecimal digits',
        'invalid_manifest',
      ],
      [{ path: 'a', sha256: sha256(''), size: -1 }, 'files.0.size must be at least 0', 'invalid_manifest'],
      [
        { path: '../a', sha256: sha256(''), size: 1 },
        'file name must stay within the deploy directory',
        'file_name_outside',
      ],
    ] as const) {
      expectError(await requestSites(app, 'POST', `${path}/manifest`, { files: [file] }), 400, message, error)
    }
  })

  test('ten files at once on two nodes are all counted', async () => {
    const deploy = await createDeploy(app, await createSite(app))
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        upload([app, second][index % 2] ?? app, deploy, `${index % 5}.txt`, 'same content'),
      ),
    )
    expect((await requestSites(app, 'GET', `/${deploy.siteId}/deploys/${deploy.id}`)).json).toMatchObject({
      fileCount: 5,
      totalBytes: 60,
    })
  })
})

describe('sites › large deploys', () => {
  test('adds the known files of a manifest of 10,000, and changes nothing when repeated', async () => {
    const site = await createSite(app)
    await deployFiles(app, site, { 'index.html': 'the same everywhere' })
    const deploy = await createDeploy(app, site)
    const path = `/${site.id}/deploys/${deploy.id}`
    const files = Array.from({ length: 10_000 }, (_, index) => ({
      path: `pages/of/a/long/catalogue/${index}/index.html`,
      sha256: sha256('the same everywhere'),
      size: 19,
    }))
    for (let round = 0; round < 2; round += 1) {
      expect((await requestSites(app, 'POST', `${path}/manifest`, { files })).json).toEqual({ missing: [] })
      expect((await requestSites(app, 'GET', path)).json).toMatchObject({
        fileCount: 10_000,
        totalBytes: 190_000,
      })
    }
    expect((await requestSites(app, 'POST', `${path}/promote`)).json).toMatchObject({ status: 'live' })
  })

  test('files of another size replace those before in the counts, in one manifest and between uploads', async () => {
    const site = await createSite(app)
    await deployFiles(app, site, { 'a.txt': '1', 'b.txt': '22' })
    const deploy = await createDeploy(app, site)
    await upload(app, deploy, 'x.txt', '55555')
    const manifest = (content: string, ...paths: string[]) =>
      requestSites(app, 'POST', `/${site.id}/deploys/${deploy.id}/manifest`, {
        files: paths.map((path) => ({ path, sha256: sha256(content), size: content.length })),
      })
    await manifest('1', 'x.txt', 'y.txt', 'x.txt')
    await manifest('22', 'y.txt', 'z.txt')
    const { json } = await upload(app, deploy, 'z.txt', '333')
    expect(json).toMatchObject({ fileCount: 3, totalBytes: 6 })
  })

  test('fails the deploy when a file cannot be stored, but not when the database is full', async () => {
    const deploy = await createDeploy(app, await createSite(app))
    const path = `/${deploy.siteId}/deploys/${deploy.id}`
    const refuseBlobs = (code: string) =>
      app.sql(`
        create or replace function refuse_blob() returns trigger language plpgsql as $$
        begin raise exception 'no more' using errcode = '${code}'; end $$;
        create or replace trigger refuse_blob before insert on basalt.site_blobs
          for each row when (new.bytes = 'cannot be stored') execute function refuse_blob()`)
    try {
      await refuseBlobs('53100')
      const full = await upload(app, deploy, 'a.txt', 'cannot be stored')
      expectError(full, 503, 'the database is out of space', 'database_full')
      expect((await requestSites(app, 'GET', path)).json).toEqual(deploy)
      await refuseBlobs('XX001')
      const broken = await upload(app, deploy, 'a.txt', 'cannot be stored')
      expectError(broken, 500, 'deploy file upload failed', 'deploy_upload_failed')
      expect((await requestSites(app, 'GET', path)).json).toEqual({
        ...deploy,
        status: 'failed',
        errorMessage: 'deploy file upload failed',
        updatedAt: timestamp,
      })
      const later = await upload(app, deploy, 'b.txt', 'could be stored')
      expectError(later, 409, 'deploy is not accepting file uploads', 'deploy_closed')
    } finally {
      await app.sql('drop function refuse_blob() cascade')
    }
  })
})

describe('sites › deploys', () => {
  test('returns 404 for a deploy of a site that is deleted at the same time', async () => {
    const site = await createSite(app)
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query('begin')
    await client.query('delete from basalt.sites where id = $1', [site.id])
    const creating = requestSites(app, 'POST', `/${site.id}/deploys`)
    await waitFor('the creation to wait', async () => {
      const waiting = await app.sql(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return waiting.length > 0
    })
    await client.query('commit')
    await client.end()
    expectError(await creating, 404, 'site not found', 'site_not_found')
  })

  test('makes a deploy live, and the previous one superseded', async () => {
    const site = await createSite(app)
    const first = await deployFiles(app, site, { 'index.html': '1' })
    expect(first).toMatchObject({ status: 'live', fileCount: 1 })
    const next = await deployFiles(app, site, { 'index.html': '2' })
    expect(await statusesOf(site.id)).toEqual({ [first.id]: 'superseded', [next.id]: 'live' })
    expect((await requestSites(app, 'GET', `/${site.id}`)).json.liveDeployId).toBe(next.id)
    const path = `/${site.id}/deploys/${next.id}`
    expectError(
      await requestSites(app, 'POST', `${path}/promote`),
      409,
      'invalid deploy status transition: cannot promote deploy with status "live"',
      'invalid_deploy_transition',
    )
    expectError(
      await requestSites(app, 'POST', `${path}/fail`, { errorMessage: 'x' }),
      409,
      'invalid deploy status transition: cannot fail deploy with status "live"',
      'invalid_deploy_transition',
    )
    for (const closed of [first, next]) {
      const answer = await upload(app, closed, 'a', 'x')
      expectError(answer, 409, 'deploy is not accepting file uploads', 'deploy_closed')
    }
    // Superseded ones can become live again.
    expect((await requestSites(app, 'POST', `/${site.id}/deploys/${first.id}/promote`)).json.status).toBe(
      'live',
    )
    expect(await statusesOf(site.id)).toEqual({ [first.id]: 'live', [next.id]: 'superseded' })
  })

  test('rejects the promotion of an empty or a failed deploy, and keeps the live one', async () => {
    const site = await createSite(app)
    const live = await deployFiles(app, site, { 'index.html': '1' })
    const deploy = await createDeploy(app, site)
    const path = `/${site.id}/deploys/${deploy.id}`
    expectError(
      await requestSites(app, 'POST', `${path}/promote`),
      409,
      'deploy has no files',
      'deploy_empty',
    )
    const failed = await requestSites(app, 'POST', `${path}/fail`, { errorMessage: 'build broke' })
    expect([failed.status, failed.json]).toEqual([
      200,
      { ...deploy, status: 'failed', errorMessage: 'build broke', updatedAt: timestamp },
    ])
    expectError(
      await requestSites(app, 'POST', `${path}/promote`),
      409,
      'invalid deploy status transition: cannot promote deploy with status "failed"',
      'invalid_deploy_transition',
    )
    expect(await statusesOf(site.id)).toEqual({ [live.id]: 'live', [deploy.id]: 'failed' })
    const long = { errorMessage: 'x'.repeat(2001) }
    expectError(
      await requestSites(app, 'POST', `${path}/fail`, long),
      400,
      'errorMessage must have at most 2000 characters and no NUL',
      'invalid_deploy_error',
    )
  })

  test('fails a deploy without a reason and without a body', async () => {
    const deploy = await createDeploy(app, await createSite(app))
    const failed = await requestSites(app, 'POST', `/${deploy.siteId}/deploys/${deploy.id}/fail`)
    expect([failed.status, failed.json]).toEqual([
      200,
      { ...deploy, status: 'failed', errorMessage: '', updatedAt: timestamp },
    ])
  })

  test('rolls back to the deploy that was live before, and the next time further back', async () => {
    const site = await createSite(app)
    const rollBack = () => requestSites(app, 'POST', `/${site.id}/deploys/rollback`)
    expectError(await rollBack(), 409, 'no superseded deploy to rollback to', 'no_earlier_deploy')
    const [a, b, c] = [
      await deployFiles(app, site, { 'index.html': 'a' }),
      await deployFiles(app, site, { 'index.html': 'b' }),
      await deployFiles(app, site, { 'index.html': 'c' }),
    ]
    expect((await rollBack()).json).toMatchObject({ id: b.id, status: 'live' })
    const d = await deployFiles(app, site, { 'index.html': 'd' })
    // Before d, b was live: c had been left.
    expect((await rollBack()).json.id).toBe(b.id)
    expect((await rollBack()).json.id).toBe(a.id)
    expectError(await rollBack(), 409, 'no superseded deploy to rollback to', 'no_earlier_deploy')
    expect(await statusesOf(site.id)).toEqual({
      [a.id]: 'live',
      [b.id]: 'superseded',
      [c.id]: 'superseded',
      [d.id]: 'superseded',
    })
    expect((await requestSites(app, 'POST', `/${site.id}/deploys/${d.id}/promote`)).json.status).toBe('live')
    expect((await rollBack()).json.id).toBe(a.id)
  })

  test('leaves one live deploy when ten are promoted at once on two nodes', async () => {
    const site = await createSite(app)
    const deploys = await Promise.all(Array.from({ length: 10 }, () => createDeploy(app, site)))
    await Promise.all(deploys.map((deploy) => upload(app, deploy, 'index.html', 'same')))
    const answers = await Promise.all(
      deploys.map(({ id }, index) =>
        requestSites([app, second][index % 2] ?? app, 'POST', `/${site.id}/deploys/${id}/promote`),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(deploys.map(() => 200))
    const statuses = Object.values(await statusesOf(site.id)).toSorted()
    expect(statuses).toEqual(['live', ...Array.from({ length: 9 }, () => 'superseded')])
  })

  test('promotes a deploy once when it is promoted ten times at once', async () => {
    const site = await createSite(app)
    const deploy = await createDeploy(app, site)
    await upload(app, deploy, 'index.html', 'once')
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        requestSites([app, second][index % 2] ?? app, 'POST', `/${site.id}/deploys/${deploy.id}/promote`),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(409)])
  })
})

test('sites › cleaning up removes abandoned and failed deploys, old superseded ones, and what no site needs', async () => {
  await using alone = await createTestApp({ config: { 'sites.kept_deploys': '1' } })
  const site = await createSite(alone)
  const gone = await createSite(alone)
  await deployFiles(alone, gone, { 'index.html': 'of a deleted site', 'a.txt': 'shared' })
  const oldest = await deployFiles(alone, site, { 'index.html': 'oldest', 'a.txt': 'shared' })
  const kept = await deployFiles(alone, site, { 'index.html': 'kept', 'a.txt': 'shared' })
  const live = await deployFiles(alone, site, { 'index.html': 'live' })
  const abandoned = await createDeploy(alone, site)
  const fresh = await createDeploy(alone, site)
  await upload(alone, abandoned, 'b.txt', 'abandoned')
  await alone.sql(`update basalt.site_deploys set updated_at = now() - interval '25 hours' where id = $1`, [
    abandoned.id,
  ])
  await requestSites(alone, 'DELETE', `/${gone.id}`)
  const left = await waitFor('the job', async () => {
    const rows = await alone.sql<{ content: string }>(
      `select convert_from(bytes, 'UTF8') as content from basalt.site_blobs order by 1`,
    )
    return rows.length === 3 && rows.map(({ content }) => content)
  })
  expect(left).toEqual(['kept', 'live', 'shared'])
  const { json } = await requestSites(alone, 'GET', `/${site.id}/deploys`)
  expect(json.deploys.map(({ id }: Deploy) => id)).toEqual([fresh.id, live.id, kept.id])
  expect(json.deploys.map(({ id }: Deploy) => id)).not.toContain(oldest.id)
})
