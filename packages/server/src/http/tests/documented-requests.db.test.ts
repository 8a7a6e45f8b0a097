import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../test/test-app.ts'

interface Parameter {
  readonly schema: { readonly format?: string }
}

interface Body {
  readonly required?: readonly string[]
}

interface Operation {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: {
    readonly required?: boolean
    readonly content: Readonly<Record<string, { readonly schema: Body & { readonly $ref?: string } }>>
  }
}

let app: TestApp
let operations: Operation[]
let shared: Readonly<Record<string, Parameter>>
let schemas: Readonly<Record<string, Body>>

beforeAll(async () => {
  app = await createTestApp({ setup: notes })
  const { paths, components } = (await app.request('GET', '/api/openapi.json')).json as {
    paths: Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>
    components: { parameters: Record<string, Parameter>; schemas: Record<string, Body> }
  }
  shared = components.parameters
  schemas = components.schemas
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  )
})
afterAll(() => app[Symbol.asyncDispose]())

describe('GET /api/openapi.json documents the requirements of handlers', () => {
  /** Sends requests with these ids and an empty body, and returns the responses. */
  async function sendAll(sent: readonly Operation[], id: string) {
    const token = userToken({ sub: alice })
    const admin = await app.adminToken()
    const answers = []
    for (const operation of sent) {
      const response = await app.request(
        operation.method.toUpperCase(),
        operation.path.replace(/\{\w+\}/g, id),
        {
          token: operation.path.startsWith('/api/auth/') ? token : admin,
          body: ['get', 'delete'].includes(operation.method) ? undefined : {},
        },
      )
      const message = response.status === 400 ? String(response.json.message) : ''
      answers.push({ operation, status: response.status, message })
    }
    return answers
  }

  test('for required members', async () => {
    const sent = operations.filter(
      ({ path, requestBody }) =>
        requestBody?.content['application/json'] !== undefined && path !== '/api/admin/auth/logout',
    )
    const answers = (await sendAll(sent, alice)).map(({ operation, ...answer }) => {
      const { $ref = '', ...schema } = operation.requestBody?.content['application/json']?.schema ?? {}
      const { required = [] } = schemas[$ref.replace('#/components/schemas/', '')] ?? schema
      return { name: operation.operationId, required, ...answer }
    })
    const found = answers.flatMap(({ name, required, message }) => {
      const [, member, first] =
        /^(?:site )?(\w+)(?: field)? is required$|^missing required fields: (\w+)/.exec(message) ?? []
      const missing = member ?? first
      return missing === undefined ? [] : [{ name, missing, isDocumented: required.includes(missing) }]
    })
    expect(found.length).toBeGreaterThanOrEqual(29)
    const undocumented = found.filter(({ isDocumented }) => !isDocumented)
    // A code that is used once is an alternative.
    expect(undocumented.map(({ name, missing }) => [name, missing])).toEqual([
      ['admin.signIn', 'password'],
      ['admin.startSession', 'password'],
    ])
    const accepted = answers.filter(({ required, status }) => required.length > 0 && status < 300)
    expect(accepted.map(({ name }) => name)).toEqual([])
  })

  test('in keywords of JSON Schema', () => {
    expect(JSON.stringify(operations)).not.toContain('"documented":')
  })

  test('for required bodies', () => {
    const optional = operations.filter(({ requestBody }) => requestBody?.required === false)
    expect(optional.map(({ operationId }) => operationId)).toEqual([
      'apiKeys.rotate',
      'apiKeys.rotateOwn',
      'sites.failDeploy',
      'functions.post',
      'functions.put',
      'functions.patch',
      'functionsByName.post',
      'functionsByName.put',
      'functionsByName.patch',
      'rpc.call',
      'storage.applyTemplate',
      'storage.beginUpload',
      'embeddings.backfill',
      'storage.sign',
      'storage.signUpload',
    ])
  })

  test('for ids that are UUIDs', async () => {
    const sent = operations.filter(
      ({ path, method }) => method !== 'head' && path.includes('{') && !/stream|tail/.test(path),
    )
    const found = (await sendAll(sent, '0')).flatMap(({ operation, message }) => {
      const formats = operation.parameters?.map((parameter) => {
        const { schema } =
          '$ref' in parameter
            ? (shared[parameter.$ref.replace('#/components/parameters/', '')] ?? {})
            : parameter
        return schema?.format
      })
      return /^invalid .*\bid\b.*format/.test(message)
        ? [[operation.operationId, message, formats?.includes('uuid')]]
        : []
    })
    expect(found.length).toBeGreaterThanOrEqual(30)
    expect(found.filter(([, , isDocumented]) => isDocumented !== true)).toEqual([])
  })
})
