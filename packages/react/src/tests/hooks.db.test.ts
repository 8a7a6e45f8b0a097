import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type FacetCount, gt, isBasaltError, oneOf, where } from '@basaltdb/client'
import { type Auth, createAuth, memorySession } from '@basaltdb/client/auth'
import { dehydrate, HydrationBoundary, QueryClient, useQueryClient } from '@tanstack/react-query'
import { createElement as h, type ReactNode, StrictMode, Suspense, useState } from 'react'
import { renderToString } from 'react-dom/server'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Row, Database as Tables } from '../../../client/src/tests/database.ts'
import { createNetwork, readFixture } from '../../../client/src/tests/harness.ts'
import { typed } from '../../../client/src/tests/typed.ts'
import { faultsOf } from '../../../server/test/faults.ts'
import { alice, bob } from '../../../server/test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../server/test/functions-folder.ts'
import { createTestApp, type TestApp, userToken } from '../../../server/test/test-app.ts'
import { waitFor } from '../../../server/test/wait-for.ts'
import {
  affectedBy,
  aggregateOptions,
  BasaltProvider,
  functionOptions,
  listOptions,
  liveOptions,
  recordOptions,
  rpcOptions,
  useAggregate,
  useAuth,
  useClient,
  useFunction,
  useFunctionMutation,
  useList,
  useLive,
  useMutation,
  useRecord,
  useRpc,
  useSuspenseAggregate,
  useSuspenseFunction,
  useSuspenseList,
  useSuspenseLive,
  useSuspenseRecord,
  useSuspenseRpc,
  useUpload,
  useUser,
} from '../index.ts'
import { openPage, type Page } from './page.ts'

const functions = `import { route } from '@basaltdb/functions'
const members = (properties) => ({ type: 'object', properties })
const Search = members({ from: { type: 'string' } })
export const titles = route('GET /albums/:album/titles', { access: 'user', input: Search }, async (ctx, { from = '' }) => {
  const rows = await ctx.db.sql\`
    select title from task where album_id = \${Number(ctx.params.album)}::int and title >= \${from} order by title\`
  return rows.map(({ title }) => title)
})
export const nothing = route('GET /nothing', { access: 'user' }, () => {})
const Task = members({ title: { type: 'string' } })
export const plan = route('POST /albums/:album/tasks', { access: 'user', input: Task }, async (ctx, { title }) => {
  const { id } = await ctx.db.task.create({ title, album_id: Number(ctx.params.album) })
  return { id }
})
`

/** Types of the tables, with those of the functions above. */
interface Database extends Tables {
  functions: {
    'GET /albums/:album/titles': { Input: { from?: string }; Output: string[] }
    'GET /nothing': { Input: undefined; Output: undefined }
    'POST /albums/:album/tasks': { Input: { title: string }; Output: { id: number } }
  }
}

declare module '../index.ts' {
  interface Register {
    database: Database
  }
}

let app: TestApp
let page: Page
let directory: string
let folder: FunctionsFolder

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'basalt-hooks-'))
  folder = makeFunctionsFolder({ 'albums.ts': functions })
  const config = {
    'storage.enabled': 'true',
    'storage.local_path': directory,
    'functions.folder': folder.path,
  }
  app = await createTestApp({ setup: await readFixture(), config })
  page = await openPage()
})
beforeEach(async () => {
  await app.sql(`
    truncate artist, album, task, "constructor", pair restart identity cascade;
    insert into artist (name) values ('Ursula'), ('Miles');
    insert into album (title, price, artist_id) values ('one', 1.5, 1), ('two', 2, null);
    insert into task (title, album_id, owner) values ('write', 1, '${alice}'), ('read', null, '${alice}'), ('hidden', 1, '${bob}')`)
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
  await rm(directory, { recursive: true })
})

/** Creates a browser of one user, or of one that signs in. */
function openBrowser(auth: Auth | string = userToken({ sub: alice })) {
  const network = createNetwork()
  const client = createClient<Database>({ url: app.url, auth, fetch: network.fetch })
  const queryClient = new QueryClient({ defaultOptions: { queries: { staleTime: 60_000 } } })
  const provide = (...children: ReactNode[]) =>
    h(BasaltProvider, { client, queryClient, auth: typeof auth === 'string' ? undefined : auth }, ...children)
  return { network, client, queryClient, provide }
}

const titles = (items: readonly { readonly title: string }[] | undefined) =>
  items?.map(({ title }) => title).join() ?? '…'

function Tasks() {
  const { data, error } = useList('task', { sort: ['title'] })
  return error === null ? titles(data?.items) : String(error)
}

