import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { packageFolder } from '../../../package.ts'

/** Rules for docs/generated/openapi.json, so that clients generated from it have names and types. */

interface Schema {
  readonly $ref?: string
  readonly type?: unknown
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

interface Body {
  readonly $ref?: string
  readonly description?: string
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly security?: readonly object[]
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body>>
}

interface Document {
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema>>>>
}

const repository = join(packageFolder, '../..')
const text = readFileSync(join(repository, 'docs/generated/openapi.json'), 'utf8')
const document = JSON.parse(text) as Document
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))

/** Number of lines for each operation when the document had no components. */
const originalLines = 50_233 / 337

/** Yields every object and list of the document, with its path. */
function* walk(value: unknown, path = '#'): Generator<readonly [path: string, value: object]> {
  if (typeof value !== 'object' || value === null) return
  yield [path, value]
  for (const [name, each] of Object.entries(value)) yield* walk(each, `${path}/${name}`)
}

const bodiesOf = ({ requestBody, responses }: Operation) => [
  ...(requestBody === undefined ? [] : [requestBody]),
  ...Object.values(responses),
]

describe('docs/generated/openapi.json', () => {
  test('is valid OpenAPI 3.1', async () => {
    expect(await new Validator().validate(JSON.parse(text))).toEqual({ valid: true })
  })

  test('has at most 0.65 of the lines for each operation without named components', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(0.65 * originalLines * operations.length)
  })

  test('has no object of four or more members twice', () => {
    const objects = [...walk(document)].filter(
      ([, each]) => Object.keys((each as Schema).properties ?? {}).length >= 4 && 'type' in each,
    )
    const occurrences = Map.groupBy(objects, ([, each]) => JSON.stringify(each))
    const copies = [...occurrences.values()].filter((same) => same.length > 1)
    expect(copies.map((same) => same.map(([path]) => path))).toEqual([])
  })

  test('refers to components that exist, and uses each', () => {
    const used = new Set([...text.matchAll(/"\$ref": "#\/components\/([^"]+)"/g)].map(([, target]) => target))
    const existing = ['schemas', 'parameters', 'responses'].flatMap((kind) =>
      Object.keys(document.components[kind] ?? {}).map((name) => `${kind}/${name}`),
    )
    expect([...used].toSorted()).toEqual(existing.toSorted())
  })

  test('names operations by area and verb, each once', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(ids.filter((id) => !/^[a-z][A-Za-z]*\.[a-z][A-Za-z]*$/.test(id))).toEqual([])
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('describes every tag once, and every operation and response', () => {
    const names = document.tags.map(({ name }) => name)
    expect(names).toEqual([...new Set(names)])
    const described = new Map(document.tags.map(({ name, description }) => [name, description]))
    for (const { operationId, summary, tags = [], responses } of operations) {
      expect([operationId, summary]).toEqual([operationId, expect.stringMatching(/^[A-Z].*[^.]$/)])
      expect([operationId, tags.map((tag) => described.get(tag))]).toEqual([
        operationId,
        [expect.any(String)],
      ])
      for (const [status, { $ref, description }] of Object.entries(responses)) {
        expect([operationId, status, $ref ?? description]).toEqual([operationId, status, expect.any(String)])
      }
    }
  })

  test('names the allowed callers of every operation', () => {
    for (const { operationId, security } of operations) {
      expect([operationId, security]).toEqual([operationId, expect.any(Array)])
    }
  })

  test('names every body that has members', () => {
    const unnamed = operations.flatMap((operation) =>
      bodiesOf(operation).flatMap(({ content = {} }) =>
        Object.values(content).flatMap(({ schema }) =>
          Object.keys(schema.properties ?? {}).length === 0 ? [] : [operation.operationId],
        ),
      ),
    )
    expect(unnamed).toEqual([])
  })

  test('types the items of every page', () => {
    const untyped = Object.entries(document.components.schemas ?? {}).filter(([, { properties }]) => {
      const { type, items = {} } = properties?.items ?? {}
      const isTyped = items.$ref ?? items.properties ?? (items.type !== 'object' && items.type)
      return type === 'array' && !isTyped
    })
    expect(untyped.map(([name]) => name)).toEqual([])
  })

  test('has no object with members and alternatives, for which generators would ignore the members', () => {
    const mixed = [...walk(document.components)].filter(
      ([, each]) => 'type' in each && 'properties' in each && ('oneOf' in each || 'anyOf' in each),
    )
    expect(mixed.map(([path]) => path)).toEqual([])
  })

  test('requires the items of lists', () => {
    for (const { operationId, responses } of operations) {
      const { $ref = '' } = responses['200']?.content?.['application/json']?.schema ?? {}
      const schema = document.components.schemas?.[$ref.replace('#/components/schemas/', '')]
      if (schema?.properties?.items === undefined || operationId.endsWith('All')) continue
      expect([operationId, schema.required]).toEqual([operationId, expect.arrayContaining(['items'])])
    }
  })

  test('uses formats that are standard, or listed in the guide', () => {
    const guide = readFileSync(join(repository, 'docs/guides/generated-clients.md'), 'utf8')
    const listed = [...guide.matchAll(/^\| `([\w-]+)` +\|/gm)].map(([, name = '']) => name)
    const used = new Set([...walk(document)].flatMap(([, each]) => (each as Schema).format ?? []))
    const formats = [...used].filter(
      (format) => typeof format === 'string' && !standardFormats.includes(format),
    )
    expect(formats.filter((format) => !listed.includes(format))).toEqual([])
  })
})

/** Formats of JSON Schema, and of the OpenAPI format registry. */
const standardFormats = [
  ...['date', 'date-time', 'duration', 'email', 'hostname', 'idn-hostname', 'ipv4', 'ipv6', 'time'],
  ...['uri', 'uri-reference', 'uuid', 'regex'],
  ...['binary', 'byte', 'double', 'float', 'int32', 'int64', 'password', 'date-time-local', 'time-local'],
]
