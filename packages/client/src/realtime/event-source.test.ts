import { expect, test } from 'vitest'
import { createEventParser } from './event-source.ts'

const text =
  'retry: 1000\nid: 1\nevent: connected\ndata: {"a":1}\n\n:\n\n:\nid: 2\n\r\nid: 3\r\ndata: x\r\ndata:  y: z\r\n\r\n'
const events = [
  { id: '1', name: 'connected', data: '{"a":1}' },
  { id: '2', name: undefined, data: '' },
]

test('createEventParser › finds the events wherever a chunk ends', () => {
  const whole = createEventParser()(text.replace('\n\r\n', '\n\n'))
  expect(whole).toEqual([...events, { id: '3', name: undefined, data: 'x\n y: z' }])
  const stream = text.replace('\n\r\n', '\n\n')
  for (let cut = 1; cut < stream.length; cut += 1) {
    const parse = createEventParser()
    expect([...parse(stream.slice(0, cut)), ...parse(stream.slice(cut))], `cut at ${cut}`).toEqual(whole)
  }
})
