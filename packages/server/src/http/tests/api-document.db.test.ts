import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import { listRoutes } from '../../../test/routes.ts'
import { createTestApp, type TestApp, type TestResponse, userToken } from '../../../test/test-app.ts'

interface Schema {
  readonly [keyword: string]: unknown
}

interface Content {
  readonly [type: string]: { readonly schema: Schema }
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security?: readonly Record<string, string[]>[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
}

interface Document {
  readonly openapi: string
  readonly info: Readonly<Record<string, string>>
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  readonly components: { readonly securitySchemes: Readonly<Record<string, unknown>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

let app: TestApp
let document: Document
let operations: (Operation & { readonly method: string; readonly path: string })[]

beforeAll(async () => {
  app = await createTestApp({ setup: notes })
  document = dereference((await app.request('GET', '/api/openapi.json')).json)
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  )
})
afterAll(() => app[Symbol.asyncDispose]())

/** Returns a document with its components in place of the references to them. */
function dereference(document: Document & { readonly components: { readonly schemas: object } }): Document {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit)
    if (typeof value !== 'object' || value === null) return value
    if ('$ref' in value) return visit(find(String(value.$ref)))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, visit(each)]))
  }
  const find = (reference: string): unknown =>
    reference
      .split('/')
      .slice(1)
      .reduce<unknown>((part, name) => (part as Readonly<Record<string, unknown>>)[name], document)
  return visit(document) as Document
}

/** Pages and the document itself; everything else belongs into it. */
const undocumented =
  /^\/($|_sites$|favicon|docs($|\/)|api\/docs|api\/openapi\.(json|yaml)|admin($|\/)|o?auth\/)/

