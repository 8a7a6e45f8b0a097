import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type EventStreamClient, openEventStream } from '../../../test/event-stream.ts'
import { alice, bob } from '../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'

let app: TestApp
const aliceToken = userToken({ sub: alice })
const bobToken = userToken({ sub: bob })

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create table item (id bigint primary key, name text, price numeric);
      create table note (id int primary key, owner text not null, body text);
      alter table note enable row level security;
      create policy own on note using (owner = current_setting('basalt.user_id', true));
      create table pair (a int, b text, v int, primary key (a, b));
      create view item_names as select name from item`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() => app.sql('delete from item; delete from note; delete from pair'))

function open(query: string, token: string | undefined = aliceToken, lastEventId?: string) {
  return openEventStream(app.url, query, { token, lastEventId })
}

async function write(method: string, path: string, body?: unknown, token = aliceToken): Promise<void> {
  const response = await app.request(method, `/api/collections/${path}`, { token, body })
  if (response.status >= 400) throw new Error(response.text)
}

/** Everything that came until a last change has come. */
async function until(stream: EventStreamClient, table = 'item') {
  await write('POST', table, { id: 999 })
  const all = await waitFor('the last change', () =>
    stream.messages.some(({ record }) => record.id === 999) ? stream.messages : undefined,
  )
  return all.filter(({ record }) => record.id !== 999)
}

describe('a stream', () => {
  test('begins with its client id and tells of creates, updates and deletes', async () => {
    await using stream = await open('tables=item')
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    })
    expect(stream.events[0]).toEqual({
      name: 'connected',
      id: expect.stringMatching(/./),
      data: { clientId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    })
    await write('POST', 'item', { id: 1, name: 'a', price: 2.5 })
    await write('PATCH', 'item/1', { price: 3 })
    await write('DELETE', 'item/1')
    expect(await stream.next(3)).toEqual([
      { action: 'create', table: 'item', record: { id: 1, name: 'a', price: 2.5 } },
      { action: 'update', table: 'item', record: { id: 1, name: 'a', price: 3 } },
      { action: 'delete', table: 'item', record: { id: '1' } },
    ])
    expect(new Set(stream.events.map(({ id }) => id)).size).toBe(4)
  })
})
