import { describe, expect, test } from 'vitest'
import { naturally, sortNaturally } from './natural-order.ts'
import { sql } from './sql.ts'
import { textOfSql } from './tests/recording.ts'

describe('natural order', () => {
  test('sorts numbers in names by their value', () => {
    const names = ['shop_10', 'shop_2', 'shop', 'a10b2', 'a9b10', 'shop_02']
    expect(sortNaturally(names, (name) => name)).toEqual([
      'a9b10',
      'a10b2',
      'shop',
      'shop_02',
      'shop_2',
      'shop_10',
    ])
  })

  test('pads numbers to 20 digits in SQL, and then compares the names themselves', () => {
    expect(textOfSql(sql`order by ${naturally(sql`c.relname`)}`)).toEqual([
      'order by regexp_replace(' +
        "regexp_replace(c.relname::text, '([0-9]+)', '00000000000000000000\\1', 'g'), " +
        `'[0-9]*([0-9]{20})', '\\1', 'g') collate "C", c.relname::text collate "C"`,
    ])
  })
})
