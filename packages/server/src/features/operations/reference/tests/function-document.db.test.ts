import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

const imports = `import { route } from '@basaltdb/functions'\n`

const files = {
  'orders.ts': `${imports}
    const line = { type: 'object', required: ['sku'], properties: { sku: { type: 'string' }, more: { $ref: '#/$defs/line' } } }
    export const order = route('POST /orders/:shop', {
      access: 'user',
      input: { type: 'object', required: ['lines'], properties: { lines: { type: 'array', items: { $ref: '#/$defs/line' } } },
        $defs: { line } },
      output: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
    }, () => ({ id: 1 }))
    export const find = route('GET /orders/:id', {
      access: 'anonymous',
      input: { type: 'object', required: ['limit'], properties: {
        limit: { type: 'integer', minimum: 1, description: 'Number of lines.' }, word: { type: 'string' } } },
    }, (_ctx, input) => input)
    export const remove = route('DELETE /orders/:id', { access: 'user', input: { anyOf: [{ type: 'object' }] } }, () => {})
    export const all = route('GET /:page', { access: 'admin' }, () => [])
  `,
  'standard.ts': `${imports}
    const described = (input, output) => ({ '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }),
      jsonSchema: { input: () => input, output: () => output } } })
    export const both = route('POST /both', {
      access: 'user',
      input: described({ type: 'object', properties: { date: { type: 'string', format: 'date' } } }, { type: 'null' }),
      output: described({ type: 'null' }, { type: 'array', items: { type: 'number' } }),
    }, (_ctx, input) => input)
    const silent = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
    export const open = route('POST /open', { access: 'user', input: silent, output: silent }, () => 1)
    const failing = { '~standard': { ...silent['~standard'], jsonSchema: { input: () => { throw new Error('no dates') } } } }
    export const undescribed = route('POST /undescribed', { access: 'user', input: failing }, () => 1)
  `,
  'odd.ts': `${imports}
    const input = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"$ref":{"type":"string"},"x":{"$ref":"file:///etc/passwd"}}}')
    export const get = route('PUT /{brace}/größe/:id/:id/:', { access: 'user', input }, () => 1)
    export const deep = route('POST /deep', { access: 'user',
      input: Array.from({ length: 100 }).reduce((items) => ({ type: 'array', items }), {}) }, () => 1)
    export const _ = route('POST /\\ud800', { access: 'user' }, () => 1)
  `,
}

let folder: FunctionsFolder
let app: TestApp
let admin: string
const user = userToken({ sub: alice })

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  app = await createTestApp({
    setup: `${notes} insert into basalt.users (id, email) values ('${alice}', 'alice@example.com')`,
    config: { 'functions.folder': folder.path },
  })
  admin = await app.adminToken()
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

// biome-ignore lint/suspicious/noExplicitAny: the document is plain JSON
async function read(token?: string): Promise<any> {
  const response = await app.request('GET', '/api/openapi.json', { token })
  expect(response.status).toBe(200)
  return response.json
}

/** Returns the operations that functions define. */
// biome-ignore lint/suspicious/noExplicitAny: the document is plain JSON
function operationsOf({ paths }: any): string[] {
  return Object.entries<Record<string, { tags?: string[] }>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { tags }]) =>
      tags?.[0] === 'routes of functions' ? [`${method} ${path.replace('/api/functions', '')}`] : [],
    ),
  )
}

const ofUsers = [
  'delete /orders/{id}',
  'get /orders/{id}',
  'post /both',
  'post /deep',
  'post /open',
  'post /orders/{id}',
  'post /undescribed',
  'post /%EF%BF%BD',
  'put /%7Bbrace%7D/gr%C3%B6%C3%9Fe/{id}/{id2}/{parameter}',
]

