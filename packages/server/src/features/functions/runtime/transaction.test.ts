import { expect, test } from 'vitest'
import { sourceOf } from './transaction.ts'

const rows = { rows: [], count: 0 }
const steps = {
  transaction: { run: async () => [rows], nest: () => Promise.reject() },
  requireIntact: () => {},
}

test('sourceOf › refuses statements of another identity, and names the functions that may make them', async () => {
  const { source } = sourceOf(steps)
  const identity = { scope: { kind: 'unrestricted' }, origin: undefined } as const
  await expect(source.run([], undefined, identity)).rejects.toMatchObject({
    kind: 'statement_not_allowed',
    message: 'ctx.asAdmin is not available in this transaction: use it in a route or an inbound function',
  })
})

test('sourceOf › refuses statements and the end of the work after an abort', async () => {
  const { source, requireOpen } = sourceOf(steps)
  await source.run([])
  requireOpen()
  source.abort()
  await expect(source.run([])).rejects.toMatchObject({ kind: 'transaction_ended' })
  expect(requireOpen).toThrow('the transaction of this call has ended')
})
