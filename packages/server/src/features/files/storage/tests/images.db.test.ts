import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import pg from 'pg'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { diskStore } from '../bytes/disk.ts'
import { newKey } from '../bytes/store.ts'
import {
  createBucket,
  createStorageApps,
  exchange,
  newUser,
  problem,
  put,
  type StorageApps,
  untilWaiting,
} from './storage-requests.ts'

let apps: StorageApps
let admin: string
let bucket: string

beforeAll(async () => {
  apps = await createStorageApps({ 'storage.image_cache_mb': '1', 'storage.max_file_size': '60000000' })
  admin = await apps.app.adminToken()
  bucket = await createBucket(apps.app, { public: true })
  await put(apps.app, `/${bucket}/photo.jpg`, admin, await photo(400, 200).jpeg().toBuffer().then(bytesOf))
  await put(apps.app, `/${bucket}/drawing.png`, admin, await photo(60, 80).png().toBuffer().then(bytesOf))
})
afterAll(() => apps[Symbol.asyncDispose]())

const bytesOf = (buffer: Buffer) => new Uint8Array(buffer)

/** Creates an image that is red on the left and blue on the right. */
function photo(width: number, height: number) {
  const half = { create: { width: width / 2, height, channels: 3 as const, background: 'blue' } }
  return sharp({ create: { width, height, channels: 3, background: 'red' } }).composite([
    { input: half, left: width / 2, top: 0 },
  ])
}

async function getImage(path: string, headers: Readonly<Record<string, string>> = {}, node = apps.app) {
  const response = await fetch(`${node.url}/api/storage${path}`, { headers })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes }
}
async function shapeOf(path: string, headers: Readonly<Record<string, string>> = {}) {
  const { bytes, headers: answered } = await getImage(path, headers)
  const { format, width, height } = await sharp(bytes).metadata()
  return [answered.get('content-type'), format, width, height]
}
const refusal = async (path: string, token?: string) =>
  problem(await exchange(apps.app, 'GET', path, token, undefined, {}))
const variants = () =>
  apps.app.sql<{ key: string; parameters: string }>(
    'select key, parameters from basalt.image_variants order by parameters',
  )
const reap = () =>
  apps.app.request('POST', '/api/admin/jobs', { token: admin, body: { type: 'storage_reaper' } })