function LiveTasks() {
  const { items, status } = useLive('task', { sort: ['title'] })
  return `${status}: ${titles(items)}`
}

function Name() {
  const { user, status } = useUser()
  return user?.email ?? status
}

describe('useList', () => {
  test('shows a list, and reads it once for all components', async () => {
    const { network, provide } = openBrowser()
    const shown = await page.mount(provide(h(Tasks), ' ', h(Tasks)))
    expect(shown.text()).toBe('')
    await shown.shows('read,write read,write')
    expect(network.requests).toEqual(['GET /api/collections/task'])
    shown.unmount()
  })

  test('types the result by fields and expand', async () => {
    const { provide } = openBrowser()
    function Albums() {
      const { data } = useList('album', { fields: ['title'], expand: { artist: true }, sort: ['id'] })
      const [first, second] =
        typed<({ title: string } & { expand: { artist?: Row<'artist'> } })[] | undefined>()(data?.items) ?? []
      return `${first?.title} ${first?.expand.artist?.name} ${second?.expand.artist?.name}`
    }
    // @ts-expect-error there is no such collection
    const Unknown = () => `${useList('nothing', {}, { enabled: false }).status}`
    const shown = await page.mount(provide(h(Albums), h(Unknown)))
    await shown.shows('one Ursula undefinedpending')
    shown.unmount()
  })

  test('types the facets and the matches of a search', async () => {
    const { provide } = openBrowser()
    function Albums() {
      const { data } = useList('album', { search: 'one', highlight: true, facets: ['mood'] })
      const [mood] = typed<FacetCount<Row<'album'>['mood']>[] | undefined>()(data?.facets.mood) ?? []
      const [album] = data?.items ?? []
      return `${mood?.value} ${mood?.count} ${typed<string | undefined>()(album?._highlight)}`
    }
    const shown = await page.mount(provide(h(Albums)))
    await shown.shows('null 1 <b>one</b>')
    shown.unmount()
  })

  test('distinguishes filters that differ only in the value of a comparison', async () => {
    const { provide } = openBrowser()
    const From = ({ id }: { id: number }) => titles(useList('task', { filter: { id: gt(id) } }).data?.items)
    const Of = ({ names }: { names: string[] }) =>
      titles(useList('task', { filter: { title: oneOf(names) } }).data?.items)
    const shown = await page.mount(
      provide(h(From, { id: 0 }), ' ', h(From, { id: 1 }), ' ', h(Of, { names: ['write'] })),
    )
    await shown.shows('write,read read write')
    shown.unmount()
  })

  test('returns the error of the server without retrying', async () => {
    const { network, provide } = openBrowser()
    function Broken() {
      // @ts-expect-error there is no such column
      const { error } = useList('task', { sort: ['nothing'] })
      return isBasaltError(error) ? error.error : '…'
    }
    const shown = await page.mount(provide(h(Broken)))
    await shown.shows('unknown_column')
    expect(network.requests).toHaveLength(1)
    shown.unmount()
  })
})

describe('useRecord', () => {
  test('shows a record by any kind of key, and stays pending without a key', async () => {
    const { network, provide } = openBrowser()
    const Album = ({ id }: { id: bigint | undefined }) => {
      const { data, status } = useRecord('album', id, { fields: ['title'] })
      return typed<{ title: string } | undefined>()(data)?.title ?? status
    }
    const shown = await page.mount(provide(h(Album, { id: undefined }), ' ', h(Album, { id: 2n })))
    await shown.shows('pending two')
    expect(network.requests).toEqual(['GET /api/collections/album/2'])
    shown.unmount()
  })
})

test('useRecord › returns the error of a key that a URL cannot contain', async () => {
  const { network, provide } = openBrowser()
  const Pair = ({ id }: { id: [string, number] }) => {
    const { error, status } = useRecord('pair', id)
    return error?.message ?? status
  }
  // A text of the page's URL has no compile-time type.
  const shown = await page.mount(provide(h(Pair, { id: ['..'] as never }), ' ', h(Pair, { id: [] as never })))
  const message = 'a key is a text or a number, or a list of them'
  await shown.shows(`not a name or key of an address: ".." ${message}`)
  expect(network.requests).toEqual([])
  shown.unmount()
})

