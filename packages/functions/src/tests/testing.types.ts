import { after, job, route } from '@basaltdb/functions'
import { testDatabase } from '@basaltdb/functions/testing'
import { Type } from 'typebox'
import { typed } from '../../../client/src/tests/typed.ts'

/** Compiled, never run: types of the calls of a test. */

const Order = Type.Object({ quantity: Type.Integer() })
const order = route('POST /shops/:shop/orders', { access: 'user', input: Order }, (_ctx, { quantity }) => ({
  quantity,
  at: new Date(),
}))
const list = route('GET /orders', { access: 'anonymous' }, () => [1, 2])
const total = route('GET /total', { access: 'user', output: Type.Object({ total: Type.Number() }) }, () => ({
  total: 1,
}))
const report = job('report', { input: Type.Object({ days: Type.Integer() }) }, () => undefined)
const clean = job('clean', {}, () => undefined)
const receipt = after('album', 'create', () => undefined)

export async function calls(): Promise<void> {
  await using database = await testDatabase()
  const ordered = await database.call(order, { as: 'a@b.c', params: { shop: '1' }, input: { quantity: 2 } })
  typed<{ readonly quantity: number; readonly at: string }>()(ordered.result)
  // @ts-expect-error The path has a parameter.
  await database.call(order, { input: { quantity: 2 } })
  // @ts-expect-error The schema requires a number.
  await database.call(order, { params: { shop: '1' }, input: { quantity: 'two' } })
  typed<readonly number[]>()((await database.call(list)).result)
  typed<{ readonly total: number }>()((await database.call(total, { as: 'admin' })).result)
  await database.call(report, { payload: { days: 1 } })
  await database.call(clean)
  await database.call(receipt, { change: { operation: 'create', record: {} } })
  typed<unknown>()((await database.call('order')).result)
  await database.transaction(async ({ db }) => {
    const { items } = await db('anonymous').album.list()
    typed<string>()(items[0]?.title ?? '')
  })
}
