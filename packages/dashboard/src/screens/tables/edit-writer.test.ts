import { BasaltError } from '@basaltdb/client'
import { beforeEach, describe, expect, test } from 'vitest'
import { createStore } from '../../api/store.ts'
import type { ChangeResult, Operation, TableInfo, TableRow } from './api.ts'
import { addRow, type Changes, changeCell, deleteRow, noChanges } from './changes.ts'
import { type Conflict, createEditWriter } from './edit-writer.ts'

const columns = ['id', 'title', 'note']
const info = {
  table: 'task',
  primaryKey: ['id'],
  columns: columns.map((name) => ({ name, type: 'text' })),
  relations: [{ kind: 'many-to-one', constraint: 'task_note_fkey', pairs: [{ from: 'note', to: 'id' }] }],
} as unknown as TableInfo

const row = (id: string, title: string, etag: string | null = '1'): TableRow => ({
  key: [id],
  etag,
  cells: [id, title, 'n'],
})

interface Request {
  readonly operations: readonly Operation[]
  readonly key: string
}

const staged = createStore<Changes>(noChanges)
const applying = createStore(false)
let requests: Request[]
let conflicts: Conflict[]
let failures: unknown[]
let writes: number
/** Server responses, in the order of the requests. */
let responses: (() => readonly ChangeResult[])[]
/** Current rows of the server. */
let present: Map<string, TableRow>

const writer = createEditWriter(
  info,
  { staged, applying },
  {
    async apply(operations, key) {
      requests.push({ operations, key })
      const respond = responses.shift()
      if (respond === undefined) throw new Error('unexpected request')
      return respond()
    },
    read: async (id) =>
      ({ columns, rows: [present.get(id ?? '')].filter((each) => each !== undefined) }) as never,
    createKey: () => `key ${requests.length}`,
    onWritten: () => {
      writes += 1
    },
    onConflict: (conflict) => conflicts.push(conflict),
    onFailure: (error) => failures.push(error),
  },
)

const refusal = (
  error: string,
  status: number,
  operation?: { index: number; method: 'update' },
  data?: Readonly<Record<string, unknown>>,
) => new BasaltError(error, { error, status, operation, data })
const fail = (error: unknown) => (): never => {
  throw error
}
const wrote = (id: string, title: string): ChangeResult =>
  ({ index: 0, body: { id, title, note: 'n' }, etag: '2' }) as unknown as ChangeResult

beforeEach(() => {
  writer.discard()
  requests = []
  conflicts = []
  failures = []
  writes = 0
  responses = []
  present = new Map()
})

