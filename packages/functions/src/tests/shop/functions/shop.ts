import {
  after,
  before,
  FunctionError,
  inbound,
  job,
  route,
  schedule,
  stripeSignature,
} from '@basaltdb/functions'
import { Type } from 'typebox'

const Item = Type.Object({ product_id: Type.Integer(), quantity: Type.Integer({ minimum: 1 }) })

export const price = before('purchase', 'create', async (ctx, { values }) => {
  const [product] = await ctx.db.sql<{
    price: string
    stock: number
  }>`select price, stock from product where id = ${Number(values.product_id)}`
  if (product !== undefined && product.stock < Number(values.quantity))
    throw new FunctionError(409, 'not enough in stock', { error: 'out_of_stock' })
  await ctx.enqueue(report, { days: 1 })
  values.total = Number(product?.price ?? 0) * Number(values.quantity)
})

export const checkout = route('POST /checkout', { access: 'user', input: Item }, async (ctx, item) => {
  const purchase = await ctx.db.from('purchase').create(item)
  await ctx.mail({ to: 'ann@example.com', subject: 'Your purchase', text: String(purchase.total) })
  await ctx.emit('sales', 'sold', { quantity: item.quantity })
  ctx.log.info('purchased', { quantity: item.quantity })
  return { total: Number(purchase.total), at: new Date(0) }
})

export const order = route('GET /orders/:id', { access: 'admin' }, async (ctx) => {
  return await ctx.db.from('purchase').get(Number(ctx.params.id))
})

export const rights = route('GET /rights', { access: 'anonymous' }, async (ctx) => {
  const [row] = await ctx.db.sql<{ role: string; login: string; owner: string | null }>`
    select current_user as role, session_user as login, current_setting('basalt.user_id', true) as owner`
  return row
})

export const charge = route('POST /charges', { access: 'anonymous' }, async (ctx) => {
  const response = await ctx.fetch('https://payments.example.com/charges?currency=eur', {
    method: 'POST',
    headers: { authorization: `Bearer ${ctx.secrets.PAYMENT_KEY}` },
    body: JSON.stringify({ amount: 4200 }),
  })
  return { status: response.status, body: await response.json() }
})

export const report = job(
  'report',
  { input: Type.Object({ days: Type.Integer({ minimum: 1 }) }) },
  async (ctx, { days }) => {
    const [row] = await ctx.db.sql<{
      sold: number
    }>`select coalesce(sum(quantity), 0)::int as sold from purchase`
    ctx.log.info('sold', { days, sold: row?.sold, attempt: ctx.attempt })
  },
)

export const nightly = schedule('0 3 * * *', async (ctx) => {
  await ctx.enqueue(report, { days: 7 }, { key: 'nightly', at: new Date(86_400_000) })
})

export const receipt = after('purchase', 'create', async (ctx, { record }) => {
  const { ok } = await ctx.fetch('https://mail.example.com/receipts', {
    method: 'POST',
    body: JSON.stringify({ purchase: record.id, event: ctx.event.id === '' }),
  })
  if (!ok) throw new Error('the mail service refused')
})

export const paid = inbound(
  'stripe',
  stripeSignature('STRIPE_SECRET'),
  { as: 'admin' },
  async (ctx, message) => {
    const { data } = message.json<{ data: { purchase: number } }>()
    await ctx.db.sql`insert into paid values (${data.purchase}, ${message.id})`
  },
)

/** Writes after it has returned. */
export const leaks = route('POST /leaks', { access: 'admin' }, async (ctx) => {
  await ctx.db.sql`update product set stock = 5 where id = 1`
  const write = () => void ctx.db.sql`update product set stock = 0`.catch(() => undefined)
  ctx.signal.addEventListener('abort', write)
})

export const breaks = route('POST /breaks', { access: 'anonymous' }, () => {
  // biome-ignore lint/suspicious/noConsole: functions of users use it
  console.log('about to break')
  throw new Error('no such shelf')
})

export const exits = route('POST /exits', { access: 'anonymous' }, async (ctx) => {
  await ctx.db.sql`select 1`
  process.exit()
})

export const first = schedule('0 4 * * *', () => {})
export const second = schedule('0 4 * * *', () => {})

export const file = route(
  'POST /files/:name',
  { access: 'user', input: Type.Object({ text: Type.String() }) },
  async (ctx, { text }) => {
    const { size } = await ctx.storage.bucket('receipts').upload(ctx.params.name, text)
    return { size }
  },
)

export const openFile = route('GET /files/:name', { access: 'user' }, (ctx) =>
  ctx.storage.bucket('receipts').download(ctx.params.name),
)