describe('useMutation', () => {
  /** Mounts the lists and returns the mutations. */
  async function mountWriter() {
    const browser = openBrowser()
    function useWrites() {
      return {
        create: useMutation('task', 'create', { fields: ['id', 'title'] }),
        update: useMutation('task', 'update'),
        upsert: useMutation('task', 'upsert'),
        remove: useMutation('task', 'delete'),
        rename: useMutation('artist', 'update', { also: ['album'] }),
      }
    }
    let writes: ReturnType<typeof useWrites> | undefined
    function Writer() {
      writes = useWrites()
      return null
    }
    const Artists = () =>
      useList('artist')
        .data?.items.map(({ name }) => name)
        .join() ?? '…'
    const Albums = () => {
      const { data } = useList('album', { expand: { artist: true }, also: ['artist'], sort: ['id'] })
      return data?.items[0]?.expand.artist?.name ?? '…'
    }
    const shown = await page.mount(browser.provide(h(Writer), h(Tasks), ' ', h(Artists), ' ', h(Albums)))
    await shown.shows('read,write Ursula,Miles Ursula')
    browser.network.requests.length = 0
    if (writes === undefined) throw new Error('it is not mounted')
    return { ...browser, shown, writes }
  }

  test('creates, updates, upserts and deletes, and refetches only the affected queries', async () => {
    const { network, shown, writes } = await mountWriter()
    const created = await writes.create.mutateAsync({ title: 'new' })
    typed<{ id: number; title: string }>()(created)
    expect(created).toEqual({ id: 4, title: 'new' })
    await shown.shows('new,read,write Ursula,Miles Ursula')
    expect(network.requests).toEqual(['POST /api/collections/task', 'GET /api/collections/task'])
    const updated = await writes.update.mutateAsync({ key: 4, changes: { title: 'newer' } })
    expect(typed<Row<'task'>>()(updated).title).toBe('newer')
    await shown.shows('newer,read,write Ursula,Miles Ursula')
    const upsert = { record: { title: 'read', done: true }, on: ['title'] } as const
    expect(await writes.upsert.mutateAsync(upsert)).toMatchObject({ id: 2, done: true })
    expect(typed<void>()(await writes.remove.mutateAsync(4))).toBeUndefined()
    await shown.shows('read,write Ursula,Miles Ursula')
    expect(network.keys).toHaveLength(4)
    shown.unmount()
  })

  test('deletes and updates a record only as it was read, with ifMatch', async () => {
    const { client, shown, writes } = await mountWriter()
    const ifMatch = await client.from('task').one(1)
    const current = await client.from('task').update(1, { title: 'theirs' })
    const conflict = { error: 'precondition_failed', current }
    await expect(writes.remove.mutateAsync({ key: 1, ifMatch })).rejects.toMatchObject(conflict)
    const update = { key: 1, changes: { title: 'mine' }, ifMatch }
    await expect(writes.update.mutateAsync(update)).rejects.toMatchObject(conflict)
    await writes.remove.mutateAsync({ key: 1, ifMatch: current })
    await writes.remove.mutateAsync({ key: 2 })
    await shown.shows(' Ursula,Miles Ursula')
    shown.unmount()
  })

  test('refetches lists that name its table in `also`, and lists of the tables in its `also`', async () => {
    const { network, shown, writes } = await mountWriter()
    await writes.rename.mutateAsync({ key: 1, changes: { name: 'Octavia' } })
    await shown.shows('read,write Octavia,Miles Octavia')
    expect(network.requests.slice(1).sort()).toEqual([
      'GET /api/collections/album',
      'GET /api/collections/artist',
    ])
    shown.unmount()
  })

  test('applies an optimistic update, and reverts it if the write is rejected', async () => {
    const { network, provide } = openBrowser()
    function useRename() {
      const queries = useQueryClient()
      const { queryKey } = listOptions(useClient(), 'task', { sort: ['title'] })
      return useMutation('task', 'update', {
        async onMutate({ key, changes: { title = '' } }) {
          await queries.cancelQueries({ queryKey })
          const before = queries.getQueryData(queryKey)
          const rename = (task: Row<'task'>) => (task.id === key ? { ...task, title } : task)
          queries.setQueryData(queryKey, before && { ...before, items: before.items.map(rename) })
          return { before }
        },
        onError: (_error, _input, shown) => queries.setQueryData(queryKey, shown?.before),
      })
    }
    let rename: ReturnType<typeof useRename> | undefined
    function Renamer() {
      rename = useRename()
      return null
    }
    const shown = await page.mount(provide(h(Renamer), h(Tasks)))
    await shown.shows('read,write')
    const release = network.holdAnswer('/api/collections/task/1')
    const refused = rename?.mutateAsync({ key: 1, changes: { title: 'read' } })
    await shown.shows('read,read')
    release()
    await expect(refused).rejects.toMatchObject({ error: 'unique_violation' })
    await shown.shows('read,write')
    shown.unmount()
  })

  test('rejects with the error of the server', async () => {
    const { shown, writes } = await mountWriter()
    await expect(writes.create.mutateAsync({ title: 'read' })).rejects.toMatchObject({
      error: 'unique_violation',
      status: 409,
    })
    // @ts-expect-error a title is missing
    await expect(writes.create.mutateAsync({ done: true })).rejects.toMatchObject({ status: 400 })
    shown.unmount()
  })
})

