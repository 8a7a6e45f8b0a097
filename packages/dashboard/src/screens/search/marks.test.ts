import { describe, expect, it } from 'vitest'
import { readMarks } from './marks.ts'

const partsOf = (text: string) =>
  readMarks(text).map(({ text: part, isMarked }) => (isMarked ? [part] : part))

describe('dashboard › search › marks', () => {
  it('finds the parts between the tags of the API', () => {
    expect(partsOf('<b>Smells</b> Like Teen <b>Spirit</b>')).toEqual([['Smells'], ' Like Teen ', ['Spirit']])
    expect(partsOf('')).toEqual([])
  })

  it('leaves markup of the record as text', () => {
    expect(partsOf('&lt;b&gt;x&lt;/b&gt; <b>&amp;lt;</b> &quot;')).toEqual(['<b>x</b> ', ['&lt;'], ' &quot;'])
  })
})
