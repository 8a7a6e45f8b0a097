import { describe, expect, test } from 'vitest'
import { shareParameters } from './shared-parameters.ts'

const filter = { name: 'filter', in: 'query', schema: { type: 'string' } }
const id = { name: 'user_id', in: 'path', required: true, schema: { type: 'string' } }

function share(byOperation: Readonly<Record<string, readonly object[]>>) {
  const paths = Object.entries(byOperation).map(([operationId, parameters]) => [
    `/${operationId}`,
    { get: { operationId, parameters } },
  ])
  const document = {
    paths: Object.fromEntries(paths) as Record<string, { get: { parameters: readonly object[] } }>,
    components: { parameters: {} },
  }
  const shared = shareParameters(document)
  return {
    components: shared.components.parameters,
    parameters: Object.values(shared.paths).map(({ get }) => get.parameters),
  }
}

const ref = (name: string) => ({ $ref: `#/components/parameters/${name}` })

describe('API document › shared parameters', () => {
  test('appear once, named after their group, when several operations use them', () => {
    expect(share({ 'tracks.list': [filter, id], 'tracks.count': [filter] })).toEqual({
      components: { tracksFilter: filter },
      parameters: [[ref('tracksFilter'), id], [ref('tracksFilter')]],
    })
  })

  test('have no prefix when several groups use them', () => {
    expect(share({ 'tracks.list': [id], 'albums.list': [id] })).toEqual({
      components: { userId: id },
      parameters: [[ref('userId')], [ref('userId')]],
    })
  })

  test('are numbered when they have one name and differ', () => {
    const other = { ...filter, required: true }
    const lists = { 'a.list': [filter], 'a.count': [filter], 'a.update': [other], 'a.delete': [other] }
    expect(Object.keys(share(lists).components)).toEqual(['aFilter', 'aFilter2'])
  })
})