describe('useRpc', () => {
  function Count({ prefix = '' }: { readonly prefix?: string }) {
    const { data, error, streamError } = useRpc('count_tasks', { prefix }, { also: ['task'] })
    typed<number | null | undefined>()(data)
    return error === null
      ? `${data ?? '…'}${streamError === undefined ? '' : ' not followed'}`
      : String(error)
  }

  test('calls the function again after a change by any user, and after a broken stream', async () => {
    const { network, client, provide } = openBrowser()
    await app.sql('truncate basalt.idempotency_keys')
    const shown = await page.mount(h(StrictMode, null, provide(h(Count), ' ', h(Count, { prefix: 'r' }))))
    await shown.shows('2 1')
    await app.sql(`insert into task (title, owner) values ('rest', '${alice}')`)
    // The stream may have been opened after this row was inserted.
    await shown.shows('3 2')
    await app.sql(`insert into task (title, owner) values ('rise', '${alice}')`)
    await shown.shows('4 3')
    network.cutStreams()
    await client.from('task').delete(1)
    await shown.shows('3 3')
    shown.unmount()
    await waitFor('the end of the stream', () => network.streams === 0)
    // The only write is the delete.
    expect(await app.sql('select from basalt.idempotency_keys')).toHaveLength(1)
  })

  test('calls the function again before a mutation of the table ends', async () => {
    const { client, queryClient, provide } = openBrowser()
    let add: ReturnType<typeof useMutation<'task', 'create'>>['mutateAsync'] | undefined
    function Sum() {
      add = useMutation('task', 'create').mutateAsync
      const { data } = useRpc('count_tasks', { prefix: '' }, { also: ['task'], staleTime: 60_000 })
      return `${data ?? '…'}`
    }
    const shown = await page.mount(provide(h(Sum)))
    await shown.shows('2')
    await add?.({ title: 'rest' })
    const { queryKey } = rpcOptions(client, 'count_tasks', { prefix: '' }, { also: ['task'] })
    expect(queryClient.getQueryData(queryKey)).toBe(3)
    shown.unmount()
  })

  test('returns the error of the function, and the reason why tables are not followed', async () => {
    const { provide } = openBrowser()
    function Broken() {
      // @ts-expect-error the function has another parameter
      const { error } = useRpc('count_tasks', { word: '' })
      return isBasaltError(error) ? error.error : '…'
    }
    function Unfollowed() {
      // @ts-expect-error there is no such table
      const { data, streamError } = useRpc('add', { a: 1, b: 2 }, { also: ['nothing'] })
      return isBasaltError(streamError) ? ` ${data} ${streamError.error}` : ' …'
    }
    const shown = await page.mount(provide(h(Broken), h(Unfollowed)))
    await shown.shows('unknown_argument 3 unknown_table')
    shown.unmount()
  })

  test('suspends until there is a result, also a prefetched one', async () => {
    const { network, client, queryClient, provide } = openBrowser()
    const Sum = ({ a }: { readonly a: number }) => `${useSuspenseRpc('add', { a, b: 1 }).data}`
    await queryClient.prefetchQuery(rpcOptions(client, 'add', { a: 1, b: 1 }))
    const shown = await page.mount(
      provide(h(Suspense, { fallback: 'loading' }, h(Sum, { a: 1 }), ' ', h(Sum, { a: 5 }))),
    )
    await shown.shows('2 6')
    expect(network.requests).toEqual(['POST /api/rpc/add', 'POST /api/rpc/add'])
    shown.unmount()
  })
})