describe('storage › images', () => {
  test.each([
    ['photo.jpg?w=100', ['image/jpeg', 'jpeg', 100, 50]],
    ['photo.jpg?h=100', ['image/jpeg', 'jpeg', 200, 100]],
    ['photo.jpg?w=100&h=100', ['image/jpeg', 'jpeg', 100, 50]],
    ['photo.jpg?w=100&h=100&fit=contain', ['image/jpeg', 'jpeg', 100, 50]],
    ['photo.jpg?w=100&h=100&fit=cover', ['image/jpeg', 'jpeg', 100, 100]],
    ['photo.jpg?w=100&h=100&fit=cover&crop=smart', ['image/jpeg', 'jpeg', 100, 100]],
    ['photo.jpg?w=100&h=100&fit=fill', ['image/jpeg', 'jpeg', 100, 100]],
    ['photo.jpg?w=4096', ['image/jpeg', 'jpeg', 400, 200]],
    ['photo.jpg?w=40&format=webp', ['image/webp', 'webp', 40, 20]],
    ['photo.jpg?w=40&fmt=png', ['image/png', 'png', 40, 20]],
    ['photo.jpg?w=40&format=avif&q=30', ['image/avif', 'heif', 40, 20]],
    ['drawing.png?w=30', ['image/png', 'png', 30, 40]],
  ])('%s has the requested type and size', async (path, shape) => {
    expect(await shapeOf(`/${bucket}/${path}`)).toEqual(shape)
  })

  test('stretch, crop in the middle, or keep the whole', async () => {
    const colorsOf = async (query: string) => {
      const { bytes } = await getImage(`/${bucket}/photo.jpg?format=png&w=100&h=100&${query}`)
      const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true })
      const isRed = (x: number) => (data[(50 * info.width + x) * info.channels] ?? 0) > 128
      return [isRed(2), isRed(40), isRed(60), isRed(97)]
    }
    expect(await colorsOf('fit=cover')).toEqual([true, true, false, false])
    expect(await colorsOf('fit=fill')).toEqual([true, true, false, false])
  })

  test('format=auto follows Accept, and says so to caches', async () => {
    const path = `/${bucket}/photo.jpg?w=50&format=auto`
    expect(await shapeOf(path, { accept: 'image/avif,image/webp,*/*' })).toEqual([
      'image/webp',
      'webp',
      50,
      25,
    ])
    for (const accept of ['image/*', 'image/webp;q=0, image/*', 'image/webp2']) {
      expect(await shapeOf(path, { accept })).toEqual(['image/jpeg', 'jpeg', 50, 25])
    }
    expect((await getImage(path)).headers.get('vary')).toMatch(/(^|, )Accept$/)
  })

  test('are held upright, and lose where they were taken', async () => {
    const turned = await photo(40, 20)
      .jpeg()
      .withExif({ IFD0: { Orientation: '6' }, IFD3: { GPSLatitude: '52/1 30/1 0/1' } })
      .withMetadata({ orientation: 6 })
      .toBuffer()
    await put(apps.app, `/${bucket}/turned.jpg`, admin, bytesOf(turned))
    const { bytes } = await getImage(`/${bucket}/turned.jpg?w=10`)
    const { width, height, exif, orientation } = await sharp(bytes).metadata()
    expect([width, height, exif, orientation]).toEqual([10, 20, undefined, undefined])
  })

  test('respond to conditions, ranges and HEAD like objects, with a tag of their own', async () => {
    const path = `/${bucket}/photo.jpg?w=64`
    const whole = await getImage(path)
    const tag = whole.headers.get('etag') ?? ''
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/)
    expect(tag).not.toBe((await getImage(`/${bucket}/photo.jpg`)).headers.get('etag'))
    expect(whole.headers.get('cache-control')).toBe('public, max-age=86400')
    expect(whole.headers.get('content-disposition')).toContain('photo.jpg')
    expect((await getImage(path, { 'if-none-match': tag })).status).toBe(304)
    const part = await getImage(path, { range: 'bytes=0-9' })
    expect([part.status, part.bytes.equals(whole.bytes.subarray(0, 10))]).toEqual([206, true])
    const head = await exchange(apps.app, 'HEAD', path, undefined, undefined, {})
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(whole.bytes.length)])
    const webp = await getImage(`${path}&format=webp&download`)
    expect(webp.headers.get('content-disposition')).toContain('photo.webp')
  })

  test.each([
    ['w=0', 'invalid width parameter'],
    ['w=4097', 'invalid width parameter'],
    ['w=abc', 'invalid width parameter'],
    ['w=1e3', 'invalid width parameter'],
    ['w=', 'invalid width parameter'],
    ['h=-1', 'invalid height parameter'],
    ['q=80', 'w or h parameter is required for image transforms'],
    ['format=webp', 'w or h parameter is required for image transforms'],
    ['w=10&q=0', 'quality must be 1-100'],
    ['w=10&q=101', 'quality must be 1-100'],
    ['w=10&q=high', 'quality must be 1-100'],
    ['w=10&format=gif', 'unsupported format (use jpeg, png, webp, or avif)'],
    ['w=10&fmt=svg', 'unsupported format (use jpeg, png, webp, or avif)'],
    ['w=10&crop=left', 'unsupported crop mode (use center or smart)'],
    ['w=10&fit=around', 'unsupported fit mode (use contain, cover, or fill)'],
  ])('refuses %s', async (query, message) => {
    expect(await refusal(`/${bucket}/photo.jpg?${query}`)).toEqual([400, message, 'invalid_transform'])
  })

  test('are made of JPEG, PNG and WebP only, by the content and not by the name', async () => {
    const files: [string, string][] = [
      ['text.jpg', 'not an image'],
      ['drawing.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'],
      ['moving.gif', 'GIF89a\x01\x00\x01\x00'],
    ]
    for (const [name, content] of files) {
      await put(apps.app, `/${bucket}/${name}`, admin, content)
      expect(await refusal(`/${bucket}/${name}?w=10`)).toEqual([
        400,
        'file is not a supported image format (jpeg, png, webp)',
        'unsupported_image',
      ])
    }
  })

  test('reject a drawing that begins like an image, whatever type its object has', async () => {
    const drawing = `<svg  a='WEBPVP8 ' xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>`
    const { json } = await put(apps.app, `/${bucket}/drawing.webp`, admin, drawing, {
      'content-type': 'image/webp',
    })
    expect(json.contentType).toBe('application/octet-stream')
    const asImage = `update basalt.objects set content_type = 'image/webp' where bucket = $1 and name = 'drawing.webp'`
    await apps.app.sql(asImage, [bucket])
    const failed = [422, 'image processing failed', 'image_processing_failed']
    expect(await refusal(`/${bucket}/drawing.webp?w=5`)).toEqual(failed)
  })

  test('reject a damaged image, one of too many pixels and a large file, and make the next one', async () => {
    const whole = await photo(400, 200).png().toBuffer()
    await put(apps.app, `/${bucket}/cut.png`, admin, bytesOf(whole.subarray(0, whole.length / 2)))
    const bomb = await sharp({ create: { width: 9000, height: 9000, channels: 3, background: 'red' } })
      .png({ compressionLevel: 9 })
      .toBuffer()
    await put(apps.app, `/${bucket}/bomb.png`, admin, bytesOf(bomb))
    await put(
      apps.app,
      `/${bucket}/large.png`,
      admin,
      bytesOf(Buffer.concat([whole, Buffer.alloc(52_428_800)])),
    )
    const failed = [422, 'image processing failed', 'image_processing_failed']
    for (const name of ['cut.png', 'bomb.png', 'large.png']) {
      expect(await refusal(`/${bucket}/${name}?w=10`)).toEqual(failed)
    }
    expect((await shapeOf(`/${bucket}/photo.jpg?w=11`))[2]).toBe(11)
  })

  test('are readable by callers who may read the object', async () => {
    const secret = await createBucket(apps.app)
    await put(apps.app, `/${secret}/a.png`, admin, bytesOf(await photo(20, 20).png().toBuffer()))
    expect(await refusal(`/${secret}/a.png?w=10`)).toEqual([401, 'missing auth token', 'missing_auth_token'])
    expect(await refusal(`/${secret}/a.png?w=10`, newUser().token)).toEqual([
      404,
      'file not found',
      'file_not_found',
    ])
    const mine = await exchange(apps.app, 'GET', `/${secret}/a.png?w=10`, admin, undefined, {})
    expect([mine.status, mine.headers.get('cache-control')]).toEqual([200, 'private, no-cache'])
    const signed = await exchange(apps.app, 'POST', `/${secret}/a.png/sign`, admin, '{}', {
      'content-type': 'application/json',
    })
    const response = await fetch(`${apps.app.url}${signed.json.url}&w=10`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
  })

  test('are made once for ten concurrent requests to two nodes, and then come from the cache', async () => {
    const before = (await variants()).length
    const path = `/${bucket}/photo.jpg?w=77`
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => getImage(path, {}, index % 2 === 0 ? apps.app : apps.second)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const [first] = answers
    expect(answers.every(({ bytes }) => first !== undefined && bytes.equals(first.bytes))).toBe(true)
    expect((await variants()).length).toBe(before + 1)
    expect(await apps.app.sql(`select from basalt.stored_bytes where state = 'staged'`)).toEqual([])
  })

  test('are not made after many clients have hung up, and keep no other caller waiting', async () => {
    const large = await photo(4000, 3000).jpeg().toBuffer().then(bytesOf)
    expect((await put(apps.app, `/${bucket}/large.jpg`, admin, large)).status).toBe(201)
    const [{ key } = {}] = await apps.app.sql(
      `select key from basalt.objects where bucket = $1 and name = 'large.jpg'`,
      [bucket],
    )
    const hangUp = new AbortController()
    const { promise: isFull, resolve } = Promise.withResolvers<void>()
    // More than may wait of one object: the first that is refused says that the others wait.
    const requests = Array.from({ length: 30 }, async (_, index) => {
      const { signal } = hangUp
      const path = `/api/storage/${bucket}/large.jpg?w=${3000 + index}`
      const { status } = await fetch(`${apps.app.url}${path}`, { signal })
      if (status === 503) resolve()
      return status
    })
    await isFull
    hangUp.abort()
    const answers = await Promise.allSettled(requests)
    expect(answers.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(10)
    const headers = { authorization: `Bearer ${newUser().token}` }
    expect((await getImage(`/${bucket}/photo.jpg?w=55`, headers)).status).toBe(200)
    // Transforms of one object are made in their order, so that those before it would have been made by now.
    expect((await getImage(`/${bucket}/large.jpg?w=60`)).status).toBe(200)
    const made = await apps.app.sql('select from basalt.image_variants where source_key = $1', [key])
    expect(made.length).toBeLessThan(5)
    await apps.app.request('DELETE', `/api/storage/${bucket}/large.jpg`, { token: admin })
  })

  test('are made of the new content when their object is replaced meanwhile', async () => {
    const path = `/${bucket}/changing.png`
    await put(apps.app, path, admin, bytesOf(await photo(20, 20).png().toBuffer()))
    const keyOf = `select key from basalt.objects where name = 'changing.png'`
    const [{ key: first } = { key: '' }] = await apps.app.sql<{ key: string }>(keyOf)
    const [second, third] = [newKey(), newKey()]
    for (const [key, width] of [[second, 22] as const, [third, 24] as const]) {
      await diskStore(apps.directory).write(key, Readable.from([await photo(width, 20).png().toBuffer()]))
      await apps.app.sql('insert into basalt.stored_bytes (key) values ($1)', [key])
    }
    const clients = [apps.database.url, apps.database.url].map(
      (connectionString) => new pg.Client({ connectionString }),
    )
    const [one, other] = clients
    for (const client of clients) {
      await client.connect()
      await client.query('begin')
    }
    const lock = 'select from basalt.stored_bytes where key = $1 for update'
    const replace = `update basalt.objects set key = $1 where name = 'changing.png'`
    await one?.query(lock, [first])
    const shape = shapeOf(`${path}?w=50`)
    await untilWaiting(apps.app, 1)
    await one?.query(replace, [second])
    // It gets its lock before the request, which reads the bytes again.
    const locking = other?.query(lock, [second])
    await untilWaiting(apps.app, 2)
    await one?.query('commit')
    await locking
    await untilWaiting(apps.app, 1)
    await other?.query(replace, [third])
    await other?.query('commit')
    for (const client of clients) await client.end()
    expect((await shape).slice(2)).toEqual([24, 20])
  })

  test('end with the bytes they were made of', async () => {
    const path = `/${bucket}/short-lived.png`
    await put(apps.app, path, admin, bytesOf(await photo(20, 20).png().toBuffer()))
    const known = (await variants()).map(({ key }) => key)
    await getImage(`${path}?w=10`)
    const key = (await variants()).map(({ key }) => key).find((each) => !known.includes(each)) ?? ''
    expect(await apps.listFiles()).toContain(key)
    await put(apps.app, path, admin, bytesOf(await photo(10, 20).png().toBuffer()))
    expect((await shapeOf(`${path}?w=5`)).slice(2)).toEqual([5, 10])
    await exchange(apps.app, 'DELETE', path, admin, undefined, {})
    await expect.poll(() => apps.listFiles()).not.toContain(key)
    const rows = () => apps.app.sql('select from basalt.stored_bytes where key = $1', [key])
    await expect.poll(rows).toEqual([])
  })

  test('are made again when evicted between the read of the cache and the opening of the file', async () => {
    const path = `/${bucket}/photo.jpg?w=61`
    const made = await getImage(path)
    const [variant] = (await variants()).filter(({ parameters }) => parameters.startsWith('61 '))
    const key = variant?.key ?? ''
    await apps.app.sql(
      `update basalt.image_variants set used_at = now() - interval '2 days' where key = $1`,
      [key],
    )
    // The use of a variant is noted once it was unused for a day. Here the eviction happens at that moment.
    await apps.app.sql(`
      create function evict() returns trigger language plpgsql as $$
      begin delete from basalt.image_variants where key = new.key; return null; end $$;
      create trigger evict after update on basalt.image_variants for each row execute function evict()`)
    await rm(join(apps.directory, key.slice(0, 2), key))
    const again = await getImage(path)
    await apps.app.sql('drop function evict cascade')
    expect([again.status, again.bytes.equals(made.bytes)]).toEqual([200, true])
    expect((await variants()).map((each) => each.key)).not.toContain(key)
  })

  test('are evicted beyond the limit of the cache, the least recently requested first', async () => {
    await getImage(`/${bucket}/photo.jpg?w=101`)
    await getImage(`/${bucket}/photo.jpg?w=102`)
    await apps.app.sql(`
      update basalt.image_variants set size = 600000, used_at = now() - interval '1 hour' where parameters like '101 %'`)
    await apps.app.sql(`update basalt.image_variants set size = 600000 where parameters like '102 %'`)
    await apps.app.sql(`
      update basalt.image_variants set used_at = now() - interval '31 days' where parameters like '77 %'`)
    await reap()
    const left = async () => (await variants()).map(({ parameters }) => parameters.split(' ')[0])
    await expect.poll(left).not.toContain('101')
    expect(await left()).toContain('102')
    expect(await left()).not.toContain('77')
  })
})
