import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'

let app: TestApp
let directory: string

beforeAll(async () => {
  app = await createTestApp()
  directory = mkdtempSync(join(tmpdir(), 'basalt-graphql-'))
})
beforeEach(() => app.sql('truncate basalt.graphql_documents'))
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await app[Symbol.asyncDispose]()
})

const hashOf = (text: string, algorithm = 'sha256') => createHash(algorithm).update(text).digest('hex')
const first = 'query First { __typename }'
const second = 'query Second { __typename }'
const apollo = (...texts: string[]) => ({
  format: 'apollo-persisted-query-manifest',
  version: 1,
  operations: texts.map((body) => ({ id: hashOf(body), name: 'Name', type: 'query', body })),
})

async function persist(content: unknown, ...flags: string[]) {
  writeFileSync(join(directory, 'm.json'), typeof content === 'string' ? content : JSON.stringify(content))
  const env = { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: await app.adminToken() }
  return await basaltHere(['graphql', 'persist', 'm.json', ...flags], { directory, env })
}

const listed = async () =>
  (await app.sql('select document from basalt.graphql_documents order by document')).map(
    ({ document }) => document,
  )

describe('basalt graphql persist', () => {
  test.each([
    ['graphql-codegen', { [`sha256:${hashOf(first)}`]: first, [`sha256:${hashOf(second)}`]: second }],
    ['Relay', { [hashOf(first)]: first, [hashOf(second)]: second }],
    ['Apollo', apollo(first, second)],
  ])('lists the documents of a manifest of %s, and prints the counts', async (_, manifest) => {
    expect(await persist({ [hashOf(first)]: first })).toEqual({
      code: 0,
      stdout: '1 added, 0 unchanged\n',
      stderr: '',
    })
    expect(await persist(manifest)).toEqual({ code: 0, stdout: '1 added, 1 unchanged\n', stderr: '' })
    expect(await persist(manifest, '--json')).toEqual({
      code: 0,
      stdout: '{\n  "added": 0,\n  "unchanged": 2\n}\n',
      stderr: '',
    })
    expect(await listed()).toEqual([first, second])
  })

  const expected = `expected the SHA-256 of the document, in hexadecimal; generators write it with hashAlgorithm: 'sha256' (graphql-codegen) or algorithm: 'SHA256' (Relay)`
  const wrong = 'query {'

  test.each<readonly [string, unknown, string]>([
    [
      'text that is no JSON',
      '{',
      'm.json: expected a JSON object, as graphql-codegen, Apollo and Relay write it',
    ],
    ['a list', [], 'm.json: expected a JSON object, as graphql-codegen, Apollo and Relay write it'],
    ['no document', {}, 'manifest: expected documents by their hash'],
    [
      'a document that is no text',
      { [hashOf(first)]: 1 },
      `manifest: ${hashOf(first)}: expected the text of a document`,
    ],
    [
      'the hash of another document',
      { [hashOf(first)]: second },
      `manifest: ${hashOf(first)}: the document has another SHA-256`,
    ],
    [
      'hashes by SHA-1',
      { [hashOf(first, 'sha1')]: first },
      `manifest: ${hashOf(first, 'sha1')}: ${expected}`,
    ],
    ['hashes by MD5', { [hashOf(first, 'md5')]: first }, `manifest: ${hashOf(first, 'md5')}: ${expected}`],
    [
      'an invalid document',
      { [hashOf(first)]: first, [hashOf(wrong)]: wrong },
      `manifest: ${hashOf(wrong)}: Syntax Error: Expected Name, found <EOF>.`,
    ],
    [
      'an Apollo operation without a text',
      { operations: [{ id: hashOf(first) }] },
      'operations.0: must have required properties body',
    ],
  ])('rejects %s in one line, and lists nothing', async (_, manifest, message) => {
    expect(await persist(manifest)).toEqual({ code: 1, stdout: '', stderr: `basalt: ${message}\n` })
    expect(await listed()).toEqual([])
  })

  test('rejects a missing file', async () => {
    const { code, stderr } = await basaltHere(['graphql', 'persist', 'no.json'], { directory })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^basalt: cannot read no\.json: ENOENT/)])
  })
})