describe('functions of the project', () => {
  function Titles({ from }: { readonly from?: string }) {
    const { data, streamError } = useFunction(
      'GET /albums/:album/titles',
      { params: { album: 1 }, input: from === undefined ? {} : { from } },
      { also: ['task'] },
    )
    typed<string[] | undefined>()(data)
    return streamError === undefined ? (data?.join() ?? '…') : String(streamError)
  }

  test('useFunction › calls a function again after a change by any user', async () => {
    const { provide } = openBrowser()
    const shown = await page.mount(provide(h(Titles), ' ', h(Titles, { from: 'x' })))
    await shown.shows('write ')
    await app.sql(`insert into task (title, album_id, owner) values ('xylophone', 1, '${alice}')`)
    await shown.shows('write,xylophone xylophone')
    shown.unmount()
  })

  test('useFunction › returns null for a function without a result, and the error of the server', async () => {
    const { provide } = openBrowser()
    function Nothing() {
      const { data, status } = useFunction('GET /nothing', {})
      typed<null | undefined>()(data)
      return `${status} ${data}`
    }
    function Broken() {
      // @ts-expect-error there is no such function
      const { error } = useFunction('GET /missing', {})
      return isBasaltError(error) ? error.error : '…'
    }
    const shown = await page.mount(provide(h(Nothing), ' ', h(Broken)))
    await shown.shows('success null no_such_function')
    shown.unmount()
  })

  test('useFunctionMutation › refetches the results that the function may have changed', async () => {
    const { network, client, queryClient, provide } = openBrowser()
    let plan: ReturnType<typeof useFunctionMutation<'POST /albums/:album/tasks'>>['mutateAsync'] | undefined
    function Plan({ also }: { readonly also?: readonly 'artist'[] }) {
      plan = useFunctionMutation('POST /albums/:album/tasks', { also }).mutateAsync
      const { data } = useFunction(
        'GET /albums/:album/titles',
        { params: { album: 1 } },
        { staleTime: 60_000 },
      )
      return data?.join() ?? '…'
    }
    const shown = await page.mount(provide(h(Plan, {})))
    await shown.shows('write')
    const planned = await plan?.({ params: { album: 1 }, input: { title: 'sing' } })
    typed<{ id: number } | undefined>()(planned)
    expect(planned).toEqual({ id: 4 })
    const { queryKey } = functionOptions(client, 'GET /albums/:album/titles', { params: { album: 1 } })
    expect(queryClient.getQueryData(queryKey)).toEqual(['sing', 'write'])
    // @ts-expect-error the title is a text
    await expect(plan?.({ params: { album: 1 }, input: { title: [] } })).rejects.toMatchObject({
      status: 400,
    })
    // @ts-expect-error the parameter is missing
    await expect(plan?.({ input: { title: 'rest' } })).rejects.toBeInstanceOf(TypeError)
    shown.unmount()
    const other = await page.mount(provide(h(Plan, { also: ['artist'] })))
    await other.shows('sing,write')
    network.requests.length = 0
    await plan?.({ params: { album: 1 }, input: { title: 'swim' } })
    expect(network.requests).toEqual(['POST /api/functions/albums/1/tasks'])
    other.unmount()
  })

  test('useSuspenseFunction › suspends until there is a result, also a prefetched one', async () => {
    const { network, client, queryClient, provide } = openBrowser()
    const call = (album: number) => ({ params: { album } })
    const Suspended = ({ album }: { readonly album: number }) =>
      `[${useSuspenseFunction('GET /albums/:album/titles', call(album)).data}]`
    await queryClient.prefetchQuery(functionOptions(client, 'GET /albums/:album/titles', call(1)))
    const shown = await page.mount(
      provide(h(Suspense, { fallback: 'loading' }, h(Suspended, { album: 1 }), h(Suspended, { album: 2 }))),
    )
    await shown.shows('[write][]')
    expect(network.requests).toEqual([
      'GET /api/functions/albums/1/titles',
      'GET /api/functions/albums/2/titles',
    ])
    shown.unmount()
  })
})

