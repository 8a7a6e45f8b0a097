import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type StreamEvent, type StreamState, type Transition, transitions } from './states.ts'
import { type Ending, Stream, type Transport } from './stream.ts'

const states = Object.keys(transitions) as StreamState[]
const events = Object.keys(transitions.opening) as StreamEvent[]
const pairs = states.flatMap((state) => events.map((event) => [state, event] as const))
const held = new Set<StreamState>(['liveHeld', 'catchingUpHeld'])

/** Renders a cell of the table in the README. */
function cell(state: StreamState, { to, effect }: Transition): string {
  const parts = [effect === 'none' ? [] : [effect], to === state ? [] : [`\`${to}\``]].flat()
  return parts.length === 0 ? '–' : parts.join(' → ')
}

describe('realtime › stream states', () => {
  test('equal the table in the README', () => {
    const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8')
    const rows = readme.split('\n').map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((part) => part.trim()),
    )
    const header = rows.findIndex(([first]) => first === 'state')
    const table = rows.slice(header, header + states.length + 2)
    expect(table[0]).toEqual(['state', ...events.map((event) => `\`${event}\``)])
    expect(table.slice(2)).toEqual(
      states.map((state) => [
        `\`${state}\``,
        ...events.map((event) => cell(state, transitions[state][event])),
      ]),
    )
  })

  test.each(pairs)('%s › %s keeps the rules', (state, event) => {
    const { to, effect } = transitions[state][event]
    const isEnding = event === 'end' || event === 'disconnect'
    if (state === 'ended') {
      expect([to, effect]).toEqual(['ended', event === 'deliver' ? 'discard' : 'none'])
      return
    }
    // Events that end a stream end it in every state and release it. No other event does.
    expect(to === 'ended').toBe(isEnding)
    expect(effect === 'close').toBe(event === 'end')
    expect(effect === 'release').toBe(event === 'disconnect')
    // A delivery changes no state, and is held only in holding states.
    if (event === 'deliver') expect([to, effect]).toEqual([state, held.has(state) ? 'hold' : 'send'])
    // Held deliveries are sent when the stream no longer holds.
    expect(effect === 'flush').toBe(held.has(state) && !held.has(to) && !isEnding)
    expect(to === 'opening').toBe(state === 'opening' && event !== 'admit' && !isEnding)
    // The token and catching up do not affect each other.
    const progress = (each: StreamState) => each.replace('Held', '')
    if (event === 'verified' || event === 'unverified') expect(progress(to)).toBe(progress(state))
    if (event === 'catchUp' || event === 'catchUpEnd') expect(held.has(to)).toBe(held.has(state))
  })

  test('are all reachable from the first state', () => {
    const reached = new Set<StreamState>(['opening'])
    for (const state of reached) for (const event of events) reached.add(transitions[state][event].to)
    expect([...reached].sort()).toEqual([...states].sort())
  })
})

type Step = StreamEvent | 'gap' | 'invalid' | 'slow'

test('realtime › stream › sends everything once and in order for any sequence of events', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom<Step>(...events, 'gap', 'invalid', 'slow')), (steps) => {
      const sent: string[] = []
      const ends: string[] = []
      let isValid: boolean | undefined = true
      let pendingBytes = 0
      const transport: Transport = {
        name: 'sse',
        frame: (_id, { body }) => body,
        send(frames) {
          expect([isValid, ends]).toEqual([true, []])
          sent.push(...frames)
        },
        gap: () => expect([isValid, ends]).toEqual([true, []]),
        heartbeat: () => undefined,
        get pendingBytes() {
          return pendingBytes
        },
        drained: async () => undefined,
        end: (ending) => void ends.push(ending),
      }
      const owner = {
        onEnd: (_: Stream, ending: Ending | 'client_closed') =>
          void (ending === 'client_closed' && ends.push(ending)),
        mayReceive(each: Stream) {
          if (isValid === false) each.end('session_ended')
          return isValid === true
        },
      }
      const listener = { scope: { kind: 'unrestricted' }, userId: undefined, token: undefined } as const
      const stream = new Stream(transport, listener, '127.0.0.1', owner)
      stream.admit()
      const delivered: string[] = []
      const actions: Readonly<Record<Step, () => void>> = {
        admit: () => stream.admit(),
        catchUp: () => stream.beginCatchUp(new Map()),
        catchUpEnd: () => stream.endCatchUp(),
        deliver() {
          if (stream.isOpen) delivered.push(String(delivered.length))
          stream.send([delivered.at(-1) ?? ''])
        },
        gap: () => stream.gap({ passed: '10:20:' }),
        unverified() {
          isValid = undefined
        },
        verified() {
          isValid = true
          stream.release()
        },
        invalid() {
          isValid = false
        },
        slow() {
          pendingBytes = 2 ** 21
        },
        end: () => stream.end('server_shutdown'),
        disconnect: () => stream.disconnect(),
      }
      for (const step of steps) {
        actions[step]()
        // Nothing is skipped, so a client that resumes after the last frame misses nothing.
        expect(sent).toEqual(delivered.slice(0, sent.length))
      }
      if (stream.isOpen) {
        isValid = true
        stream.release()
        if (stream.isOpen) expect(sent).toEqual(delivered)
      }
      expect(ends.length).toBe(stream.isOpen ? 0 : 1)
      stream.disconnect()
    }),
  )
})
