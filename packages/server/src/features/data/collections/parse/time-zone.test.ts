import { describe, expect, test } from 'vitest'
import { findTimeZone } from './time-zone.ts'

describe('findTimeZone', () => {
  test.each([
    ['2026-01-02T03:04:05+02:00', '+02:00'],
    ['2026-01-02T03:04:05-08:00', '-08:00'],
    ['2026-01-02 03:04:05.123456+02', '+02'],
    ['2026-01-02 03:04:05 +0530', '+0530'],
    ['2026-01-02T03:04-00:30', '-00:30'],
    ['2026-01-02T03:04:05+00:00:01', '+00:00:01'],
    ['20260102T030405+0200', '+0200'],
    ['20260102 03:04:05-3', '-3'],
    ['2026-01-02+02', '+02'],
    ['2026-01-02 -08', '-08'],
    ['2026-01-02 03:04:05 PST', 'PST'],
    ['2026-01-02 PST', 'PST'],
    ['2026-01-02 03:04:05 Europe/Berlin', 'Europe/Berlin'],
    ['2026-01-02 03:04:05 America/Argentina/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
    ['Fri Jan 2 03:04:05 2026 CET', 'CET'],
    ['Fri Jan 2 03:04:05 CET 2026', 'CET'],
    ['Jan 2 2026 03:04 PM EST', 'EST'],
    ['03:04:05+02', '+02'],
    ['03:04 PST', 'PST'],
  ])('finds the time zone of %s', (text, zone) => {
    expect(findTimeZone(text)).toBe(zone)
  })

  test.each([
    '2026-01-02T03:04:05',
    '2026-01-02 03:04:05.123456',
    '2026-01-02',
    '2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05.123z',
    '2026-01-02T03:04:05+00:00',
    '2026-01-02 03:04:05-00',
    '2026-01-02 03:04:05 UTC',
    '2026-01-02 03:04:05 GMT',
    '02/01/2026 03:04',
    '2-Jan-2026 03:04:05',
    '2026-Jan-02',
    'January 2, 2026 03:04 am',
    'Friday 2 January 2026',
    '2026-01-02 03:04:05 BC',
    '0044-03-15 BC',
    '03:04:05',
    '03:04 PM',
    'now',
    'today',
    'epoch',
    'infinity',
    '-infinity',
    'J2451187',
    'allballs',
    '20260102T030405',
    '20260102 030405',
    '2026.123',
    '',
  ])('finds no time zone in %s', (text) => {
    expect(findTimeZone(text)).toBe(undefined)
  })
})