describe('useAggregate', () => {
  function Figures({ enabled = true }: { readonly enabled?: boolean }) {
    const { data, error, streamError } = useAggregate(
      'task',
      { aggregate: ['count', 'max(id)'], filter: { done: false } },
      { enabled },
    )
    const [figures] = data?.results ?? []
    typed<number | undefined>()(figures?.count)
    typed<number | null | undefined>()(figures?.max_id)
    if (error !== null) return String(error)
    return figures === undefined
      ? '…'
      : `${figures.count} ${figures.max_id}${streamError === undefined ? '' : ' not followed'}`
  }

  test('reads the figures again after a change by any user, and after a broken stream', async () => {
    const { network, client, provide } = openBrowser()
    const shown = await page.mount(h(StrictMode, null, provide(h(Figures, {}))))
    await shown.shows('2 2')
    await app.sql(`insert into task (title, owner) values ('rest', '${alice}'), ('other', '${bob}')`)
    await shown.shows('3 4')
    network.cutStreams()
    await client.from('task').delete(1)
    await shown.shows('2 4')
    shown.unmount()
    await waitFor('the end of the stream', () => network.streams === 0)
  })

  test('reads the figures again after a change of a table in also', async () => {
    const { provide } = openBrowser()
    function Priced() {
      const { data } = useAggregate('task', {
        aggregate: ['count'],
        group: ['title'],
        filter: where`album.price = ${9}`,
        also: ['album'],
      })
      typed<string | undefined>()(data?.results[0]?.title)
      return data === undefined ? '…' : `priced: ${data.results.map(({ title }) => title).join()}`
    }
    const shown = await page.mount(provide(h(Priced)))
    await shown.shows('priced: ')
    await app.sql('update album set price = 9 where id = 1')
    await shown.shows('priced: write')
    shown.unmount()
  })

  test('returns the error of the request, and opens no stream while disabled', async () => {
    const { network, provide } = openBrowser()
    function Broken() {
      // @ts-expect-error there is no such column
      const { error } = useAggregate('task', { aggregate: ['sum(nothing)'] })
      return isBasaltError(error) ? error.error : '…'
    }
    const disabled = await page.mount(provide(h(Figures, { enabled: false })))
    await disabled.shows('…')
    expect(network.requests).toEqual([])
    disabled.unmount()
    const shown = await page.mount(provide(h(Broken)))
    await shown.shows('unknown_aggregate_column')
    shown.unmount()
  })

  test('suspends until there are figures, also prefetched ones', async () => {
    const { network, client, queryClient, provide } = openBrowser()
    const Count = () => {
      const { data } = useSuspenseAggregate('album', { aggregate: ['count'] })
      return `${data.results[0]?.count}`
    }
    await queryClient.prefetchQuery(aggregateOptions(client, 'album', { aggregate: ['count'] }))
    const shown = await page.mount(provide(h(Suspense, { fallback: 'loading' }, h(Count))))
    await shown.shows('2')
    await app.sql("insert into album (title) values ('three')")
    await shown.shows('3')
    expect(network.requests[0]).toBe('GET /api/collections/album')
    shown.unmount()
  })
})

describe('useLive', () => {
  test('follows its table over one stream under StrictMode, and closes it when unmounted', async () => {
    const { network, client, provide } = openBrowser()
    const tasks = client.from('task')
    const shown = await page.mount(h(StrictMode, null, provide(h(LiveTasks))))
    await shown.shows('live: read,write')
    const streams = () => network.requests.filter((each) => each.endsWith('/realtime')).length
    const lists = () => network.requests.filter((each) => each.endsWith('/task')).length
    expect([streams(), lists(), network.streams]).toEqual([1, 1, 1])
    await openBrowser(userToken({ sub: bob }))
      .client.from('task')
      .create({ title: 'another' })
    await tasks.create({ title: 'arrive' })
    await shown.shows('live: arrive,read,write')
    await tasks.delete(2)
    await shown.shows('live: arrive,write')
    expect(streams()).toBe(1)
    network.cutStreams()
    await tasks.create({ title: 'late' })
    await shown.shows('live: arrive,late,write')
    shown.unmount()
    await waitFor('the end of the stream', () => network.streams === 0)
  })

  test('shows the first record of an empty table when any user writes it', async () => {
    const { provide } = openBrowser()
    await app.sql('truncate task')
    const shown = await page.mount(h(StrictMode, null, provide(h(LiveTasks))))
    await shown.shows('live: ')
    await app.sql(`insert into task (title, owner) values ('first', '${alice}')`)
    await shown.shows('live: first')
    await app.sql('truncate task')
    await shown.shows('live: ')
    shown.unmount()
  })

  test('shows the last items when it is mounted again, until its stream is open', async () => {
    const { provide } = openBrowser()
    const shown = await page.mount(provide(h(LiveTasks)))
    await shown.shows('live: read,write')
    shown.unmount()
    const states: string[] = []
    function Recorded() {
      const { items, status } = useLive('task', { sort: ['title'] })
      states.push(`${status}: ${titles(items)}`)
      return states.at(-1)
    }
    await app.sql("delete from task where title = 'read'")
    const again = await page.mount(provide(h(Recorded)))
    await again.shows('live: write')
    expect(states[0]).toBe('loading: read,write')
    again.unmount()
  })

  test('shows the result of the last filter when filters change quickly, over one stream', async () => {
    const { network, provide } = openBrowser()
    let choose: (title: string) => void = () => undefined
    function Filtered() {
      const [title, setTitle] = useState('nothing')
      choose = setTitle
      const { items, status } = useLive('task', { filter: { title } })
      return `${status}: ${titles(items)}`
    }
    const shown = await page.mount(h(StrictMode, null, provide(h(Filtered))))
    await shown.shows('live: ')
    const release = network.holdAnswer('/api/collections/task')
    const before = network.requests.length
    choose('read')
    await waitFor('the first request', () => network.requests.length > before)
    for (const title of ['wri', 'writ', 'write']) choose(title)
    await shown.shows('live: write')
    release()
    choose('read')
    await shown.shows('live: read')
    expect(network.streams).toBe(1)
    expect(network.requests.filter((each) => each.endsWith('/realtime'))).toHaveLength(1)
    shown.unmount()
    await waitFor('the end of the stream', () => network.streams === 0)
    expect(shown.errors).toEqual([])
  })

  test('continues on one stream when its filter changes', async () => {
    const { network, client, provide } = openBrowser()
    const Filtered = ({ done }: { done: boolean }) => {
      const { items, status } = useLive('task', { filter: { done } })
      return `${status}: ${titles(items)}`
    }
    const shown = await page.mount(provide(h(Filtered, { done: false }), ' ', h(Filtered, { done: true })))
    await shown.shows('live: write,read live: ')
    await client.from('task').update(1, { done: true })
    await shown.shows('live: read live: write')
    expect(network.streams).toBe(1)
    shown.unmount()
  })
})

