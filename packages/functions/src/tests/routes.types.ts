import { type Context, inbound, route, type StandardSchema } from '@basaltdb/functions'
import { Type } from 'typebox'
import type { Json } from '../../../client/src/tests/database.ts'
import { typed } from '../../../client/src/tests/typed.ts'

/** Compiled, never run: types of routes. */

const Order = Type.Object({ quantity: Type.Integer(), note: Type.Optional(Type.String()) })

/** Schema of another library, whose input and output differ. */
declare const Trimmed: StandardSchema<{ word: string }> & {
  readonly '~standard': {
    readonly types?: { readonly input: { word: number }; readonly output: { word: string } }
  }
}

export const params = route('POST /shops/:shop/orders/:id', { access: 'user' }, (ctx, input) => {
  typed<{ readonly shop: string; readonly id: string }>()(ctx.params)
  typed<undefined>()(input)
  // @ts-expect-error The path has no such parameter.
  ctx.params.order
})

export const withoutParams = route('GET /orders', { access: 'anonymous' }, (ctx) => {
  // @ts-expect-error The path has no parameters.
  ctx.params.id
})

export const input = route('POST /orders', { access: 'user', input: Order }, (_ctx, order) => {
  typed<number>()(order.quantity)
  typed<string | undefined>()(order.note)
  // @ts-expect-error The schema has no such member.
  order.price
})

export const standard = route(
  'POST /words',
  { access: 'user', input: Trimmed, output: Trimmed },
  (_ctx, given) => {
    // The function gets the output of the schema.
    typed<{ word: string }>()(given)
    return given
  },
)

export const plain = route('POST /plain', { access: 'user', input: { type: 'object' } }, (_ctx, given) => {
  // A plain JSON Schema has no type.
  typed<unknown>()(given)
})

export const output = route(
  'GET /total',
  { access: 'user', output: Type.Object({ total: Type.Number() }) },
  () => ({
    total: 1,
  }),
)

export const later = route(
  'GET /later',
  { access: 'user', output: Type.Object({ total: Type.Number() }) },
  async () => ({ total: 1 }),
)

const Total = Type.Object({ total: Type.Number() })

// @ts-expect-error The result does not match the schema.
export const wrongOutput = route('GET /wrong', { access: 'user', output: Total }, () => ({ total: 'a lot' }))

// @ts-expect-error The result of a promise does not match either.
export const wrongLater = route('GET /wrong', { access: 'user', output: Type.Number() }, async () => 'a lot')

// @ts-expect-error There is no such method.
export const wrongMethod = route('HEAD /orders', { access: 'user' }, () => {})

// @ts-expect-error The path begins with a slash.
export const wrongPath = route('GET orders', { access: 'user' }, () => {})

// @ts-expect-error There are no such callers.
export const wrongAccess = route('GET /orders', { access: 'owner' }, () => {})

// @ts-expect-error A route names its callers.
export const withoutAccess = route('GET /orders', {}, () => {})

export async function context(ctx: Context): Promise<void> {
  typed<string | undefined>()(ctx.secrets.SHOP_KEY)
  typed<string | undefined>()(ctx.user?.id)
  typed<'user' | 'anonymous' | 'administrator'>()(ctx.claims.kind)
  typed<Response>()(await ctx.fetch('https://shop.example.com', { timeout: 5 }))
  // @ts-expect-error Requests follow no redirects.
  await ctx.fetch('https://shop.example.com', { redirect: 'follow' })
  // @ts-expect-error Secrets are set by the operator.
  ctx.secrets.SHOP_KEY = 'x'
  // @ts-expect-error A mail has recipients.
  await ctx.mail({ subject: 'x', text: 'y' })
}

export async function database(ctx: Context): Promise<void> {
  const album = await ctx.db.album.get(1)
  typed<string>()(album.title)
  typed<'calm' | 'loud' | null>()(album.mood)
  const { items } = await ctx.db.album.list({
    fields: ['id', 'title'],
    filter: { mood: 'calm' },
    sort: ['-title'],
  })
  typed<string | undefined>()(items[0]?.title)
  // @ts-expect-error The column is not requested.
  items[0]?.mood
  const [related] = (await ctx.db.album.list({ expand: { artist: true } })).items
  typed<string | undefined>()(related?.expand.artist?.name)
  await ctx.db.album.create({ title: 'Blue' })
  const [row] = await ctx.db.sql<{ total: number }>`select count(*) as total from album where id = ${1}`
  typed<number | undefined>()(row?.total)
  typed<Json | undefined>()((await ctx.db.sql<{ data: Json }>`select 1`)[0]?.data)
  // @ts-expect-error There is no such table.
  ctx.db.albums
  // @ts-expect-error There is no such column.
  await ctx.db.album.list({ filter: { name: 'Blue' } })
  // @ts-expect-error The title is missing.
  await ctx.db.album.create({ price: 1 })
  // @ts-expect-error The value is not one of the enum.
  await ctx.db.album.update(1, { mood: 'sad' })
  // @ts-expect-error The method of a call is `get`.
  await ctx.db.album.one(1)
  // @ts-expect-error Values of a statement have types that PostgreSQL can read.
  await ctx.db.sql`select ${() => 1}`
}

export const declared = route('POST /reserve/:id', { access: 'user', admin: true }, async (ctx) => {
  const { db } = ctx.asAdmin('reserve the stock')
  typed<typeof ctx.db>()(db)
  typed<{ readonly id: string }>()(ctx.params)
  // @ts-expect-error A reason is required.
  ctx.asAdmin()
})

export const undeclared = route('POST /reserve', { access: 'user' }, (ctx) => {
  // @ts-expect-error The function is not declared with admin: true.
  ctx.asAdmin('reserve the stock')
})

export const declined = route('POST /declined', { access: 'user', admin: false }, (ctx) => {
  // @ts-expect-error The function is not declared with admin: true.
  ctx.asAdmin('reserve the stock')
})

export const received = inbound(
  'stripe',
  () => undefined,
  { admin: true },
  (ctx) => ctx.asAdmin('record a payment').db,
)

export const receivedPlain = inbound(
  'courier',
  () => undefined,
  (ctx) => {
    // @ts-expect-error The function is not declared with admin: true.
    ctx.asAdmin('record a delivery')
  },
)
