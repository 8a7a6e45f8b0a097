import { after, before, inbound, job, type PayloadOf, route, schedule } from '@basaltdb/functions'
import { Type } from 'typebox'
import type { Exact, Insert, Row, Update } from '../../../client/src/tests/database.ts'
import { typed } from '../../../client/src/tests/typed.ts'

/** Compiled, never run: types of hooks, jobs and other work. */

export const created = before('album', 'create', (_ctx, change) => {
  typed<'create' | 'upsert'>()(change.operation)
  change.values.title = 'Blue'
  // @ts-expect-error The table has no such column.
  change.values.name = 'Blue'
  // @ts-expect-error A new record has no previous one.
  change.previous
})

export const updated = before('album', 'update', { previous: true }, (ctx, change) => {
  if (change.operation === 'upsert') return
  typed<Row<'album'>>()(change.previous)
  typed<Update<'album'>>()(change.values)
  // @ts-expect-error A hook has no parameters of a path.
  ctx.params
})

export const withoutPrevious = before('album', 'delete', (_ctx, change) => {
  typed<undefined>()(change.previous)
  // @ts-expect-error A deletion has no values.
  change.values
})

export const several = before('album', ['create', 'delete'], (_ctx, change) => {
  typed<'create' | 'upsert' | 'delete'>()(change.operation)
})

// @ts-expect-error There is no such table.
export const wrongTable = before('albums', 'create', () => {})

// @ts-expect-error There is no such operation.
export const wrongOperation = before('album', 'read', () => {})

export const logged = after('album', ['create', 'update'], (ctx, change) => {
  typed<Exact>()(change.record.id)
  if (change.operation === 'update') typed<string>()(change.previous.title)
  typed<{ readonly id: string }>()(ctx.event)
  // @ts-expect-error Only an update has a previous record.
  if (change.operation === 'create') change.previous
})

export const retried = after('album', 'delete', { retries: 1 }, (ctx, change) => {
  typed<number>()(ctx.attempt)
  typed<string>()(change.record.title)
})

// @ts-expect-error There is no such table.
export const wrongLogged = after('albums', 'create', () => {})

const Size = Type.Object({ width: Type.Integer(), name: Type.Optional(Type.String()) })

export const resize = job('resize', { input: Size, retries: 2 }, (ctx, payload) => {
  typed<number>()(payload.width)
  typed<number>()(ctx.attempt)
  // @ts-expect-error The schema has no such member.
  payload.height
  // @ts-expect-error A job has no request.
  ctx.request
})

export const sweep = job('sweep', {}, (_ctx, payload) => {
  typed<undefined>()(payload)
})

typed<{ width: number; name?: string }>()({} as PayloadOf<typeof Size>)

export const enqueuing = route('POST /resize', { access: 'user' }, async (ctx) => {
  typed<string>()(await ctx.enqueue(resize, { width: 1 }, { key: 'one', at: new Date() }))
  await ctx.enqueue(sweep)
  // A name may be that of a job of the server.
  await ctx.enqueue('resize', { width: 1 })
  // @ts-expect-error The width is a number.
  await ctx.enqueue(resize, { width: 'wide' })
  // @ts-expect-error The payload is missing.
  await ctx.enqueue(resize)
  // @ts-expect-error The job has no payload.
  await ctx.enqueue(sweep, { width: 1 })
  // @ts-expect-error There is no such option.
  await ctx.enqueue(resize, { width: 1 }, { delay: 5 })
  // @ts-expect-error A route is no job.
  await ctx.enqueue(created, { width: 1 })
})

export const nightly = schedule('0 3 * * *', { timezone: 'Europe/Berlin' }, async (ctx) => {
  const album = await ctx.db.album.first({ fields: ['title'] })
  typed<string | undefined>()(album?.title)
  // @ts-expect-error A schedule runs for no user of a request.
  ctx.request
})

export const stripe = inbound(
  'stripe',
  ({ body, headers }, { secrets }) => {
    typed<Uint8Array>()(body)
    typed<string | undefined>()(headers['stripe-signature'])
    typed<string | undefined>()(secrets.STRIPE)
    return { id: '1', time: new Date() }
  },
  async (ctx, message) => {
    const { title } = message.json<Insert<'album'>>()
    await ctx.db.album.create({ title })
    // @ts-expect-error A service is no user.
    ctx.user
  },
)

const unverified = () => ({ id: '1' })

// @ts-expect-error A verification returns an id and a time.
export const wrongVerify = inbound('stripe', unverified, () => {})

export const files = job('files', {}, async (ctx) => {
  const bucket = ctx.storage.bucket('receipts')
  const made = await bucket.upload('a.txt', new Uint8Array(1), {
    contentType: 'text/plain',
    ifNoneMatch: '*',
  })
  typed<string>()(made.etag)
  typed<Response>()(await bucket.download('a.txt', { range: [0, 1] }))
  typed<string>()(await bucket.sign('a.txt', { expiresIn: 60, w: 100, format: 'webp' }))
  const { items } = await bucket.list({ prefix: 'a', delimiter: '/' })
  typed<number | undefined>()(items[0]?.size)
  // @ts-expect-error An object is no content.
  await bucket.upload('a.txt', { text: 'a' })
  // @ts-expect-error Signing has no options of a request.
  await bucket.sign('a.txt', { timeoutMs: 1 })
})

export const withoutFiles = before('album', 'update', (ctx) => {
  // @ts-expect-error A hook has no files.
  ctx.storage
})