describe('GET /api/openapi.json', () => {
  test('describes the input, the result and the callers of a function', async () => {
    const { paths, components } = await read(user)
    const { post, get } = paths['/api/functions/orders/{id}']
    expect(post).toEqual({
      operationId: 'functions.order',
      summary: 'Call the function order',
      tags: ['routes of functions'],
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/FunctionsOrderInput' } } },
      },
      security: [{ bearer: [] }],
      responses: {
        200: {
          description: 'Result of the function.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/FunctionsOrderResult' } } },
        },
        '4XX': { $ref: '#/components/responses/Error' },
        default: { $ref: '#/components/responses/Error' },
      },
    })
    const { FunctionsOrderInput, FunctionsOrderResult, FunctionsOrderInputLine } = components.schemas
    const line = { $ref: '#/components/schemas/FunctionsOrderInputLine' }
    expect(FunctionsOrderInput.properties).toEqual({ lines: { type: 'array', items: line } })
    expect(FunctionsOrderInputLine.properties).toEqual({ sku: { type: 'string' }, more: line })
    expect(FunctionsOrderResult.properties).toEqual({ id: { type: 'integer' } })
    expect(get.parameters.slice(1)).toEqual([
      {
        ...{ name: 'limit', in: 'query', required: true, description: 'Number of lines.' },
        schema: { type: 'integer', minimum: 1 },
      },
      { name: 'word', in: 'query', schema: { type: 'string' } },
    ])
    expect(get.security).toEqual([{}, { bearer: [] }])
    expect(Object.keys(get.responses)).toEqual(['200', '204', '4XX', 'default'])
  })

  test('serves what it describes', async () => {
    const body = { lines: [{ sku: 'a', more: { sku: 'b' } }] }
    const ordered = await app.request('POST', '/api/functions/orders/1', { token: user, body })
    expect([ordered.status, ordered.json]).toEqual([200, { id: 1 }])
    const found = await app.request('GET', '/api/functions/orders/1?limit=2&word=x')
    expect([found.status, found.json]).toEqual([200, { limit: 2, word: 'x' }])
    const path = '/api/functions/%7Bbrace%7D/gr%C3%B6%C3%9Fe/1/2/3'
    expect((await app.request('PUT', path, { token: user, body: {} })).status).toBe(200)
  })

  test('describes a schema of another library by its own JSON Schema, as it is sent', async () => {
    const { paths, components } = await read(user)
    const schemaOf = (body: { content: Record<string, { schema: object }> }) =>
      body.content['application/json']?.schema
    expect(components.schemas.FunctionsBothInput).toEqual({
      type: 'object',
      properties: { date: { type: 'string', format: 'date' } },
    })
    const { post } = paths['/api/functions/both']
    expect(schemaOf(post.responses[200])).toEqual({ type: 'array', items: { type: 'number' } })
    const note = { description: 'Its schema has no JSON Schema.' }
    const open = paths['/api/functions/open'].post
    expect([schemaOf(open.requestBody), schemaOf(open.responses[200])]).toEqual([note, note])
    expect(schemaOf(paths['/api/functions/undescribed'].post.requestBody)).toEqual(note)
  })

  test('accepts no reference, name or size that a schema may have by intent', async () => {
    const { paths, components } = await read(user)
    const put = paths['/api/functions/%7Bbrace%7D/gr%C3%B6%C3%9Fe/{id}/{id2}/{parameter}'].put
    expect(put.operationId).toBe('functions.getFunction')
    expect(JSON.stringify(components.schemas.FunctionsGetFunctionInput)).toBe(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"x":{}}}',
    )
    expect(paths['/api/functions/deep'].post.requestBody.content['application/json'].schema).toEqual({
      description: 'Its schema is too large to be described here.',
    })
  })

  test('lists those of administrators to them only, and none without a token', async () => {
    expect(operationsOf(await read(user)).toSorted()).toEqual(ofUsers.toSorted())
    const forAdmin = await read(admin)
    expect(operationsOf(forAdmin).toSorted()).toEqual([...ofUsers, 'get /{name}'].toSorted())
    const { get, post } = forAdmin.paths['/api/functions/{name}']
    expect([get.operationId, get.description]).toEqual(['functions.all', 'Only administrators may call it.'])
    expect(post.operationId).toBe('functions.post')
    const withoutToken = await read()
    expect([operationsOf(withoutToken), JSON.stringify(withoutToken)]).toEqual([
      [],
      expect.not.stringContaining('FunctionsOrder'),
    ])
  })

  test('lists those for which a program has an action', async () => {
    const { key } = await createApiKey(app, { userId: alice, scope: 'readonly', actions: ['function:both'] })
    expect(operationsOf(await read(key))).toEqual(['post /both'])
    const { key: plain } = await createApiKey(app, { userId: alice, scope: '*' })
    expect(operationsOf(await read(plain))).toEqual([])
  })

  test.each([
    ['a user', () => user],
    ['an administrator', () => admin],
  ])('is valid OpenAPI 3.1 for %s, with each name once', async (_who, token) => {
    const document = await read(token())
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true })
    const ids = Object.values<Record<string, { operationId?: string }>>(document.paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId }) => operationId ?? []),
    )
    expect(new Set(ids).size).toBe(ids.length)
    const forms = Object.keys(document.paths).map((path) => path.replaceAll(/\{[^}]*\}/g, '{}'))
    expect(new Set(forms).size).toBe(forms.length)
    for (const [, target = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)) {
      const [kind = '', name = ''] = target.split('/')
      expect([target, Object.hasOwn(document.components[kind], name)]).toEqual([target, true])
    }
  })

  test('changes with the functions, and is 304 for a client that has it', async () => {
    const fetchDocument = (etag: string) =>
      app.request('GET', '/api/openapi.json', { token: user, headers: { 'if-none-match': etag } })
    const { headers } = await app.request('GET', '/api/openapi.json', { token: user })
    const etag = headers.get('etag') ?? ''
    expect((await fetchDocument(etag)).status).toBe(304)
    folder.write(
      'later.ts',
      `${imports} export const later = route('POST /later', { access: 'user' }, () => 1)`,
    )
    await app.app.functions.loadFolder(folder.path)
    const changed = await fetchDocument(etag)
    expect([changed.status, operationsOf(changed.json)]).toEqual([
      200,
      expect.arrayContaining(['post /later']),
    ])
    folder.remove('later.ts')
    await app.app.functions.loadFolder(folder.path)
    expect((await fetchDocument(etag)).status).toBe(304)
  })
})

describe('GET /api/openapi.yaml', () => {
  test('describes functions, too', async () => {
    const { text } = await app.request('GET', '/api/openapi.yaml', { token: user })
    expect(text).toContain('operationId: "functions.order"')
  })
})
