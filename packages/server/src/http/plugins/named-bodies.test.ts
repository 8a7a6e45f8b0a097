import { describe, expect, test } from 'vitest'
import { nameBodies } from './named-bodies.ts'

const url = { type: 'object', properties: { url: { type: 'string' } } }
const error = { anyOf: [{ type: 'string' }, { type: 'null' }] }

function nameOne(requestBody: object, responses: Readonly<Record<string, object>>) {
  const operation = { operationId: 'webhooks.tryOut', requestBody, responses }
  nameBodies({ '/api/webhooks': { post: operation } })
  const read = (body: object) =>
    Object.values((body as { content: Record<string, { schema: { documented?: object } }> }).content).map(
      ({ schema }) => schema.documented,
    )
  return [operation.requestBody, ...Object.values(operation.responses)].map(read)
}

const json = (schema: object) => ({ content: { 'application/json': { schema } } })

describe('API document › bodies', () => {
  test('name objects and unions without a name after their operation', () => {
    expect(nameOne(json(url), { 200: json({ ...url, required: ['url'] }), 401: json(error) })).toEqual([
      [{ component: 'WebhooksTryOutInput' }],
      [{ component: 'WebhooksTryOutResult' }],
      [{ component: 'WebhooksTryOutResult401' }],
    ])
  })

  test('give equal bodies of one operation one name', () => {
    const form = { ...json(url).content, 'application/x-www-form-urlencoded': { schema: url } }
    const input = { component: 'WebhooksTryOutInput' }
    expect(nameOne({ content: form }, { 200: json(url) })).toEqual([[input, input], [input]])
  })

  test('name forms apart', () => {
    const form = { content: { 'multipart/form-data': { schema: url } } }
    expect(nameOne(form, {})).toEqual([[{ component: 'WebhooksTryOutForm' }]])
  })

  test('keep existing names, and give texts none', () => {
    const named = { ...url, documented: { component: 'Target' } }
    const responses = { 200: json({ type: 'string' }), 201: json({ type: 'object', properties: {} }) }
    expect(nameOne(json(named), responses)).toEqual([[{ component: 'Target' }], [undefined], [undefined]])
  })
})