describe('GET /api/openapi.json', () => {
  test('returns an OpenAPI 3.1 document of this server', async () => {
    const response = await app.request('GET', '/api/openapi.json')
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ])
    expect(document.openapi).toMatch(/^3\.1\.\d$/)
    expect(document.info).toEqual({
      title: 'Basalt',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: expect.any(String),
    })
    expect(document.servers).toEqual([{ url: app.url }])
    expect(document.components.securitySchemes).toEqual({ bearer: { type: 'http', scheme: 'bearer' } })
    expect(document).not.toHaveProperty('definitions')
  })

  test('declares a body only where the handler reads members of one', () => {
    const claimed = operations.flatMap(({ operationId, requestBody }) => {
      const json = requestBody?.content['application/json']
      const hasMembers = json === undefined || json.schema.type === 'object' || json.schema.type === 'array'
      return requestBody !== undefined && !hasMembers ? [operationId] : []
    })
    expect(claimed).toEqual([])
  })

  test('has every route of the API, and no other', () => {
    const served = listRoutes(app)
      .filter(({ method, url }) => method !== 'HEAD' && !undocumented.test(url))
      .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{name}')}`)
      // The server has one route for all actions; the document has an operation for each.
      .flatMap((each) =>
        each === 'POST /api/storage/{bucket}/{name}'
          ? ['sign', 'sign-upload', 'revoke', 'move', 'copy'].map((action) => `${each}/${action}`)
          : [each],
      )
    expect(operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort()).toEqual(
      served.sort(),
    )
  })

  test('gives each operation a name of its own, words and a known tag', () => {
    const names = operations.map(({ operationId }) => operationId)
    expect(new Set(names).size).toBe(operations.length)
    const tags = document.tags.map(({ name }) => name)
    for (const { operationId, summary, tags: own } of operations) {
      expect(operationId).toMatch(/^[a-z]\w*\.[a-z]\w*$/)
      expect([operationId, summary.length > 5]).toEqual([operationId, true])
      expect([operationId, own.length === 1 && tags.includes(own[0] ?? '')]).toEqual([operationId, true])
    }
  })

  test('declares the parameters of each path, required, and no parameter twice', () => {
    for (const { operationId, path, parameters = [] } of operations) {
      const inPath = parameters.filter((parameter) => parameter.in === 'path')
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect([operationId, inPath.map(({ name }) => name).sort()]).toEqual([operationId, names.sort()])
      for (const { required } of inPath) expect(required).toBe(true)
      const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
      expect(new Set(keys).size).toBe(keys.length)
      for (const parameter of parameters)
        expect(['path', 'query', 'header', 'cookie']).toContain(parameter.in)
    }
  })

  test('declares a success and the error envelope of each operation', () => {
    for (const { operationId, responses } of operations) {
      const codes = Object.keys(responses)
      for (const code of codes) expect(code).toMatch(/^([1-5]\d\d|4XX|default)$/)
      expect([operationId, codes.some((code) => code === '101' || code.startsWith('2'))]).toEqual([
        operationId,
        true,
      ])
      for (const { description } of Object.values(responses)) expect(description.length).toBeGreaterThan(0)
      if (operationId === 'health.check') continue
      expect([
        operationId,
        Object.keys(responses.default?.content?.['application/json']?.schema.properties ?? {}),
      ]).toEqual([operationId, ['code', 'message', 'error', 'data', 'doc_url']])
    }
  })

  test('declares the token exactly where one is required', async () => {
    for (const { operationId, method, path, security } of operations) {
      const body = ['get', 'delete'].includes(method) ? undefined : {}
      const { status } = await app.request(method.toUpperCase(), path.replace(/\{\w+\}/g, '1'), { body })
      // A token is optional here.
      const isOptional = ['accounts.confirmMagicLink', 'storage.list', 'storage.download'].includes(
        operationId,
      )
      // The body contains the credentials.
      const isSignIn = security?.length === 0 && /^\/api\/(admin\/auth|auth\/(login|refresh))$/.test(path)
      const needed = status === 401 && !isSignIn ? [{ bearer: [] }] : []
      expect([operationId, security]).toEqual([operationId, isOptional ? [{}, { bearer: [] }] : needed])
    }
  })

  test('has schemas that compile and whose references all resolve', () => {
    let compiled = 0
    for (const { parameters = [], requestBody, responses } of operations) {
      const contents = [
        requestBody?.content ?? {},
        ...Object.values(responses).map(({ content = {} }) => content),
      ]
      const schemas = [
        ...parameters.map(({ schema }) => schema),
        ...contents.flatMap((content) => Object.values(content).map(({ schema }) => schema)),
      ]
      for (const schema of schemas) {
        expect(JSON.stringify(schema)).not.toContain('$ref')
        expect(() => Compile(schema).Check({})).not.toThrow()
        compiled += 1
      }
    }
    expect(compiled).toBeGreaterThan(30)
  })

  test('matches real responses', async () => {
    const token = userToken({ sub: alice })
    const admin = await app.adminToken()
    const expectFit = (operationId: string, response: TestResponse, status: number) => {
      expect([operationId, response.status]).toEqual([operationId, status])
      const { responses } = operations.find((operation) => operation.operationId === operationId) ?? {}
      const declared = responses?.[status] ?? responses?.default
      expect([operationId, declared === undefined]).toEqual([operationId, false])
      const schema = declared?.content?.['application/json']?.schema
      if (schema === undefined) expect([operationId, response.text]).toEqual([operationId, ''])
      else expect([operationId, [...Compile(schema).Errors(response.json)]]).toEqual([operationId, []])
    }
    const note = '/api/collections/note'
    const created = await app.request('POST', note, { token, body: { body: 'x' } })
    const one = `${note}/${created.json.id}`
    expectFit('collections.create', created, 201)
    expectFit('collections.list', await app.request('GET', note, { token }), 200)
    expectFit('collections.list', await app.request('GET', `${note}?filter=x`, { token }), 400)
    expectFit('collections.get', await app.request('GET', one, { token }), 200)
    expectFit('collections.get', await app.request('GET', `${note}/99`, { token }), 404)
    expectFit('collections.update', await app.request('PATCH', one, { token, body: { body: 'y' } }), 200)
    const operationsBody = { operations: [{ method: 'delete', id: created.json.id }] }
    expectFit(
      'collections.batch',
      await app.request('POST', `${note}/batch`, { token, body: operationsBody }),
      200,
    )
    expectFit('collections.delete', await app.request('DELETE', one, { token }), 404)
    expectFit('schema.get', await app.request('GET', '/api/schema', { token }), 200)
    expectFit('schema.get', await app.request('GET', '/api/schema', { token: admin }), 200)
    expectFit('health.check', await app.request('GET', '/health'), 200)
    expectFit('admin.status', await app.request('GET', '/api/admin/status'), 200)
    const password = 'correct horse battery staple'
    expectFit('admin.signIn', await app.request('POST', '/api/admin/auth', { body: { password } }), 200)
    expectFit('admin.signIn', await app.request('POST', '/api/admin/auth', { body: {} }), 400)
    expectFit('admin.signOut', await app.request('POST', '/api/admin/auth/logout', { token: admin }), 204)
  })
})