describe('dashboard › tables › edit writer', () => {
  test('sends nothing without staged changes', async () => {
    await writer.apply()
    expect([requests, writes]).toEqual([[], 0])
  })

  test('has no staged changes once everything is written', async () => {
    staged.set(changeCell(noChanges, row('1', 'a'), 'title', 'b', 'a'))
    responses = [() => [wrote('1', 'b')]]
    await writer.apply()
    expect(requests).toEqual([
      { operations: [{ method: 'update', id: '1', ifMatch: '1', body: { title: 'b' } }], key: 'key 0' },
    ])
    expect([staged.get().rows.size, writes, failures, applying.get()]).toEqual([0, 1, [], false])
  })

  test('does not write twice concurrently', async () => {
    staged.set(changeCell(noChanges, row('1', 'a'), 'title', 'b', 'a'))
    responses = [() => [wrote('1', 'b')]]
    await Promise.all([writer.apply(), writer.apply()])
    expect([requests.length, writes]).toEqual([1, 1])
  })

  test('keeps an edit made while the request is in flight, on top of the written row', async () => {
    staged.set(changeCell(noChanges, row('1', 'a'), 'title', 'b', 'a'))
    const written = row('1', 'b', '2')
    present.set('1', written)
    responses = [
      () => {
        staged.set(changeCell(staged.get(), row('1', 'a'), 'note', 'later', 'n'))
        return [wrote('1', 'b')]
      },
    ]
    await writer.apply()
    expect([...staged.get().rows]).toEqual([
      ['1', { row: written, values: { note: 'later' }, isDeleted: false }],
    ])
  })

  test('repeats changes without a response unchanged, with the same idempotency key', async () => {
    staged.set(addRow(noChanges, { title: 'new' }))
    responses = [fail(new TypeError('connection lost')), () => [wrote('9', 'new')]]
    await writer.apply()
    expect([failures.length, staged.get().created.length]).toEqual([1, 1])
    staged.set(addRow(staged.get(), { title: 'later' }))
    await writer.apply()
    expect(requests.map(({ key }) => key)).toEqual(['key 0', 'key 0'])
    expect(requests[1]?.operations).toEqual(requests[0]?.operations)
    expect(staged.get().created.map(({ values }) => values)).toEqual([{ title: 'later' }])
  })

  test('uses another idempotency key after a refusal', async () => {
    staged.set(addRow(noChanges, { title: '' }))
    responses = [fail(refusal('check_violation', 400)), fail(refusal('check_violation', 400))]
    await writer.apply()
    await writer.apply()
    expect(requests.map(({ key }) => key)).toEqual(['key 0', 'key 1'])
  })

  test('marks the refused change', async () => {
    staged.set(changeCell(noChanges, row('1', 'a'), 'title', '', 'a'))
    responses = [fail(refusal('check_violation', 400, { index: 0, method: 'update' }))]
    await writer.apply()
    expect(staged.get().rows.get('1')?.fault).toEqual({ message: 'check_violation', columns: [] })
    expect(failures).toHaveLength(1)
  })

  test.each([
    ['a column', 'invalid_value', 'title', ['title']],
    ['a foreign key', 'foreign_key_violation', 'task_note_fkey', ['note']],
    ['a check', 'check_violation', 'task_check', []],
  ])('marks the columns of a refused change that names %s', async (_, error, name, refused) => {
    staged.set(changeCell(noChanges, row('1', 'a'), 'title', '', 'a'))
    responses = [fail(refusal(error, 400, { index: 0, method: 'update' }, { [name]: {} }))]
    await writer.apply()
    expect(staged.get().rows.get('1')?.fault).toEqual({ message: error, columns: refused })
  })

  test('retries automatically when the other change affected other cells', async () => {
    staged.set(changeCell(noChanges, row('1', 'a'), 'title', 'b', 'a'))
    present.set('1', { ...row('1', 'a', '5'), cells: ['1', 'a', 'theirs'] })
    responses = [
      fail(refusal('precondition_failed', 412, { index: 0, method: 'update' })),
      () => [wrote('1', 'b')],
    ]
    await writer.apply()
    expect(requests.map(({ operations }) => operations)).toEqual([
      [{ method: 'update', id: '1', ifMatch: '1', body: { title: 'b' } }],
      [{ method: 'update', id: '1', ifMatch: '5', body: { title: 'b' } }],
    ])
    expect([conflicts, writes]).toEqual([[], 1])
  })

  test('reports a conflict when the other change affected the same cell', async () => {
    staged.set(changeCell(noChanges, row('1', 'a'), 'title', 'mine', 'a'))
    const theirs = row('1', 'theirs', '5')
    present.set('1', theirs)
    responses = [fail(refusal('precondition_failed', 412, { index: 0, method: 'update' }))]
    await writer.apply()
    expect(conflicts.map(({ id, present }) => ({ id, present }))).toEqual([{ id: '1', present: theirs }])
    expect([writes, failures, requests.length]).toEqual([0, [], 1])
  })

  test('reports a conflict when the cell is cut, because it may differ in the rest', async () => {
    const cut = { sizes: { 1: 6000 } }
    staged.set(changeCell(noChanges, { ...row('1', 'a'), ...cut }, 'title', 'mine', 'a'))
    present.set('1', { ...row('1', 'a', '5'), ...cut })
    responses = [fail(refusal('precondition_failed', 412, { index: 0, method: 'update' }))]
    await writer.apply()
    expect([conflicts.map(({ id }) => id), requests.length]).toEqual([['1'], 1])
  })

  test('reads the tag of a large row before it is written, and compares its cells', async () => {
    staged.set(changeCell(noChanges, row('1', 'a', null), 'title', 'b', 'a'))
    present.set('1', row('1', 'a', '5'))
    responses = [() => [wrote('1', 'b')]]
    await writer.apply()
    const update = { method: 'update', id: '1', ifMatch: '5', body: { title: 'b' } }
    expect([requests.map(({ operations }) => operations), writes]).toEqual([[[update]], 1])

    staged.set(changeCell(noChanges, { ...row('1', 'a', null), sizes: { 1: 6000 } }, 'title', 'b', 'a'))
    present.set('1', { ...row('1', 'a', '5'), sizes: { 1: 6001 } })
    await writer.apply()
    expect([conflicts.map(({ id }) => id), requests.length]).toEqual([['1'], 1])
  })

  test('overwrites the current row when the user keeps the own change', async () => {
    staged.set(changeCell(noChanges, row('1', 'a'), 'title', 'mine', 'a'))
    present.set('1', row('1', 'theirs', '5'))
    responses = [
      fail(refusal('precondition_failed', 412, { index: 0, method: 'update' })),
      () => [wrote('1', 'mine')],
    ]
    await writer.apply()
    const [conflict] = conflicts
    if (conflict === undefined) throw new Error('no conflict')
    await writer.decide(conflict, true)
    expect(requests[1]?.operations).toEqual([
      { method: 'update', id: '1', ifMatch: '5', body: { title: 'mine' } },
    ])
    expect([staged.get().rows.size, writes]).toEqual([0, 1])
  })

  test('drops the own change when the row was deleted or the user keeps the other change', async () => {
    staged.set(deleteRow(noChanges, row('1', 'a'), true))
    responses = [fail(refusal('record_not_found', 404, { index: 0, method: 'update' }))]
    await writer.apply()
    const [conflict] = conflicts
    if (conflict === undefined) throw new Error('no conflict')
    expect(conflict.present).toBeNull()
    await writer.decide(conflict, true)
    expect([staged.get().rows.size, requests.length, writes]).toEqual([0, 1, 0])
  })
})