describe('Suspense', () => {
  const within = (...children: ReactNode[]) => h(Suspense, { fallback: 'waiting' }, ...children)

  test('waits for lists, records and live lists', async () => {
    const { client, provide } = openBrowser()
    const List = () => titles(useSuspenseList('task', { sort: ['title'] }).data.items)
    const One = () => useSuspenseRecord('album', 1, { fields: ['title'] }).data.title
    const Live = () => titles(useSuspenseLive('task', { sort: ['title'] }).items)
    const shown = await page.mount(provide(within(h(List), ' ', h(One), ' ', h(Live))))
    await shown.shows('waiting')
    await shown.shows('read,write one read,write')
    await client.from('task').delete(2)
    await shown.shows('read,write one write')
    shown.unmount()
  })

  test('throws the error of the server', async () => {
    const { provide } = openBrowser()
    const Missing = () => useSuspenseRecord('album', 99).data.title
    const shown = await page.mount(provide(within(h(Missing))))
    await waitFor('the error', () => shown.errors.length > 0)
    expect(shown.errors[0]).toMatchObject({ error: 'record_not_found', status: 404 })
    shown.unmount()
  })
})

describe('server-rendered page', () => {
  test('shows prefetched queries, and hydrates without requesting them', async () => {
    const server = openBrowser()
    const { client, queryClient } = server
    await queryClient.prefetchQuery(listOptions(client, 'task', { sort: ['title'] }))
    await queryClient.prefetchQuery(recordOptions(client, 'album', 1n))
    await queryClient.prefetchQuery(liveOptions(client, 'task', { filter: { id: gt(1) } }))
    const Album = () => useRecord('album', '1').data?.title ?? '…'
    const Live = () => {
      const { items, status } = useLive('task', { filter: { id: gt(1) } })
      return `${status}: ${titles(items)}`
    }
    // The state is serialized, as in the page.
    const state = JSON.parse(JSON.stringify(dehydrate(queryClient)))
    const body = () => h(HydrationBoundary, { state }, h(Tasks), ' ', h(Album), ' ', h(Live))
    const html = renderToString(server.provide(body()))
    expect(html.replaceAll('<!-- -->', '')).toBe('read,write one loading: read')

    const { network, provide } = openBrowser()
    const shown = await page.mount(h(StrictMode, null, provide(body())), html)
    await shown.shows('read,write one live: read')
    expect(shown.errors).toEqual([])
    // The live list reads the changes since then.
    expect(network.requests.filter((each) => !each.endsWith('/realtime'))).toEqual([
      'GET /api/collections/task',
    ])
    shown.unmount()
  })

  test('has the user for whom it was rendered', async () => {
    const { auth } = await signUp()
    const { client } = openBrowser(auth)
    const user = auth.current?.user
    const element = () => h(BasaltProvider, { client, auth, user }, h(Name))
    const html = renderToString(element())
    expect(html).toBe(user?.email)
    const shown = await page.mount(element(), html)
    expect(shown.errors).toEqual([])
    await shown.shows(user?.email ?? '')
    shown.unmount()
    expect(renderToString(h(BasaltProvider, { client, auth }, h(Name)))).toBe('loading')
    expect(renderToString(h(BasaltProvider, { client, auth, user: null }, h(Name)))).toBe('signed_out')
  })
})

async function signUp() {
  const network = createNetwork()
  const storage = memorySession()
  const auth = createAuth({ url: app.url, storage, fetch: network.fetch })
  const credentials = { email: `${randomUUID()}@example.com`, password: 'correct horse battery staple' }
  expect((await auth.signUp(credentials)).status).toBe('signed_in')
  return { auth, storage, ...credentials }
}

describe('useUser', () => {
  test('returns the user of the stored session, whose lists are read once', async () => {
    const { storage, email } = await signUp()
    const reloaded = createAuth({ url: app.url, storage })
    const { network, provide } = openBrowser(reloaded)
    const shown = await page.mount(h(StrictMode, null, provide(h(Name), ' ', h(Tasks))))
    await shown.shows(`${email} `)
    expect(network.requests).toEqual(['GET /api/collections/task'])
    shown.unmount()
  })

  test('clears the queries as soon as another user is signed in, or none', async () => {
    const first = await signUp()
    const second = await signUp()
    const { client, queryClient, provide } = openBrowser(first.auth)
    await client.from('task').create({ title: 'private' })
    await queryClient.prefetchQuery(listOptions(client, 'task', { filter: { title: 'private' } }))
    const shown = await page.mount(provide(h(Name), ' ', h(Tasks), ' ', h(LiveTasks)))
    await shown.shows(`${first.email} private live: private`)

    await first.auth.signOut()
    const kept = () =>
      JSON.stringify(
        queryClient
          .getQueryCache()
          .findAll(affectedBy())
          .map(({ state }) => state.data),
      )
    expect(kept()).not.toContain('private')
    await waitFor('the end of the session', () => shown.text().startsWith('signed_out'))
    expect(shown.text()).not.toContain('private')

    await first.auth.signIn(second)
    await shown.shows(`${second.email}  live: `)
    expect(kept()).not.toContain('private')
    await client.from('task').create({ title: 'own' })
    await shown.shows(`${second.email}  live: own`)
    shown.unmount()
  })
})

describe('hooks', () => {
  test('throw an error that names the missing provider or option', async () => {
    const { client } = openBrowser()
    const Lonely = () => String(useClient())
    expect(() => renderToString(h(Lonely))).toThrow('there is no <BasaltProvider> above this component')
    for (const use of [useUser, useAuth]) {
      const Guest = () => String(use())
      expect(() => renderToString(h(BasaltProvider, { client }, h(Guest)))).toThrow(
        'give <BasaltProvider> the auth of its client',
      )
    }
  })
})

describe('useUpload', () => {
  async function mountUpload() {
    const token = await app.adminToken()
    await app.request('POST', '/api/storage/buckets', { token, body: { name: 'photos' } })
    const browser = openBrowser(token)
    let upload: ReturnType<typeof useUpload> | undefined
    function Upload() {
      upload = useUpload('photos')
      const { progress, status } = upload
      return `${status} ${progress === undefined ? '' : `${progress.loaded}/${progress.total}`}`
    }
    const shown = await page.mount(browser.provide(h(StrictMode, null, h(Upload))))
    const current = () => {
      if (upload === undefined) throw new Error('it is not mounted')
      return upload
    }
    return { ...browser, token, shown, current }
  }
  const sizeOf = async (token: string, name: string) => {
    const { json } = await app.request('GET', `/api/storage/photos?prefix=${name}`, { token })
    return json.items[0]?.size
  }

  test('reports progress and creates the object', async () => {
    const { token, shown, current } = await mountUpload()
    await shown.shows('idle ')
    await current().mutateAsync({ name: 'a.bin', content: new Uint8Array(600_000) })
    await shown.shows('success 600000/600000')
    expect(await sizeOf(token, 'a.bin')).toBe(600_000)
    shown.unmount()
  })

  test('fails when it is cancelled, and creates no object', async () => {
    const { token, network, shown, current } = await mountUpload()
    await shown.shows('idle ')
    const uploading = current().mutateAsync({ name: 'b.bin', content: new Uint8Array(600_000) })
    await waitFor('the first request', () => network.requests.length > 0)
    current().cancel()
    await expect(uploading).rejects.toMatchObject({ name: 'AbortError' })
    await waitFor('the failure', () => shown.text().startsWith('error'))
    expect(await sizeOf(token, 'b.bin')).toBeUndefined()
    shown.unmount()
  })
})
